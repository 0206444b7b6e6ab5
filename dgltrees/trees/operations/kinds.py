"""The operations, and the two kinds of edges between them."""

from __future__ import annotations

from enum import IntEnum

from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["OPERATIONS", "Flow", "Operation"]


class Operation(IntEnum):
    """What a step does; the paper's section 2."""

    START = 0  # no step: the state in which reading begins
    SPLIT = 1  # begin a sub-tree and push what is known of its parent
    RECUR = 2  # a step of an LSTM
    MERGE = 3  # end the sub-tree and merge it with what was pushed
    OPEN = 4  # no step: a split of an earlier window that is still open, with what it pushed


class Flow(IntEnum):
    """What an edge between two steps carries; its place in the mailbox."""

    NEXT = 0  # the state, from each step to the one after it
    RETURN = 1  # what a split pushed, from it to its merge


OPERATIONS = Vocabulary([operation.name for operation in Operation], frozen=True)
"""The names of the operations, in the order of their ids."""
