"""What one tree costs from objects to a prediction, by a model in memory."""

from typing import Any

import numpy as np
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from dgltrees import Forest, TreeRegressor

_COLUMNS = ["kind", "rows", "cost"]


def _tree(nodes: int, rng: np.random.Generator) -> dict[str, Any]:
    objects: list[dict[str, Any]] = [
        {
            "kind": f"k{rng.integers(20)}",
            "rows": float(rng.integers(1, 10**6)),
            "cost": float(rng.random()),
            "children": [],
        }
        for _ in range(nodes)
    ]
    for i in range(1, nodes):
        objects[rng.integers(max(0, i - 4), i)]["children"].append(objects[i])
    return objects[0]


def test_one_tree_of_forty_nodes(benchmark: BenchmarkFixture) -> None:
    rng = np.random.default_rng(0)
    roots = [_tree(40, rng) for _ in range(32)]
    model = TreeRegressor(hidden_size=128, epochs=1)
    model.fit(Forest.from_objects(roots, "children", _COLUMNS), rng.random(32))
    benchmark.group = "from objects to a prediction"
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        predicted = benchmark(
            lambda: model.predict(Forest.from_objects(roots[:1], "children", _COLUMNS))
        )
    finally:
        torch.set_num_threads(threads)
    assert predicted.shape == (1,)
