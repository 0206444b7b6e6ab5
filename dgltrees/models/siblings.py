"""The position of a node in its tree: its rank among its siblings and its number of children."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import cumcount

_FEATURES = 6


def sibling_ranks(batch: TreeBatch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rank of each edge's child among its siblings, and the number of siblings.

    Missing children do not count.
    """
    dst = batch.dst.numpy()
    return cumcount(dst), np.bincount(dst).take(dst)


class SiblingPositions(nn.Module):
    r"""A linear map of a node's position among its siblings.

    With it, cells that sum over children can use the order of the children.

    .. math:: x = W [\ln(1 + l); \ln(1 + r); \ln(1 + d); l = 0; r = 0; d = 0]

    for a node with l siblings before it, r siblings after it, and d children. A node with several
    parents has the position below the first.

    Arguments:
        size: m, the size of a vector.

    Shapes:
        A batch of N nodes to ``(N, m)``.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(_FEATURES, size, bias=False)
        nn.init.normal_(self.linear.weight, std=size**-0.5)  # no louder than the vector of a name

    def forward(self, batch: TreeBatch) -> Tensor:
        """Return the vectors of all nodes, ``(N, m)``."""
        features: Tensor = batch.cache.get("sibling_positions", lambda: _features(batch))
        vectors: Tensor = self.linear(features.to(self.linear.weight))
        return vectors


def _features(batch: TreeBatch) -> Tensor:
    """Return the vectors that :class:`SiblingPositions` multiplies by W, ``(N, 6)``."""
    place, siblings = sibling_ranks(batch)
    counts = np.zeros((3, batch.num_nodes))  # before, after, below
    ranks = np.stack([place, siblings - 1 - place])
    counts[:2, batch.src.numpy()[::-1]] = ranks[:, ::-1]  # the first parent of several counts
    counts[2, batch.dst.numpy()] = siblings
    features = np.empty((2, 3, batch.num_nodes))
    np.log1p(counts, out=features[0])
    np.equal(counts, 0, out=features[1])
    return torch.from_numpy(features).view(_FEATURES, -1).t()
