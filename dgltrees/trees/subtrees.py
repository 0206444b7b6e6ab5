"""Sums and extremes over all subtrees at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["over_subtrees"]


def over_subtrees(ufunc: np.ufunc, values: NDArray[Any], parent: NDArray[np.int64]) -> NDArray[Any]:
    """The sum, minimum, ... of the values in the subtree of each node, ``(N,)``.

    Pointer doubling: after round k the result of a node covers its descendants less than 2^k edges
    below; each descendant exactly 2^k edges below has the results of the next 2^k.

    Arguments:
        ufunc: an associative and commutative function: ``np.add``, ``np.minimum``, ...
        values: ``(N,)``; the result has the same dtype.
        parent: ``(N,)`` the parent of each node among all nodes, -1 at a root; no cycles.
    """
    result: NDArray[Any] = values.copy()
    nodes = np.flatnonzero(parent >= 0)
    ancestor = parent.copy()  # 2^k edges up, -1 above the root
    while len(nodes):
        ufunc.at(result, ancestor[nodes], result[nodes].copy())
        ancestor[nodes] = ancestor[ancestor[nodes]]
        nodes = nodes[ancestor[nodes] >= 0]
    return result
