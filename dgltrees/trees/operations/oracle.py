"""The oracle: the operations that build the true trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgltrees.trees.builders.render import preorder
from dgltrees.trees.forest import Forest
from dgltrees.trees.operations.kinds import Operation
from dgltrees.trees.segments import inverse, offsets_of

__all__ = ["OracleOperations", "oracle_operations"]

Ints = NDArray[np.int64]


class OracleOperations(NamedTuple):
    """Operations and sizes for :func:`~dgltrees.trees.operations.operation_graph`, and tokens.

    Attributes:
        operations: ``(N,)`` :class:`Operation`, tree after tree, each with START first.
        token: ``(N,)`` the leaf of the forest that is the input of each step, -1 where there is
            none: at START, and at merges after the last word.
        sizes: ``(T,)`` the number of operations of each tree.
    """

    operations: Ints
    token: Ints
    sizes: Ints


def oracle_operations(forest: Forest) -> OracleOperations:
    """The operations that build known trees: SPLIT and MERGE per constituent, RECUR per word.

    Jacob et al. (2018), section 2: only RECUR consumes its token; the input of SPLIT and MERGE is
    the next word. Constituents of one word have no operations, and neither have nodes with a single
    child. Since these operations depend on the whole sentence, a perplexity given them is not
    comparable with that of a left-to-right model such as an LSTM.

    Arguments:
        forest: constituent trees whose leaves are the words, as ``read_mrg`` returns them.
    """
    ranks, subtree_sizes = preorder(forest)
    by_rank = inverse(ranks)
    is_leaf = forest.degree[by_rank] == 0
    before = offsets_of(is_leaf)  # leaves before each rank
    leaves = by_rank[is_leaf]
    tree = forest.tree_of_node[leaves]
    inner = np.flatnonzero(forest.degree > 1)
    begins, ends = before[ranks[inner]], before[ranks[inner] + subtree_sizes[inner]] - 1
    splits, merges = (np.bincount(leaf, minlength=len(leaves)) for leaf in (begins, ends))
    first = np.append(True, tree[1:] != tree[:-1])[: len(leaves)]
    last = np.append(first[1:], True)[: len(leaves)]
    next_leaf = np.where(last, -1, np.roll(leaves, -1))
    operations = (Operation.START, Operation.SPLIT, Operation.RECUR, Operation.MERGE)
    counts = np.stack([first, splits, np.ones_like(splits), merges], 1)  # per leaf and operation
    tokens = np.stack([np.full_like(leaves, -1), leaves, leaves, next_leaf], 1)
    sizes = np.zeros(len(forest), np.int64)
    np.add.at(sizes, tree, counts.sum(1))
    return OracleOperations(
        np.repeat(np.tile(np.array(operations, np.int64), len(leaves)), counts.ravel()),
        np.repeat(tokens.ravel(), counts.ravel()),
        sizes,
    )
