"""The outgoing edges that nodes of a generation tree may have, and those they have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.papers.top_down.graphs import EDGE_TYPES, EdgeType

__all__ = ["allowed_edges", "outgoing_edges"]


def allowed_edges(etype: NDArray[Any], is_root: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which nodes may have an outgoing edge of each type, ``(4, N)`` bool.

    Every word may have LEFT and RIGHT; a left dependent may have NX-LEFT, a right one NX-RIGHT.
    ROOT is excluded: it always has a right dependent and never a left one.

    Arguments:
        etype: ``(N,)`` the type of the edge into each node.
        is_root: ``(N,)`` bool, the nodes without an incoming edge.
    """
    is_left = np.isin(etype, (EdgeType.LEFT, EdgeType.NX_LEFT))
    all_nodes = np.ones_like(is_left)
    by_type = {
        EdgeType.LEFT: all_nodes,
        EdgeType.RIGHT: all_nodes,
        EdgeType.NX_LEFT: is_left,
        EdgeType.NX_RIGHT: ~is_left,
    }
    return np.stack([by_type[kind] & ~is_root for kind in EdgeType])


def outgoing_edges(etype: NDArray[Any], source: NDArray[Any]) -> NDArray[np.bool_]:
    """Which nodes have an outgoing edge of each type, ``(4, N)`` bool.

    Arguments:
        etype: ``(N,)`` the type of the edge into each node.
        source: ``(N,)``, the source node of that edge; -1 without an edge.
    """
    mask = np.zeros((len(EDGE_TYPES), len(source)), np.bool_)
    has_source = source >= 0
    mask[etype[has_source], source[has_source]] = True
    return mask
