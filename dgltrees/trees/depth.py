"""Depths of all nodes at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["depths"]


def depths(parent: NDArray[np.int64]) -> NDArray[np.int32]:
    """``(N,)`` int32: the number of edges between each node and its root; -1 if there is a cycle.

    Pointer doubling: after round k every node has the index of its ancestor 2^k edges above, or of
    its root, and the number of edges between them. There are log2(depth) rounds.

    Arguments:
        parent: ``(N,)`` the parent of each node, -1 at a root; -1 in the result is for nodes whose
            ancestors end in a cycle.
    """
    is_root = parent < 0
    depth = (~is_root).astype(np.int32)
    above = np.where(is_root, np.arange(len(parent)), parent)
    for _ in range(max(1, len(parent)).bit_length() + 1):
        remaining = depth[above]
        if not remaining.any():
            return depth
        depth += remaining
        above = above[above]
    return np.where(is_root[above], depth, -1).astype(np.int32)
