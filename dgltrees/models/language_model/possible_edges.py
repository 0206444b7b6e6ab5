"""Which edges a node of a generation tree could have, and which it has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.trees.dependencies import EDGE_TYPES, EdgeType

__all__ = ["deciding", "outgoing"]


def deciding(etype: NDArray[Any], is_root: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """``(4, N)`` which nodes decide on an outgoing edge of each type.

    Every word decides on LEFT and RIGHT; a left dependent on NX-LEFT, a right one on NX-RIGHT.
    ROOT decides nothing: it has a right dependent and no left ones.

    Arguments:
        etype: ``(N,)`` the type of the edge into each node.
        is_root: ``(N,)`` whether there is none.
    """
    is_left = np.isin(etype, (EdgeType.LEFT, EdgeType.NX_LEFT))
    every = np.ones_like(is_left)
    by_type = {
        EdgeType.LEFT: every,
        EdgeType.RIGHT: every,
        EdgeType.NX_LEFT: is_left,
        EdgeType.NX_RIGHT: ~is_left,
    }
    return np.stack([by_type[kind] & ~is_root for kind in EdgeType])


def outgoing(etype: NDArray[Any], source: NDArray[Any]) -> NDArray[np.bool_]:
    """``(4, N)`` which nodes have an outgoing edge of each type.

    Arguments:
        etype: ``(N,)`` the type of the edge into each node.
        source: ``(N,)`` where it comes from; -1 where there is none.
    """
    has = np.zeros((len(EDGE_TYPES), len(source)), np.bool_)
    inner = source >= 0
    has[etype[inner], source[inner]] = True
    return has
