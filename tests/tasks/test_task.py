from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dgltrees.errors import ConfigError, TreeError
from dgltrees.models.heads import class_nll
from dgltrees.settings.tasks import TASKS, get_task
from dgltrees.tasks.splits import load_examples, most_children
from dgltrees.tasks.task import Task
from dgltrees.trees import Forest, LabeledTrees, Vocabulary
from tests.installed import installed_tasks
from tests.tasks.build import build, predictions, run
from tests.training.samples import SAMPLES, SENTENCES

FILES = installed_tasks(
    {
        "classify": "plans/train.jsonl",
        "listops": "listops/train.tsv",
        "lrt": "lrt/train4",
        "sst-tree": "sst/train.txt",
    }
)

_PLANS = {"tree_path": "plan", "children_key": "Plans"}


def _data(name: str, **settings: Any) -> LabeledTrees:
    task = get_task(name)
    layout = {**_PLANS, "target": "speed"} if name == "classify" else {}
    return load_examples(task, task.data(**layout, **settings), [SAMPLES / FILES[name]])


def test_nll_leaves_out_rows_without_a_class() -> None:
    logits = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    losses = class_nll(logits, torch.tensor([2, -1, 0]))
    expected = -torch.log_softmax(logits, 1)
    torch.testing.assert_close(
        losses, torch.stack([expected[0, 2], torch.tensor(0.0), expected[2, 0]])
    )
    half = class_nll(logits.bfloat16(), torch.tensor([2, -1, 0]))
    assert (half.dtype, losses.dtype) == (torch.float32, torch.float32)


@pytest.mark.parametrize("name", FILES)
def test_a_model_gives_a_row_of_logits_for_every_target(name: str) -> None:
    task, data = get_task(name), _data(name)
    model = build(
        *(task, data),
        hidden_size=4,
        cell="lstm",
        max_children=most_children(data),
        aggregator="shared_sum",
    )
    ids = np.array([5, 0, 3])
    batch, targets = task.batch(data, ids)
    logits = model(batch)
    assert logits.shape == (len(targets), len(data.targets))
    assert targets.tolist() == task.targets(data)[task.rows(data, ids)].tolist()
    class_nll(logits, targets).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize("name", FILES)
def test_outputs_do_not_depend_on_the_batch(name: str) -> None:
    task, data = get_task(name), _data(name)
    sizes = {"hidden_size": 3, "max_children": most_children(data), "cell": "lstm"}
    model = build(task, data, **sizes, bidirectional=name == "classify").double()
    torch.set_default_dtype(torch.float64)
    try:
        together = model(task.batch(data, np.array([4, 1]))[0])
        alone = [model(task.batch(data, np.array([i]))[0]) for i in (4, 1)]
    finally:
        torch.set_default_dtype(torch.float32)
    torch.testing.assert_close(together, torch.cat(alone))


def _fields() -> dict[str, Any]:
    """What a task of classes is made from, with the methods that all tasks have."""
    return {each.name: getattr(get_task("classify"), each.name) for each in fields(Task)}


def test_a_perfect_model_has_accuracy_one_and_the_majority_its_share() -> None:
    task, data = Task(**_fields()), _data("classify")
    targets = task.targets(data)
    counts = np.bincount(targets)
    report = task.report(data, predictions(targets), task.majority(data))
    assert report["accuracy"] == 1.0
    assert report["majority_accuracy"] == pytest.approx(counts.max() / counts.sum())
    report = task.report(data, predictions((targets + 1) % 2), task.majority(data))
    assert report["accuracy"] == 0.0


def test_examples_without_any_class_have_no_accuracy() -> None:
    task, data = Task(**_fields()), _data("classify")
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
        task.majority(_data("classify"))
    with pytest.raises(ConfigError, match="override targets, labeled, report, predictions"):
        task.labeled(_data("classify"))


def test_tasks_stand_in_the_table_under_their_names() -> None:
    assert all(task.name == name for name, task in TASKS.items())
    with pytest.raises(ConfigError, match="expected task to be one of .*classify, "):
        get_task("class-ify")


