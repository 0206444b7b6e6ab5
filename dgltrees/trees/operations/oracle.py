"""The operations of true trees: what to do while reading, so that they are built."""

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
    """The operations of some trees, as :func:`~dgltrees.trees.operations.operation_graph` has them.

    Attributes:
        operations: ``(N,)`` :class:`Operation`, tree after tree, START first in each.
        token: ``(N,)`` the node of the forest that each step reads, -1 for none: at START, and at
            merges behind the last word.
        sizes: ``(T,)`` how many operations each tree has.
    """

    operations: Ints
    token: Ints
    sizes: Ints


def oracle_operations(forest: Forest) -> OracleOperations:
    """A split where a constituent begins, a merge where it ends, a recur for each word.

    Jacob et al. (2018), section 2: only recur consumes its token; a split reads the token that
    comes next and so does a merge. Constituents have at least two words, and of a chain of nodes
    with one child each there is one. Such operations know the whole sentence: a perplexity under
    them is not one of the prefix, and not to be compared with an LSTM's.

    Arguments:
        forest: constituent trees, whose leaves are the words, as ``read_mrg`` gives them.
    """
    ranks, below = preorder(forest)
    by_rank = inverse(ranks)
    is_leaf = forest.degree[by_rank] == 0
    before = offsets_of(is_leaf)  # leaves before each rank
    leaves = by_rank[is_leaf]
    tree = forest.tree_of_node[leaves]
    chosen = np.flatnonzero(forest.degree > 1)
    begins, ends = before[ranks[chosen]], before[ranks[chosen] + below[chosen]] - 1
    splits, merges = (np.bincount(each, minlength=len(leaves)) for each in (begins, ends))
    first = np.append(True, tree[1:] != tree[:-1])[: len(leaves)]
    last = np.append(first[1:], True)[: len(leaves)]
    following = np.where(last, -1, np.roll(leaves, -1))
    counts = np.stack([first, splits, np.ones_like(splits), merges], 1)  # START first
    kinds = (Operation.START, Operation.SPLIT, Operation.RECUR, Operation.MERGE)
    tokens = np.stack([np.full_like(leaves, -1), leaves, leaves, following], 1)
    sizes = np.zeros(len(forest), np.int64)
    np.add.at(sizes, tree, counts.sum(1))
    return OracleOperations(
        np.repeat(np.tile(np.array(kinds, np.int64), len(leaves)), counts.ravel()),
        np.repeat(tokens.ravel(), counts.ravel()),
        sizes,
    )
