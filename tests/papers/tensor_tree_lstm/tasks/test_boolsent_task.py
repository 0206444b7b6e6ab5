from __future__ import annotations

import pytest

from dgltrees.tasks.splits import load_examples
from dgltrees.tasks.table import get_task
from tests.tasks.build import predictions
from tests.training.samples import SAMPLES


def test_accuracy_is_of_roots_and_of_nodes() -> None:
    task = get_task("boolsent")
    data = load_examples(task, task.data(), [SAMPLES / "boolsent/train.txt"])
    wrong = task.targets(data).copy()
    wrong[data.forest.roots] ^= 1
    report = task.report(data, predictions(wrong), task.majority(data))
    nodes = data.forest.num_nodes
    assert report["accuracy"] == report["root_accuracy"] == 0.0
    assert report["node_accuracy"] == pytest.approx(1 - len(data) / nodes)
    assert (report["examples"], report["nodes"]) == (len(data), nodes)
