"""Draws from a distribution over many words, each in the same short time."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

__all__ = ["AliasTable"]

_CELL = 1 << 40  # tickets of a cell: integers, which stay exact when a model changes its precision


class AliasTable(nn.Module):
    """Walker's alias method: V cells of equal size, each shared by at most two words.

    A draw is a cell and a place in it; below the cell's threshold it is the cell's own word, else
    its alias.

    Source: Walker, "An Efficient Method for Generating Discrete Random Variables with General
    Distributions" (1977); the table is filled as Vose, "A Linear Algorithm for Generating Random
    Numbers with a Given Distribution" (1991), does.

    Arguments:
        p: ``(V,)`` float64, the probabilities, which add up to 1. A word with 0 is never drawn.
    """

    threshold: Tensor
    alias: Tensor

    def __init__(self, p: Tensor) -> None:
        super().__init__()
        threshold, alias = _fill(p.numpy())
        self.register_buffer("threshold", torch.from_numpy(threshold), persistent=False)
        self.register_buffer("alias", torch.from_numpy(alias), persistent=False)

    def draw(self, count: int) -> Tensor:
        """``(count,)`` words."""
        device = self.alias.device
        cell = torch.randint(len(self.alias), (count,), device=device)
        place = torch.randint(_CELL, (count,), device=device)
        return torch.where(place < self.threshold[cell], cell, self.alias[cell])


def _fill(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The threshold of each cell, 0 to ``_CELL``, and the word that has the rest of it."""
    share = np.maximum(np.rint(p * (len(p) * _CELL)), p > 0).astype(np.int64)
    share[share.argmax()] += len(p) * _CELL - share.sum()  # what rounding has left over
    threshold, alias = np.full(len(p), _CELL), np.arange(len(p))
    left = share.tolist()
    small = np.flatnonzero(share < _CELL).tolist()
    large = np.flatnonzero(share >= _CELL).tolist()
    while small:
        word, giver = small.pop(), large[-1]
        threshold[word], alias[word] = left[word], giver
        left[giver] -= _CELL - left[word]
        if left[giver] < _CELL:
            small.append(large.pop())
    return threshold, alias
