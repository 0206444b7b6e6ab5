"""The order in which a walk enters the nodes: a parent before its children, in their order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import run_offsets, running_sum

__all__ = ["preorder"]


def preorder(forest: Forest) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two arrays ``(N,)``: each node's place in preorder among all nodes; its subtree's size."""
    up, depth = forest.global_parent, forest.depth
    order = np.lexsort((forest.pos, up, depth))
    bounds = np.flatnonzero(np.diff(depth[order])) + 1
    levels = np.split(order, bounds)[1:]  # all but the roots
    sizes = np.ones(forest.num_nodes, np.int64)
    for rows in reversed(levels):
        np.add.at(sizes, up[rows], sizes[rows])
    ranks = np.zeros(forest.num_nodes, np.int64)
    ranks[forest.roots] = forest.offsets[:-1]
    siblings = np.diff(run_offsets(up[order]))
    elder = np.empty_like(sizes)  # the nodes of the subtrees of a node's elder siblings
    elder[order] = running_sum(sizes[order], siblings) - sizes[order]
    for rows in levels:
        ranks[rows] = ranks[up[rows]] + 1 + elder[rows]
    return ranks, sizes
