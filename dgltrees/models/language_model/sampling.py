"""Drawing words from the softmax: temperature, the likeliest words alone, one word a row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Optional

import torch
from torch import Tensor

from dgltrees.errors import ConfigError

__all__ = ["Sampling"]


@dataclass(frozen=True)
class Sampling:
    """How a word is drawn from its distribution.

    Attributes:
        temperature: the scores are divided by it; at 0 it is always the likeliest word.
        top_k: draw among the so many likeliest words.
        top_p: draw among the fewest words that have at least so much probability together.

    Raises:
        ConfigError: a value is out of its range.
    """

    temperature: float = 1.0
    top_k: Optional[int] = None
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.temperature < math.inf:
            raise ConfigError(f"expected temperature to be at least 0, got {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ConfigError(f"expected top_k to be at least 1, got {self.top_k}")
        if not 0.0 < self.top_p <= 1.0:
            raise ConfigError(f"expected top_p to be above 0 and at most 1, got {self.top_p}")

    def draw(self, y: Tensor, generator: Optional[torch.Generator] = None) -> Tensor:
        """``(A,)`` one word a row.

        Arguments:
            y: ``(A, V)`` scores; -inf where a word cannot be.
            generator: of randomness, on the device of the scores.
        """
        if self.temperature == 0.0:
            return y.argmax(1)
        p = torch.softmax(self._kept(y / self.temperature), 1)
        return torch.multinomial(p, 1, generator=generator)[:, 0]

    def _kept(self, y: Tensor) -> Tensor:
        """The scores, -inf at all but the words to draw among."""
        if self.top_k is not None and self.top_k < y.shape[1]:
            least = y.topk(self.top_k, 1).values[:, -1:]
            y = y.masked_fill(y < least, -math.inf)
        if self.top_p < 1.0:
            ranked, words = y.sort(1, descending=True)
            p = torch.softmax(ranked, 1)
            beyond = p.cumsum(1) - p >= self.top_p  # what stands before has enough already
            y = ranked.masked_fill(beyond, -math.inf).gather(1, words.argsort(1))
        return y
