"""Kinds of edges and operations in the graphs of the papers."""

from __future__ import annotations

from enum import IntEnum

from dgltrees.trees.vocabulary import Vocabulary


class EdgeType(IntEnum):
    """The type of the edge to a generated dependent: its source (head or sibling) and its side.

    A dependency tree is generated along these four types of edges: Zhang, Lu & Lapata,
    "Top-down Tree Long Short-Term Memory Networks", NAACL 2016, section 2.1.
    """

    LEFT = 0  # from the head to its nearest left dependent
    RIGHT = 1  # from the head to its nearest right dependent
    NX_LEFT = 2  # from a left dependent to the next one, farther from the head
    NX_RIGHT = 3  # from a right dependent to the next one, farther from the head

    def __str__(self) -> str:
        return self.name.replace("_", "-")


EDGE_TYPES = Vocabulary(map(str, EdgeType), frozen=True)
"""The names of the edge types, as the paper writes them, in the order of their ids."""


class Operation(IntEnum):
    """The operation of a step (RRNet, section 2), or the kind of a node before the steps."""

    START = 0  # no step: the initial state
    SPLIT = 1  # begin a sub-tree and push the state of its parent on the stack
    RECUR = 2  # a step of an LSTM
    MERGE = 3  # end the sub-tree and merge its state with the one popped from the stack
    OPEN = 4  # no step: a split of an earlier window that is still on the stack


class Flow(IntEnum):
    """The type of an edge between two steps, which is the slot of its message in the mailbox."""

    NEXT = 0  # the state, from each step to the next one
    RETURN = 1  # what a split has pushed on the stack, from the split to its merge


OPERATIONS = Vocabulary([operation.name for operation in Operation], frozen=True)
"""The names of the operations, in the order of their ids."""
