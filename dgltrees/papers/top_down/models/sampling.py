"""Options for sampling words from a softmax: temperature, top k, top p."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from dgltrees.options import Count, NonNegative, PositiveShare, checked

__all__ = ["Sampling"]


@checked
@dataclass(frozen=True)
class Sampling:
    """How a word is drawn from its distribution.

    Arguments:
        temperature: a divisor of the scores; at 0 the likeliest word is taken.
        top_k: draw among this many likeliest words; by default among all.
        top_p: draw among the fewest words whose probabilities sum to at least this.

    Raises:
        ConfigError: a value is out of its range.
    """

    temperature: NonNegative = 1.0
    top_k: Count | None = None
    top_p: PositiveShare = 1.0

    def draw(self, y: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Sample one word per row, ``(A,)``.

        Arguments:
            y: ``(A, V)``, the scores; -inf for words that must not be sampled.
            generator: the random generator, on the device of the scores.
        """
        if self.temperature == 0.0:
            return y.argmax(1)
        p = torch.softmax(self._truncated(y / self.temperature), 1)
        return torch.multinomial(p, 1, generator=generator)[:, 0]

    def _truncated(self, y: Tensor) -> Tensor:
        """The scores, with -inf for words that ``top_k`` and ``top_p`` exclude."""
        if self.top_k is not None and self.top_k < y.shape[1]:
            least = y.topk(self.top_k, 1).values[:, -1:]
            y = y.masked_fill(y < least, -math.inf)
        if self.top_p < 1.0:
            ranked, words = y.sort(1, descending=True)
            p = torch.softmax(ranked, 1)
            excluded = p.cumsum(1) - p >= self.top_p  # likelier words have enough already
            y = ranked.masked_fill(excluded, -math.inf).gather(1, words.argsort(1))
        return y
