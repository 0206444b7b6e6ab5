"""The oracle: the operations that build the true trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgltrees.trees.builders.render import preorder
from dgltrees.trees.forest import Forest
from dgltrees.trees.operation_kinds import Operation
from dgltrees.trees.operations.words import token_at, word_operations
from dgltrees.trees.segments import inverse, offsets_of, starts

__all__ = ["OracleOperations", "constituent_counts", "oracle_operations"]

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
    leaves, merges, splits = constituent_counts(forest)
    words = np.bincount(forest.tree_of_node[leaves], minlength=len(forest))
    operations, sizes = word_operations(merges, splits, words)
    token = np.append(leaves, -1)[token_at(operations, sizes, words)]
    begins = starts(sizes)
    starting = np.insert(operations, begins, int(Operation.START))
    return OracleOperations(starting, np.insert(token, begins, -1), sizes + 1)


def constituent_counts(forest: Forest) -> tuple[Ints, Ints, Ints]:
    """The leaves of known trees in order, and the merges and splits before each; ``(N,)`` each.

    They are columns for :func:`~dgltrees.trees.operations.word_operations`.

    Arguments:
        forest: see :func:`oracle_operations`.
    """
    ranks, subtree_sizes = preorder(forest)
    by_rank = inverse(ranks)
    is_leaf = forest.degree[by_rank] == 0
    before = offsets_of(is_leaf)  # leaves before each rank
    leaves = by_rank[is_leaf]
    tree = forest.tree_of_node[leaves]
    inner = np.flatnonzero(forest.degree > 1)
    begins, ends = before[ranks[inner]], before[ranks[inner] + subtree_sizes[inner]]
    splits, merges = (np.bincount(at, minlength=len(leaves) + 1) for at in (begins, ends))
    first = np.append(True, tree[1:] != tree[:-1])[: len(leaves)]
    return leaves, np.where(first, 0, merges[:-1]), splits[:-1]
