"""Trees for the benchmarks of ``make bench`` alone."""

import random
from typing import Any

import numpy as np

from dgltrees.bench.cases import Case, Parents, chain, split


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
