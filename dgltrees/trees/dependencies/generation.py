"""From heads to sources: the edges and the order of generation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgltrees.trees.dependencies.projective import check_roots
from dgltrees.trees.edge_types import EDGE_TYPES, EdgeType
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import run_offsets, within

__all__ = ["generation_forest", "generation_order"]


def generation_forest(forest: Forest) -> Forest:
    """The generation forest of a dependency forest: the same nodes, each below its source.

    ``pos`` is the type of a node's incoming edge. The columns are carried over, with two more:
    ``etype``, the same with its names (ROOT, which no edge enters, has 0), and ``t``, the
    place of a node in the order of generation (:func:`generation_order`). A tree that is not
    projective keeps its edges and numbers, but its word order no longer follows from them.

    Raises:
        TreeError: node 0 of a tree is not its root.
    """
    child, head, is_left, _ = _siblings(forest)
    same_side = (head[1:] == head[:-1]) & (is_left[1:] == is_left[:-1])
    # Dependents of one head stand in word order: the next one inwards is a row down or up.
    inwards_left = np.append(same_side, False)[: len(child)] & is_left
    inwards_right = np.append(False, same_side)[: len(child)] & ~is_left
    source = head.copy()
    source[inwards_left] = child[np.flatnonzero(inwards_left) + 1]
    source[inwards_right] = child[np.flatnonzero(inwards_right) - 1]
    side = np.where(is_left, EdgeType.LEFT, EdgeType.RIGHT)
    etype = np.zeros(forest.num_nodes, np.int32)
    etype[child] = side + EdgeType.NX_LEFT * (inwards_left | inwards_right)
    parent = np.full(forest.num_nodes, -1, np.int32)
    parent[child] = source - forest.offsets[forest.tree_of_node[child]]
    columns = {**forest.columns, "etype": etype, "t": generation_order(forest)}
    vocabs = {**forest.vocabs, "etype": EDGE_TYPES}
    return Forest(parent, etype, forest.offsets, columns, vocabs)


def generation_order(forest: Forest) -> NDArray[np.int32]:
    """``(N,)`` when each node of a dependency forest is generated; ROOT has 0.

    Breadth first, and of each node first its left, then its right dependents, nearest first (the
    subscripts of Figure 2).

    Raises:
        TreeError: node 0 of a tree is not its root.
    """
    child, _, _, place = _siblings(forest)
    # The order of two nodes of one depth is that of the places on the way to them. Pointer
    # doubling: after round k, rank orders them by the last 2^k steps of the way.
    rank = np.zeros(forest.num_nodes, np.int64)
    rank[child] = place
    above = np.where(forest.parent < 0, np.arange(forest.num_nodes), forest.global_parent)
    for _ in range(int(forest.depth.max(initial=0)).bit_length()):
        keys = rank[above] * (rank.max() + 1) + rank
        rank = np.unique(keys, return_inverse=True)[1].reshape(-1)
        above = above[above]
    order = np.lexsort((rank, forest.depth, forest.tree_of_node))
    t = np.empty(forest.num_nodes, np.int32)
    t[order] = within(forest.sizes)
    return t


def _siblings(
    forest: Forest,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """All dependents, ordered by head and then by word order, each ``(E,)``.

    Returns:
        The dependents; their heads; whether they stand left of them; how many dependents of the
        same head are generated before them.
    """
    check_roots(forest)
    up = forest.global_parent
    child = np.flatnonzero(up >= 0)
    child = child[np.argsort(up[child], kind="stable")]
    head = up[child]
    is_left = child < head
    lefts = np.bincount(head[is_left], minlength=forest.num_nodes)[head]
    place = within(np.diff(run_offsets(head)))
    return child, head, is_left, np.where(is_left, lefts - 1 - place, place)
