"""Sums and extremes over subtrees without a loop over nodes or levels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["over_subtrees"]


def over_subtrees(ufunc: np.ufunc, values: NDArray[Any], parent: NDArray[np.int64]) -> NDArray[Any]:
    """``ufunc`` (``np.add``, ``np.minimum``, ...) of the values in the subtree of each node.

    Pointer doubling: after round k a node holds the result over its descendants less than 2^k
    edges below; those up to 2^(k + 1) are held by its descendants exactly 2^k edges below.

    Arguments:
        ufunc: associative and commutative.
        values: ``(N,)``.
        parent: ``(N,)`` the parent of each node among all nodes, -1 at a root; no cycles.

    Returns:
        ``(N,)`` of the dtype of ``values``.
    """
    result = values.copy()
    low = np.flatnonzero(parent >= 0)
    above = parent.copy()  # 2^k edges up, -1 beyond the root
    while len(low):
        ufunc.at(result, above[low], result[low].copy())
        above[low] = above[above[low]]
        low = low[above[low] >= 0]
    return result
