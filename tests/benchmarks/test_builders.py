"""Nodes a second from objects to a forest."""

import random

from pytest_benchmark.fixture import BenchmarkFixture

from dgltrees.trees.builders import from_objects
from tests.benchmarks.cases import COLUMNS, plan

TREES, NODES = 2_000, 20


def test_dictionaries(benchmark: BenchmarkFixture) -> None:
    roots = [plan(random.Random(seed), NODES) for seed in range(TREES)]
    benchmark.extra_info.update(kind="builder", nodes=TREES * NODES)
    forest = benchmark.pedantic(
        from_objects, (roots, "children", COLUMNS), rounds=5, warmup_rounds=1
    )
    assert forest.num_nodes == TREES * NODES
