"""Conversion of dependency forests into generation forests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgltrees.trees.edge_types import EDGE_TYPES, EdgeType
from dgltrees.trees.forest import Forest
from dgltrees.trees.roots import check_roots
from dgltrees.trees.segments import run_offsets, within

__all__ = ["generation_forest", "generation_order"]


def generation_forest(forest: Forest) -> Forest:
    """The generation forest of a dependency forest: the same nodes with their sources as parents.

    ``pos`` is the type of the edge into a node. Two columns are added: ``etype``, the same with a
    vocabulary (0 at ROOT, which has no incoming edge), and ``t``, the step at which a node is
    generated (:func:`generation_order`). For a tree that is not projective the result does not
    determine the word order.

    Arguments:
        forest: a dependency forest.

    Raises:
        TreeError: node 0 of a tree is not its root.
    """
    child, head, is_left, _ = _siblings(forest)
    same_side = (head[1:] == head[:-1]) & (is_left[1:] == is_left[:-1])
    # The dependents of a head are in word order: the next one inwards is one row down or up.
    is_next_left = np.append(same_side, False)[: len(child)] & is_left
    is_next_right = np.append(False, same_side)[: len(child)] & ~is_left
    source = head.copy()
    source[is_next_left] = child[np.flatnonzero(is_next_left) + 1]
    source[is_next_right] = child[np.flatnonzero(is_next_right) - 1]
    side = np.where(is_left, EdgeType.LEFT, EdgeType.RIGHT)
    etype = np.zeros(forest.num_nodes, np.int32)
    etype[child] = side + EdgeType.NX_LEFT * (is_next_left | is_next_right)
    parent = np.full(forest.num_nodes, -1, np.int32)
    parent[child] = source - forest.offsets[forest.tree_of_node[child]]
    columns = {**forest.columns, "etype": etype, "t": generation_order(forest)}
    vocabs = {**forest.vocabs, "etype": EDGE_TYPES}
    return Forest(parent, etype, forest.offsets, columns, vocabs)


def generation_order(forest: Forest) -> NDArray[np.int32]:
    """The step 0, 1, ... at which each node of a tree is generated, ``(N,)``; ROOT has 0.

    The order is breadth-first, with the left dependents of a node before the right ones and the
    nearest first on each side (the subscripts in Figure 2).

    Arguments:
        forest: a dependency forest.

    Raises:
        TreeError: node 0 of a tree is not its root.
    """
    child, _, _, place = _siblings(forest)
    # Nodes of equal depth are in the order of the paths to them. Pointer doubling: after round k,
    # rank orders them by the last 2^k steps of their paths.
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
    """All dependents, by head and for each head in word order.

    Returns: four arrays ``(E,)``: the dependents; their heads; whether they are left of their
    heads; and the
        number of dependents of the same head that are generated before them.
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