_SMALL = {"hidden_size": 4, "max_children": 5}
_WORDS = {"hidden_size": 4, "embedding": 4}
_LSTM = {**_WORDS, "encoder": "lstm"}
_PAIR = {**_LSTM, "head_hidden_sizes": [4]}
_REPORTED: dict[str, tuple[str, dict[str, Any]]] = {
    "listops": ("listops/train.tsv", _SMALL),
    "lrt": ("lrt/train4", _SMALL),
    "sst-tree": ("sst/train.txt", _SMALL),
    "classify": ("", _WORDS),
    "classify-pairs": ("sick/relatedness_train.jsonl", _WORDS),
    "classify-nodes": ("", _WORDS),
    "regress": ("plans/train.jsonl", {**_WORDS, "log_target": True}),
    "regress-pairs": ("sick/relatedness_train.jsonl", _WORDS),
    "regress-nodes": ("plans/train.jsonl", {**_WORDS, "log_target": True}),
    "rank": ("plans/queries/train.jsonl", _WORDS),
    "edge-classifier": ("", {"hidden_size": 2}),
    "tree-lm": (str(SENTENCES), {**_WORDS, "stops": True}),
    "parser": (str(SENTENCES), {**_WORDS, "arc_size": 4, "label_size": 4}),
    "nli": ("sick/SICK_train_parsed.txt", _PAIR),
    "wikiqa": ("wikiqa/WikiQASent-dev.txt", _PAIR),
    "sst-phrases": ("sst/dev.txt", _PAIR),
    "mee": ("mee/train4.tsv", _LSTM),
    "lrt-sequence": ("lrt/train4", _PAIR),
    "ptb": ("ptb_lm/ptb.train.txt", _LSTM),
}
"""Of each task a file and a model that reports all its metrics."""
_PAIRS = {"tree_path": ["first", "second"]}
_DATA: dict[str, dict[str, Any]] = {
    "classify-pairs": {**_PAIRS, "target": "entailment_label"},
    "regress-pairs": {**_PAIRS, "target": "relatedness_score"},
    "regress": {**_PLANS, "target": "seconds"},
    "regress-nodes": {**_PLANS, "target": "Plan Rows"},
    "rank": {**_PLANS, "target": "seconds", "group": "query"},
}
"""Settings of the data that a file needs."""


def _labels() -> Forest:
    """Two trees with names and classes at their nodes."""
    vocabs = {"label": Vocabulary(["a", "b"]), "target": Vocabulary(["no", "yes"])}
    columns = {"label": [0, 1, 1, 0], "target": [1, 0, 0, 0]}
    return Forest.build([-1, 0, 0, -1], offsets=[0, 3, 4], columns=columns, vocabs=vocabs)


def _decisions() -> Forest:
    """Two nodes with the features of states of size 2, and which edges they have."""
    columns = {"features": np.ones((2, 4), np.float32), "added": [[1, 0, 0, 1], [-1, 1, 0, 0]]}
    return Forest.build([-1, -1], offsets=[0, 1, 2], columns=columns)


@pytest.mark.parametrize("name", TASKS)
def test_a_report_has_the_metrics_that_the_task_declares(name: str, tmp_path: Path) -> None:
    if name not in _REPORTED:
        pytest.fail(f"expected a file and a model of the task {name} in _REPORTED; add a row there")
    task, (file, settings) = TASKS[name], _REPORTED[name]
    path = SAMPLES / file
    if not file:
        path = tmp_path / "forest"
        (_decisions() if name == "edge-classifier" else _labels()).save(path)
    data = load_examples(task, task.data(**_DATA.get(name, {})), [path])
    report = task.report(data, run(build(task, data, **settings), task, data), task.majority(data))
    assert {metric.name for metric in task.metrics} <= set(report)
    assert all(isinstance(report[metric.name], float) for metric in task.metrics)
