import importlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dgltrees.errors import ConfigError, TreeError
from dgltrees.models.heads import class_nll
from dgltrees.settings.catalog import load_preset
from dgltrees.settings.tasks import TASKS, get_task
from dgltrees.tasks.splits import load_examples
from dgltrees.tasks.task import Task
from dgltrees.trees import LabeledTrees
from tests.tasks.build import predictions
from tests.tasks.table import ROWS
from tests.training.samples import PLANS_FILE

TESTS = Path(__file__).parents[1]


def _plans() -> LabeledTrees:
    task = get_task("classify")
    settings = task.data(tree_path="plan", children_key="Plans", target="speed")
    return load_examples(task, settings, [PLANS_FILE])


def test_nll_leaves_out_rows_without_a_class() -> None:
    logits = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    losses = class_nll(logits, torch.tensor([2, -1, 0]))
    expected = -torch.log_softmax(logits, 1)
    torch.testing.assert_close(
        losses, torch.stack([expected[0, 2], torch.tensor(0.0), expected[2, 0]])
    )
    half = class_nll(logits.bfloat16(), torch.tensor([2, -1, 0]))
    assert (half.dtype, losses.dtype) == (torch.float32, torch.float32)


def _fields() -> dict[str, Any]:
    """What a task of classes is made from, with the methods that all tasks have."""
    return {each.name: getattr(get_task("classify"), each.name) for each in fields(Task)}


def test_a_perfect_model_has_accuracy_one_and_the_majority_its_share() -> None:
    task, data = Task(**_fields()), _plans()
    targets = task.targets(data)
    counts = np.bincount(targets)
    report = task.report(data, predictions(targets), task.majority(data))
    assert report["accuracy"] == 1.0
    assert report["majority_accuracy"] == pytest.approx(counts.max() / counts.sum())
    report = task.report(data, predictions((targets + 1) % 2), task.majority(data))
    assert report["accuracy"] == 0.0


def test_examples_without_any_class_have_no_accuracy() -> None:
    task, data = Task(**_fields()), _plans()
    data.columns["target"][:] = -1
    with pytest.raises(TreeError, match="missing examples with classes"):
        task.report(data, predictions(np.zeros(len(data), np.int64)), {"root": 0})


@dataclass(frozen=True)
class Numbers(Task):
    """A task with a number each, whose other methods take them for classes."""

    def targets(self, data: LabeledTrees) -> Any:
        return np.linspace(0, 1, len(data))


def test_targets_that_are_no_classes_want_methods_of_their_own() -> None:
    task = Numbers(**{**_fields(), "name": "numbers"})
    with pytest.raises(
        ConfigError, match="task numbers to be classes, got float64; set has_majority"
    ):
        task.majority(_plans())
    with pytest.raises(ConfigError, match="override targets, labeled, report, predictions"):
        task.labeled(_plans())


def test_every_task_has_a_row_of_laws() -> None:
    """Those that are missing want one in tests/tasks/table.py, or in the tests of their paper."""
    rows = [*ROWS]
    for path in sorted(TESTS.glob("papers/**/test_laws.py")):
        name = ".".join(path.relative_to(TESTS.parent).with_suffix("").parts)
        rows += importlib.import_module(name).ROWS
    assert {*TASKS} - {load_preset(row.preset).task.name for row in rows} == set()


def test_tasks_stand_in_the_table_under_their_names() -> None:
    assert all(task.name == name for name, task in TASKS.items())
    with pytest.raises(ConfigError, match="expected task to be one of .*classify, "):
        get_task("class-ify")
