"""Noise-contrastive estimation: a loss for a softmax over many words without its sum."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dgltrees.errors import ConfigError
from dgltrees.options import Count, Positive, checked
from dgltrees.papers.top_down.models.alias import AliasTable

__all__ = ["NCE"]


@checked
class NCE(nn.Module):
    r"""The objective of Zhang, Lu and Lapata (2016, section 2.5) for large vocabularies.

    .. math::

        \hat P(w) &= \exp(W_{ho}[w,:] \cdot h_t) / \hat Z \\
        P_d(w) &= \frac{\hat P(w)}{\hat P(w) + k P_n(w)} \\
        L_t &= -\log P_d(w_t) - \sum_{j=1}^k \log(1 - P_d(\tilde w_{t,j}))

    with k noise words for each position, sampled at every call from the unigram distribution
    :math:`P_n(w) \propto count(w)^{3/4}`. The normaliser :math:`\ln \hat Z` is learned.

    Arguments:
        counts: ``(V,)``, the frequency of each word in the training data; a word with 0 is never
            sampled.
        noise: k, the number of noise words per position.
        power: of the counts.
        log_z: the initial :math:`\ln \hat Z`.

    Raises:
        ConfigError: all counts are 0, or there is no noise.
    """

    log_noise: Tensor

    def __init__(
        self, counts: Tensor, *, noise: Count = 20, power: Positive = 0.75, log_z: float = 9.0
    ) -> None:
        super().__init__()
        self.noise = noise
        self.log_z = nn.Parameter(torch.tensor(log_z))
        self.power = power
        self.set_counts(counts)

    def set_counts(self, counts: Tensor) -> None:
        """Replace the counts, ``(V,)``, of the noise distribution."""
        weight = counts.double() ** self.power * (counts > 0)
        if counts.dim() != 1 or not 0 < float(weight.sum()) < math.inf:
            raise ConfigError(
                f"expected a count for each word, not all of them 0, got {tuple(counts.shape)} "
                f"adding up to {float(counts.sum())}"
            )
        p = weight / weight.sum()
        self.register_buffer("log_noise", torch.log(self.noise * p), persistent=False)
        self.words = AliasTable(p)

    def draw(self, count: int) -> Tensor:
        """Draw ``count`` words from the noise distribution, ``(count,)``."""
        return self.words.draw(count)

    def forward(self, h: Tensor, output: Tensor, words: Tensor) -> Tensor:
        """The loss of each position, ``(P,)``.

        Arguments:
            h: ``(P, d)`` the states.
            output: ``(V, d)`` the output embeddings.
            words: ``(P,)`` the words.
        """
        noise = self.draw(len(words) * self.noise).view(len(words), self.noise)
        words = torch.cat([words.unsqueeze(1), noise], 1)  # (P, 1 + k)
        score = (F.embedding(words, output) @ h.unsqueeze(2)).squeeze(2)  # (P, 1 + k)
        noise_score = self.log_noise.to(score.dtype)[words]  # ln(k P_n)
        ratio = score - self.log_z - noise_score
        sign = torch.ones_like(ratio)
        sign[:, 1:] = -1
        return -F.logsigmoid(sign * ratio).sum(1)
