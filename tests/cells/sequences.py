"""Sequences of operations for the tests, some drawn by hypothesis, and their graphs."""

from collections.abc import Iterable

import numpy as np
import torch
from hypothesis import strategies as st

from dgltrees import TreeBatch
from dgltrees.trees.kinds import Flow, Operation

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


def by_a_loop(drawn: Sequences) -> list[tuple[int, int, int]]:
    """What a reader with a stack hears at each step, in the order of the steps."""
    edges, begin = [], 0
    for operations in drawn:
        returns = {merge: split for split, merge in by_a_stack(operations)[0]}
        last = 0
        for place, operation in enumerate(operations):
            if operation in (START, OPEN):
                continue
            edges.append((begin + place, int(Flow.NEXT), begin + last))
            if operation == MERGE:
                edges.append((begin + place, int(Flow.RETURN), begin + returns[place]))
            last = place
        begin += len(operations)
    return edges


def graph_of(drawn: Iterable[list[int]]) -> TreeBatch:
    """The graph that a cell runs over: an edge for what each step hears."""
    drawn = list(drawn)
    edges = torch.tensor(by_a_loop(drawn), dtype=torch.int64).view(-1, 3)
    dst, flow, src = edges.unbind(1)
    sizes = torch.tensor([len(each) for each in drawn], dtype=torch.int64)
    op = torch.tensor(flat(drawn)[0], dtype=torch.int64)
    return TreeBatch(src, dst, sizes, ndata={"op": op}, edata={"pos": flow})
