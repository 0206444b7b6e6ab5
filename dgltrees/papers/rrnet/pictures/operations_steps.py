"""The steps of an operation sequence, each with the stack after it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from dgltrees.papers.rrnet.graphs import Operation

__all__ = ["OperationStep", "operation_steps"]


@dataclass(frozen=True)
class OperationStep:
    """One operation, and the tokens up to it, divided among the open sub-trees.

    Arguments:
        token: the token of this step; empty if it has none.
        operation: SPLIT, RECUR or MERGE.
        segments: one ``(start, tokens)`` per open sub-tree, the outermost first: the place of its
            first step, and the tokens of its steps up to where the next one begins. Place 0 is
            START, whose token is empty. All segments but the last are entries of the stack.
    """

    token: str
    operation: str
    segments: list[tuple[int, list[str]]]

    @property
    def stack_size(self) -> int:
        """The number of entries on the stack."""
        return len(self.segments) - 1


def operation_steps(operations: Sequence[int], tokens: Sequence[str]) -> list[OperationStep]:
    """The steps of a sequence whose every MERGE has a SPLIT, and a token (or "") per step."""
    with_start = ["", *tokens]
    steps, starts = [], [0]  # where each open sub-tree begins, the whole sequence first
    for place, (token, operation) in enumerate(zip(tokens, operations), start=1):
        if operation == Operation.SPLIT:
            starts.append(place)
        elif operation == Operation.MERGE:
            starts.pop()
        bounds = [*starts, place + 1]
        segments = [(start, with_start[start:stop]) for start, stop in itertools.pairwise(bounds)]
        steps.append(OperationStep(token, Operation(operation).name, segments))
    return steps
