"""Sampling from a distribution over many words, in constant time per sample."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

__all__ = ["AliasTable"]

_CELL = 1 << 40  # places per cell: integers stay exact when a model changes its precision


class AliasTable(nn.Module):
    """Walker's alias method: V equally likely cells, each shared by at most two words.

    A sample is a random cell and a random number. Below the cell's threshold it is the word with
    the cell's index, above it the cell's alias.

    Source: Walker, "An Efficient Method for Generating Discrete Random Variables with General
    Distributions" (1977); the table is filled as Vose, "A Linear Algorithm for Generating Random
    Numbers with a Given Distribution" (1991), does.

    Arguments:
        p: ``(V,)`` float64, the probabilities of the words, which sum to 1.
    """

    threshold: Tensor
    alias: Tensor

    def __init__(self, p: Tensor) -> None:
        super().__init__()
        threshold, alias = _fill(p.numpy())
        self.register_buffer("threshold", torch.from_numpy(threshold), persistent=False)
        self.register_buffer("alias", torch.from_numpy(alias), persistent=False)

    def draw(self, count: int) -> Tensor:
        """Draw ``count`` words, ``(count,)``."""
        device = self.alias.device
        cell = torch.randint(len(self.alias), (count,), device=device)
        place = torch.randint(_CELL, (count,), device=device)
        return torch.where(place < self.threshold[cell], cell, self.alias[cell])


def _fill(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The threshold of each cell, 0 to ``_CELL``, and the alias of each."""
    places = np.maximum(np.rint(p * (len(p) * _CELL)), p > 0).astype(np.int64)
    places[places.argmax()] += len(p) * _CELL - places.sum()  # the remainder of rounding
    threshold, alias = np.full(len(p), _CELL), np.arange(len(p))
    remaining = places.tolist()
    small = np.flatnonzero(places < _CELL).tolist()
    large = np.flatnonzero(places >= _CELL).tolist()
    while small:
        word, other = small.pop(), large[-1]
        threshold[word], alias[word] = remaining[word], other
        remaining[other] -= _CELL - remaining[word]
        if remaining[other] < _CELL:
            small.append(large.pop())
    return threshold, alias
