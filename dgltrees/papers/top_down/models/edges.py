"""The outgoing edges that the nodes of a generation tree have, and those that they could have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.papers.top_down.graphs import EDGE_TYPES, EdgeType

__all__ = ["edge_decisions"]


def edge_decisions(etype: NDArray[Any], source: NDArray[Any]) -> NDArray[np.int8]:
    """Whether each node has an outgoing edge of each type, ``(4, N)``: 1, or 0; -1 if it cannot.

    Every word can have LEFT and RIGHT; a left dependent can have NX-LEFT, a right one NX-RIGHT.
    ROOT decides nothing: it always has a right dependent and never a left one.

    Arguments:
        etype: ``(N,)`` the type of the edge into each node.
        source: ``(N,)``, the source node of that edge; -1 at ROOT.
    """
    has_source = source >= 0
    added = np.zeros((len(EDGE_TYPES), len(source)), np.int8)
    added[etype[has_source], source[has_source]] = 1
    is_left = np.isin(etype, (EdgeType.LEFT, EdgeType.NX_LEFT))
    added[EdgeType.NX_LEFT, ~is_left] = added[EdgeType.NX_RIGHT, is_left] = -1
    added[:, ~has_source] = -1
    return added
