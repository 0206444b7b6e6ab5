"""The phrases of parsed sentences as sequences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dgltrees.errors import TreeError
from dgltrees.trees.builders.sentences import chains
from dgltrees.trees.forest import Forest
from dgltrees.trees.order import over_subtrees
from dgltrees.trees.segments import offsets_of, ranges

__all__ = ["phrases"]


def phrases(forest: Forest, nodes: ArrayLike, *, columns: Sequence[str] = ("word",)) -> Forest:
    """A forest with one chain per node of ``nodes``: the words of the leaves below it.

    Arguments:
        forest: constituent trees with words at their leaves; their nodes in preorder.
        nodes: ``(P,)`` indices among all nodes; a leaf is a phrase of one word.
        columns: the columns of the leaves that their words have.

    Raises:
        TreeError: the nodes are not in preorder.
    """
    roots = np.asarray(nodes, dtype=np.int64)
    up = forest.global_parent
    index = np.arange(forest.num_nodes)
    is_leaf = forest.degree == 0
    size = over_subtrees(np.add, np.ones(len(up), np.int64), up)
    last = over_subtrees(np.maximum, index, up)
    if (up >= index).any() or (last - index + 1 != size).any():
        raise TreeError(
            "expected every node before its children and the nodes of a subtree together, got "
            "another order; build the forest from its brackets"
        )
    before = offsets_of(is_leaf)  # leaves before each node
    first, sizes = before[roots], before[last[roots] + 1] - before[roots]
    leaves = np.flatnonzero(is_leaf)[ranges(first, sizes)]
    vocabs = {name: forest.vocabs[name] for name in columns if name in forest.vocabs}
    return chains(sizes, {name: forest.columns[name][leaves] for name in columns}, vocabs)
