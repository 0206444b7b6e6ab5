"""Trees as text, with a string before and a string after the children of each node.

A walk that enters and leaves every node writes 2 N strings. The string of entering node v has the
index ``2 * rank(v) - depth(v)``, where the rank is its place in preorder: before it all nodes of
lower rank were entered and all of these but its ancestors left. The string of leaving v comes
``2 * size(v) - 1`` later, where the size is that of its subtree.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import run_offsets, running_sum

__all__ = ["preorder", "render"]


def render(forest: Forest, enter: ArrayLike, leave: ArrayLike) -> list[str]:
    """One text per tree, with children in the order of their positions.

    Arguments:
        forest: the trees, with nodes in any order.
        enter: ``(N,)`` the string before the children of each node.
        leave: ``(N,)`` the string after them.
    """
    ranks, sizes = preorder(forest)
    entered = 2 * ranks - forest.depth
    pieces = np.empty(2 * forest.num_nodes, object)
    pieces[entered] = enter
    pieces[entered + 2 * sizes - 1] = leave
    cuts = (2 * forest.offsets).tolist()
    return ["".join(pieces[a:b]) for a, b in itertools.pairwise(cuts)]


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
