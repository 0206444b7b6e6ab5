"""Nodes a second from objects to a forest."""

import random
from typing import Any

from pytest_benchmark.fixture import BenchmarkFixture

from dgltrees.trees.builders import from_objects

TREES, NODES = 2_000, 20


def plan(rng: random.Random) -> dict[str, Any]:
    """A dictionary like a query plan, with more entries than are asked for."""
    nodes: list[dict[str, Any]] = [
        {"type": rng.choice("abcdef"), "rows": rng.randrange(9), "cost": 0.5, "other": 1}
        for _ in range(NODES)
    ]
    for number in range(1, NODES):
        parent = nodes[rng.randrange(max(0, number - 3), number)]
        parent.setdefault("children", []).append(nodes[number])
    return nodes[0]


def test_dictionaries(benchmark: BenchmarkFixture) -> None:
    roots = [plan(random.Random(seed)) for seed in range(TREES)]
    benchmark.extra_info.update(kind="builder", nodes=TREES * NODES)
    forest = benchmark.pedantic(
        from_objects, (roots, "children", ["type", "rows", "cost"]), rounds=5, warmup_rounds=1
    )
    assert forest.num_nodes == TREES * NODES
