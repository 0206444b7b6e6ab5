"""Predictions need no labels, from any form that a task's text comes in."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from dgltrees._files import Lines, PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.settings.tasks import TASKS
from dgltrees.tasks.splits import load_examples, named_task
from dgltrees.tasks.task import Task
from dgltrees.trees import LabeledTrees
from tests.installed import installed_tasks
from tests.tasks.build import build, run
from tests.training.samples import SAMPLES

_SMALL = {"hidden_size": 4, "max_children": 5}
_LSTM = {"hidden_size": 4, "embedding": 4, "encoder": "lstm"}
_PAIR = {**_LSTM, "head_hidden_sizes": [4]}
_PLANS = {"tree_path": "plan", "children_key": "Plans"}


Change = Callable[[str, str | None], str]
"""Puts a text in the place of the labels of a line; None takes them off."""


def _member(key: str) -> Change:
    def change(line: str, label: str | None) -> str:
        record = json.loads(line)
        where = record if key in record else record["plan"]
        where.pop(key) if label is None else where.update({key: label})
        return json.dumps(record)

    return change


def _match(pattern: str) -> Change:
    def change(line: str, label: str | None) -> str:
        return re.sub(pattern, lambda m: re.sub(r"[^\s_:]+", label, m[0]) if label else "", line)

    return change


Row = tuple[str, dict[str, Any], dict[str, Any], Change]
_STRIPPED: dict[str, Row] = {
    "listops": ("listops/train.tsv", {}, _SMALL, _match(r"^\d\t")),
    "lrt": ("lrt/train4", {}, _SMALL, _match(r"^\S+\t")),
    "lrt-sequence": ("lrt/train4", {}, _PAIR, _match(r"^\S+\t")),
    "mee": ("mee/train4.tsv", {}, _LSTM, _match(r"^\d+\t")),
    "sst-tree": ("sst/dev.txt", {}, _SMALL, _match(r"(?<=\()\d ")),
    "sst-phrases": ("sst/dev.txt", {"binary": True}, _PAIR, _match(r"(?<=\()\d ")),
    "nli": ("sick/SICK_train_parsed.txt", {}, _PAIR, _match(r"^\S+\t")),
    "wikiqa": ("wikiqa/WikiQASent-dev.txt", {}, _PAIR, _match(r"\t[01]$")),
    "classify": ("plans/train.jsonl", {**_PLANS, "target": "speed"}, {}, _member("speed")),
    "regress": ("plans/train.jsonl", {**_PLANS, "target": "seconds"}, {}, _member("seconds")),
    "rank": (
        *("plans/queries/train.jsonl", {**_PLANS, "target": "seconds", "group": "query"}, {}),
        _member("seconds"),
    ),
}
"""A file, settings of the data and the model, and what changes the label of a line."""
_STRIPPED = installed_tasks(_STRIPPED)
_OF_NODES = ("sst-tree", "sst-phrases")
"""Tasks whose labels are inside the trees, where an unknown one is no label."""
_OWN = ("classify", "regress", "rank")
_NO_LABELS = {*installed_tasks(dict.fromkeys(["tree-lm", "edge-classifier", "ptb", "parser"]))}
"""Tasks whose predictions read text or trees alone."""
_ALIKE = {"classify-nodes", "regress-nodes", "classify-pairs", "regress-pairs"}
"""Tasks on nodes and pairs, which read files as ``classify`` and ``regress`` do."""


def predict(
    model: nn.Module,
    task: Task,
    train: LabeledTrees,
    path: PathLike,
    settings: Any,
    file_format: str | None = None,
    trees: int = 10_000,
) -> list[dict[str, Any]]:
    options = {"file_format": file_format or task.format_of(path), "trees": trees}
    with named_task(task, path):
        parts = task.stream(path, settings, train.schema, labeled=False, **options)
        lines = [line for data in parts for line in task.predictions(data, run(model, task, data))]
    return [{k: v for k, v in line.items() if k not in task.numbered} for line in lines]


def model_of(name: str) -> tuple[nn.Module, Task, LabeledTrees, Path, Any]:
    file, settings, sizes, _ = _STRIPPED[name]
    task, path = TASKS[name], SAMPLES / file
    data = task.data(**settings)
    train = load_examples(task, data, [path])
    for vocabulary in train.schema.values():
        vocabulary.freeze()
    return build(task, train, **sizes).eval(), task, train, path, data


def test_every_task_is_in_a_table() -> None:
    assert {*_STRIPPED} | _NO_LABELS | _ALIKE == {*TASKS}


def _near(line: dict[str, Any]) -> dict[str, Any]:
    return {k: pytest.approx(v, abs=2e-6) if type(v) is float else v for k, v in line.items()}


@pytest.mark.parametrize("name", _STRIPPED)
def test_predictions_do_not_depend_on_labels(name: str) -> None:
    model, task, train, path, settings = model_of(name)
    change = _STRIPPED[name][3]
    labeled = path.read_text(encoding="utf-8").splitlines()
    bare, unknown = ([change(line, label) for line in labeled] for label in (None, "other"))
    expected = predict(model, task, train, path, settings)
    assert len(expected) == len([line for line in labeled if line.strip()])
    for others in [bare, unknown][: 1 + (name not in _OF_NODES)]:
        assert all(a != b for a, b in zip(labeled, others))
        file_format = next(iter(task.formats), "jsonl")
        lines = predict(model, task, train, Lines(others), settings, file_format)
        assert lines == list(map(_near, expected))
    some = [a if i % 3 else b for i, (a, b) in enumerate(zip(labeled, bare))]
    by_threes = predict(
        *(model, task, train, Lines(some), settings), next(iter(task.formats), "jsonl"), 3
    )
    assert by_threes == list(map(_near, expected))
    if name not in _OWN:
        with pytest.raises(TreeError, match=r"label|value|none"):
            task.read(Lines(bare), settings, train.schema)


@pytest.mark.parametrize("name", _OWN)
def test_custom_trees_without_targets_have_no_metrics(name: str) -> None:
    model, task, train, path, settings = model_of(name)
    bare = [_STRIPPED[name][3](line, None) for line in path.read_text().splitlines()]
    data = task.read(Lines(bare, "plans.jsonl"), settings, train.schema)
    with pytest.raises(TreeError, match="expected examples with"):
        task.report(data, run(model, task, data), task.majority(train))


def assert_read(name: str, texts: list[str], file_format: str | None, count: int) -> None:
    """A model predicts so many examples from texts of a form."""
    model, task, train, _, settings = model_of(name)
    lines = predict(model, task, train, Lines(texts), settings, file_format)
    assert len(lines) == count
    assert all(0 <= line["probability"] <= 1 for line in lines)


def assert_one_error(name: str, text: str, file_format: str | None, message: str) -> None:
    model, task, train, _, settings = model_of(name)
    with pytest.raises((ConfigError, TreeError), match=message):
        predict(model, task, train, Lines([text]), settings, file_format)
