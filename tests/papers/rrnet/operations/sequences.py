"""Sequences of operations for the tests: some that hypothesis draws, and shapes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dgltrees.papers.rrnet.operations import Operation

START, SPLIT, RECUR, MERGE, OPEN = (int(operation) for operation in Operation)
LETTERS = {"S": SPLIT, "R": RECUR, "M": MERGE, "O": OPEN}

Sequences = list[list[int]]


def spelled(*words: str) -> Sequences:
    """Sequences from their letters: ``"SRM"`` is START, SPLIT, RECUR, MERGE; O is OPEN."""
    return [[START, *(LETTERS[letter] for letter in word)] for word in words]


def random_sequence(rng: np.random.Generator, steps: int, opens: int = 0) -> list[int]:
    """START, ``opens`` times OPEN, then steps drawn from those that are legal."""
    operations, depth = [START, *[OPEN] * opens], opens
    for _ in range(steps):
        operation = int(rng.integers(SPLIT, MERGE + 1 if depth else MERGE))
        depth += (operation == SPLIT) - (operation == MERGE)
        operations.append(operation)
    return operations


def random_sequences(rng: np.random.Generator, count: int, steps: int, opens: int) -> Sequences:
    """``count`` of them, of 0 to ``steps`` steps and with 0 to ``opens`` OPENs."""
    return [
        random_sequence(rng, int(rng.integers(0, steps + 1)), int(rng.integers(0, opens + 1)))
        for _ in range(count)
    ]


@st.composite
def sequences(
    draw: st.DrawFn, max_sequences: int = 4, max_steps: int = 12, max_opens: int = 2
) -> Sequences:
    """Sequences of unlike lengths, START alone and splits left open among them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(1, max_sequences))
    return random_sequences(rng, count, draw(st.integers(0, max_steps)), max_opens)


def flat(drawn: Sequences) -> tuple[list[int], list[int]]:
    """Operations, sequence after sequence, and their numbers."""
    return [operation for each in drawn for operation in each], [len(each) for each in drawn]


def by_a_stack(operations: list[int]) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Of one sequence (split, merge) in the order of merges, what is left open, and depths."""
    stack: list[int] = []
    pairs, depths = [], []
    for place, operation in enumerate(operations):
        if operation in (SPLIT, OPEN):
            stack.append(place)
        elif operation == MERGE:
            pairs.append((stack.pop(), place))
        depths.append(len(stack))
    return pairs, stack, depths
