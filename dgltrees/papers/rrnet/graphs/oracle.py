"""The oracle: the operations that build the true trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgltrees.papers.rrnet.graphs.words import token_at, word_operations
from dgltrees.trees.constituents import constituent_counts
from dgltrees.trees.forest import Forest
from dgltrees.trees.operation_kinds import Operation
from dgltrees.trees.segments import starts

__all__ = ["OracleOperations", "oracle_operations"]

Ints = NDArray[np.int64]


class OracleOperations(NamedTuple):
    """Operations and sizes for ``operation_graph``, and tokens.

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
        forest: constituent trees whose leaves are the words, as in the format ``mrg``.
    """
    leaves, merges, splits = constituent_counts(forest)
    words = np.bincount(forest.tree_of_node[leaves], minlength=len(forest))
    operations, sizes = word_operations(merges, splits, words)
    token = np.append(leaves, -1)[token_at(operations, sizes, words)]
    begins = starts(sizes)
    starting = np.insert(operations, begins, int(Operation.START))
    return OracleOperations(starting, np.insert(token, begins, -1), sizes + 1)
