"""What one tree costs from objects to a prediction, by a model in memory."""

import random

import numpy as np
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from dgltrees import Forest, TreeRegressor
from tests.benchmarks.cases import COLUMNS, plan


def test_one_tree_of_forty_nodes(benchmark: BenchmarkFixture) -> None:
    roots = [plan(random.Random(seed), 40) for seed in range(32)]
    model = TreeRegressor(hidden_size=128, epochs=1)
    model.fit(Forest.from_objects(roots, "children", COLUMNS), np.random.default_rng(0).random(32))
    benchmark.group = "from objects to a prediction"
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        predicted = benchmark(
            lambda: model.predict(Forest.from_objects(roots[:1], "children", COLUMNS))
        )
    finally:
        torch.set_num_threads(threads)
    assert predicted.shape == (1,)
