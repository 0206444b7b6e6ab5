"""The trees of the benchmarks: random shapes from a seed, from balanced to chains."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.trees import Forest
from dgltrees.trees.segments import offsets_of

Parents = list[int]


@dataclass(frozen=True)
class Case:
    """A set of binary trees.

    Arguments:
        name: the name of its row in the table.
        trees: the number of trees.
        make: samples one tree, as the parent of each node, -1 at the root.
    """

    name: str
    trees: int
    make: Callable[[np.random.Generator], Parents]

    def forest(self, vocabulary: int, seed: int = 0) -> Forest:
        """Sample the trees, with a column ``token``: 1 to ``vocabulary`` - 1 at leaves, else 0."""
        rng = np.random.default_rng(seed)
        parents = [self.make(rng) for _ in range(self.trees)]
        forest = Forest.build(
            np.concatenate([np.asarray(p) for p in parents]),
            offsets=offsets_of([*map(len, parents)]),
        )
        words = rng.integers(1, vocabulary, forest.num_nodes)
        token: NDArray[np.int64] = np.where(forest.degree == 0, words, 0)
        return Forest(forest.parent, forest.pos, forest.offsets, {"token": token})


def grown(leaves: int, parts: Callable[[int], Sequence[int]]) -> Parents:
    """Build a tree in preorder, whose children, the last first, have ``parts(n)`` of n leaves."""
    parents: Parents = []
    stack = [(leaves, -1)]
    while stack:
        n, parent = stack.pop()
        node = len(parents)
        parents.append(parent)
        if n > 1:
            stack += [(part, node) for part in parts(n)]
    return parents


def split(leaves: int, left: Callable[[int], int]) -> Parents:
    """Build a binary tree in preorder, whose first children have ``left(n)`` of n leaves."""

    def parts(n: int) -> Sequence[int]:
        first = left(n)
        return n - first, first

    return grown(leaves, parts)


def random_binary(rng: np.random.Generator, low: int = 10, high: int = 30) -> Parents:
    """Sample a tree of ``low`` to ``high`` leaves with uniform splits."""
    return split(int(rng.integers(low, high + 1)), lambda n: int(rng.integers(1, n)))


def balanced(leaves: int) -> Parents:
    """Build a tree with even splits."""
    return split(leaves, lambda n: n // 2)


def chain(leaves: int) -> Parents:
    """Build a tree in which the second child of every inner node is a leaf."""
    return split(leaves, lambda n: n - 1)


def operations(rng: np.random.Generator) -> Parents:
    """Sample a tree like those of ListOps: 10 to 30 numbers, operators with 2 to 5 arguments."""

    def parts(n: int) -> list[int]:
        arguments = min(n, int(rng.integers(2, 6)))
        cuts = np.sort(rng.choice(np.arange(1, n), arguments - 1, replace=False))
        return list(np.diff([0, *cuts, n]).tolist())

    return grown(int(rng.integers(10, 31)), parts)


CASES = {
    case.name: case
    for case in (
        Case("random 32 x ~37", 32, random_binary),
        Case("random 1 x 43", 1, lambda rng: random_binary(rng, 22, 22)),
        Case("balanced 32 x 63", 32, lambda rng: balanced(32)),
        Case("chain 8 x 299", 8, lambda rng: chain(150)),
        Case("chain 16 x 799", 16, lambda rng: chain(400)),
    )
}


def sentence(rng: np.random.Generator) -> Parents:
    """A binarised parse such as the Stanford Sentiment Treebank's: 2 to 56 words, 19 on average.

    Since English branches to the right, every other split has one word on the left.
    """
    words = int(np.clip(np.rint(rng.gamma(4.2, 4.6)), 2, 56))
    return split(words, lambda n: 1 if rng.random() < 0.5 else int(rng.integers(1, n)))


SENTENCES = Case("sentences 64 x ~37", 64, sentence)
"""Binarised parses, for the benchmark with hidden size 300."""


def caterpillars(levels: int, nodes: int) -> Case:
    """Chains of ``levels`` levels, as many as have about ``nodes`` nodes in all."""
    trees = max(1, nodes // (2 * levels - 1))
    return Case(f"{trees} x {levels} levels", trees, lambda rng: chain(levels))


COLUMNS = ["type", "rows", "cost"]
"""The entries of a plan that are read."""


def plan(rng: random.Random, count: int) -> dict[str, Any]:
    """A dictionary like a query plan of ``count`` nodes, with more entries than are read."""
    nodes: list[dict[str, Any]] = [
        {"type": rng.choice("abcdef"), "rows": rng.randrange(9), "cost": 0.5, "other": 1}
        for _ in range(count)
    ]
    for number in range(1, count):
        parent = nodes[rng.randrange(max(0, number - 3), number)]
        parent.setdefault("children", []).append(nodes[number])
    return nodes[0]
