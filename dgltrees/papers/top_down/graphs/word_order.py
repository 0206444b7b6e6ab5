"""Conversion of generation forests back into dependency forests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import TreeError
from dgltrees.trees.edge_types import EdgeType
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import inverse
from dgltrees.trees.subtrees import over_subtrees

__all__ = ["dependency_forest"]


def dependency_forest(forest: Forest) -> Forest:
    """The projective dependency forest of a generation forest: its nodes in word order.

    For projective trees this is the inverse of
    ``generation_forest``. The nodes of the generation forest may
    be in any order. The columns ``etype`` and ``t`` are dropped.

    Arguments:
        forest: a generation forest, whose ``pos`` are edge types.

    Raises:
        TreeError: ROOT has an edge that is not RIGHT, a left dependent one that is NX-RIGHT, or a
            right dependent one that is NX-LEFT.
    """
    _check_edges(forest)
    index = _word_order(forest)
    order = inverse(index)
    head = _heads(forest)
    parent = np.where(head < 0, -1, index[head] - forest.offsets[forest.tree_of_node])
    columns = {
        name: column[order] for name, column in forest.columns.items() if name not in ("etype", "t")
    }
    vocabs = {name: vocab for name, vocab in forest.vocabs.items() if name in columns}
    return Forest.build(parent[order], offsets=forest.offsets, columns=columns, vocabs=vocabs)


def _check_edges(forest: Forest) -> None:
    """Check that every node has edges only of the types that it can have.

    Raises:
        TreeError: at the first node that breaks this.
    """
    up, etype = forest.global_parent, forest.pos
    inner = up >= 0
    above = etype[up]
    at_root = inner & (forest.parent[up] < 0)
    leftward = (above == EdgeType.LEFT) | (above == EdgeType.NX_LEFT)
    wrong_side = np.where(leftward, EdgeType.NX_RIGHT, EdgeType.NX_LEFT)
    broken = inner & (at_root & (etype != EdgeType.RIGHT) | ~at_root & (etype == wrong_side))
    broken |= inner & (etype >= len(EdgeType))
    if broken.any():
        node = int(np.argmax(broken))
        tree = int(forest.tree_of_node[node])
        name = EdgeType(etype[node]) if etype[node] < len(EdgeType) else etype[node]
        raise TreeError(
            "expected of ROOT the edge RIGHT, of a left dependent LEFT, RIGHT and NX-LEFT, of a "
            f"right one LEFT, RIGHT and NX-RIGHT, got {name} into this node",
            tree=tree,
            node=node - int(forest.offsets[tree]),
        )


def _heads(forest: Forest) -> NDArray[np.int64]:
    """The heads of the nodes of a generation forest, ``(N,)``, -1 at ROOT."""
    up, index = forest.global_parent, np.arange(forest.num_nodes)
    nearest = np.where(forest.pos >= EdgeType.NX_LEFT, up, index)
    for _ in range(int(forest.depth.max(initial=0)).bit_length()):
        nearest = nearest[nearest]  # pointer doubling along NX edges
    return up[nearest]


def _word_order(forest: Forest) -> NDArray[np.int64]:
    """The index of each node of a generation forest in word order, among all nodes, ``(N,)``.

    The subtree of a node is in the order NX-LEFT, LEFT, the node itself, RIGHT, NX-RIGHT.
    """
    up, etype = forest.global_parent, forest.pos
    child = np.flatnonzero(up >= 0)
    below = np.zeros((len(EdgeType), forest.num_nodes), np.int64)  # subtree sizes by edge type
    sizes = over_subtrees(np.add, np.ones(forest.num_nodes, np.int64), up)
    below[etype[child], up[child]] = sizes[child]
    left, right = below[EdgeType.LEFT], below[EdgeType.RIGHT]
    step = np.choose(
        etype[child],
        [
            -1 - right[child],
            1 + left[child],
            -1 - right[child] - left[up[child]],
            1 + left[child] + right[up[child]],
        ],
    )
    place = np.zeros(forest.num_nodes, np.int64)
    place[child] = step
    above = np.where(up < 0, np.arange(forest.num_nodes), up)
    for _ in range(int(forest.depth.max(initial=0)).bit_length()):
        place += place[above]  # pointer doubling: the sum of the steps from the root
        above = above[above]
    return place + np.repeat(forest.offsets[:-1], forest.sizes)
