"""What holds for every task, in a short run of each row of the table.

A paper imports these laws, and has rows of its own.
"""

import copy
import json
import math
import pickle
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch.testing import assert_close

from dgltrees import ConfigError, LabeledTrees, TreeError
from dgltrees._files import Lines
from dgltrees.formats import RecordLayout, read
from dgltrees.settings.catalog import load_preset, preset_names
from dgltrees.settings.layers import Settings, layered
from dgltrees.tasks.custom_trees.base import CustomTreesTask
from dgltrees.training.device import one_device
from dgltrees.training.evaluation import run_model
from dgltrees.training.loading import Loader, training_sampler
from dgltrees.training.run import prepare, train
from dgltrees.training.trained import TrainedModel, load
from dgltrees.trees.saved import is_on_disk
from tests.tasks.table import ROWS, Row  # noqa: F401  (ROWS are read by conftest)
from tests.training.test_kills import can_be_killed, survives_kills

pytestmark = pytest.mark.filterwarnings("ignore:.*no vectors for")

SOMETIMES = {"joint_loss", "r2_log", "q_error_median", "q_error_95"}
"""Metrics of some models, or of positive numbers."""


@dataclass
class Run:
    """A finished run of a row, and what it predicts of its validation file."""

    row: Row
    settings: Settings
    folder: Path
    result: dict[str, Any]
    model: TrainedModel
    data: LabeledTrees
    lines: list[dict[str, Any]]

    @property
    def test(self) -> Any:
        """The files of validation."""
        return self.settings.data.valid


@pytest.fixture(scope="module")
def run(row: Row, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run")
    settings = row.settings(folder)
    result = train(settings, folder / "whole", bar=False)
    model = load(folder / "whole")
    test = settings.data.valid
    return Run(row, settings, folder, result, model, model.read(test), [*model.predict(test)])


def test_it_learns(run: Run) -> None:
    losses = [line[run.row.learns] for line in run.model.directory.metrics()]
    assert all(map(math.isfinite, losses))
    assert min(losses[1:]) < losses[0]


def test_a_report_is_that_of_its_rows(run: Run) -> None:
    """And that of the run, which has the model of the loop."""
    report = run.model.evaluate(run.test)
    assert {**run.result["valid"], **report} == report
    expected = run.row.score(run.model, run.data, run.lines)
    for name, value in expected.items():
        assert report[name] == pytest.approx(value, rel=1e-5, abs=1e-6), name
    declared = {metric.name for metric in run.model.task.metrics}
    assert declared - report.keys() <= SOMETIMES
    assert all(isinstance(report[name], float) for name in declared & report.keys())


def test_a_batch_is_its_examples(run: Run) -> None:
    task, model = run.model.task, copy.deepcopy(run.model.model).double()
    device = one_device(run.settings.replace("training", precision="64-true").training)
    together = run_model(model, task, run.data, device)
    alone = run_model(model, task, run.data, device, max_nodes=1)
    for name, column in together.items():
        np.testing.assert_allclose(alone[name], column, rtol=1e-8, atol=1e-8, err_msg=name)
    if task.stateful or not hasattr(model, "encoder"):
        with pytest.raises(ConfigError, match="separate trees or sent.* text|model that encodes"):
            run.model.encode(run.test)
        return
    vectors = run.model.encode(run.test)
    parts = np.concatenate([*run.model.encode_parts(run.test, batch=1)])
    np.testing.assert_allclose(parts, vectors, rtol=1e-4, atol=1e-5)
    assert len(vectors) == len(run.lines)


def test_a_saved_model_predicts_the_same(run: Run) -> None:
    history, result = run.model.directory.metrics(), run.model.directory.result()
    run.model.save(run.folder / "saved", history, result)
    assert result["valid"] == run.result["valid"]
    for again in (load(run.folder / "saved"), pickle.loads(pickle.dumps(run.model))):
        assert [*again.predict(run.test)] == run.lines
        assert again.settings == run.model.settings
        assert again.metadata == run.model.metadata


@can_be_killed
def test_a_killed_run_ends_as_if_nothing_had_happened(run: Run) -> None:
    survives_kills(run.settings, run.folder, random.Random(str(run.row)))


def test_parameters_are_counted(run: Run) -> None:
    counts, model = run.result["parameters"], run.model.model
    model = getattr(model, "model", model)  # without the parameters of an objective
    assert counts["model"] == sum(p.numel() for p in model.parameters())
    words = {id(p): p.numel() for p in run.model.task.word_parameters(model)}  # once if tied
    assert counts["cell"] <= counts["model"] - sum(words.values())
    assert counts == run.model.metadata["parameters"]


def test_every_parameter_learns(run: Run) -> None:
    before, after = (
        dict(m.named_parameters()) for m in (prepare(run.settings).model, run.model.model)
    )
    fixed = {name for name in before if before[name].equal(after[name])}
    fixed = {name for name in fixed if not any(each in name for each in run.row.fixed)}
    assert not {name for name in fixed if before[name].requires_grad}


def test_batches_can_be_sent_to_workers(run: Run) -> None:
    task, batches = run.model.task, training_sampler(run.model.settings, run.data).batches()
    if is_on_disk(run.data.forest):
        with pytest.raises(ConfigError, match="num_workers 0 with a forest on disk, got 1"):
            Loader(task, run.data, 1)
        return
    chunks = Loader(task, run.data, 1).ahead.dataset
    (batch, targets), *_ = pickle.loads(pickle.dumps(chunks))[[batches[0]]]
    expected, wanted = task.batch(run.data, batches[0])
    assert_close(targets, wanted)
    assert batch.num_nodes == expected.num_nodes
    rows = task.targets(run.data)[task.rows(run.data, batches[0])]
    np.testing.assert_array_equal(wanted if rows.ndim == wanted.ndim else wanted[:, 0], rows)


@cache
def _all_settings() -> dict[tuple[str, str], Any]:
    """The settings of all presets, each with a value that one of them has."""
    found: dict[tuple[str, str], Any] = {}
    for preset in preset_names():
        for section, options in load_preset(preset).sections.items():
            for name, value in options.items():
                if value is not None or (section, name) not in found:
                    found[section, name] = value
    return found


def test_settings_that_are_not_read_are_refused(row: Row, tmp_path: Path) -> None:
    settings = row.settings(tmp_path)
    for (section, name), value in _all_settings().items():
        if name not in settings.sections[section]:
            layer: Any = {section: {name: 1 if value is None else value}}
            with pytest.raises(ConfigError, match=rf"{section}\.{name} has no effect"):
                Settings(layered(settings.to_dict(), layer))


def test_trees_in_memory_are_those_of_a_file(run: Run) -> None:
    if not isinstance(run.model.task, CustomTreesTask):
        return
    (path,) = run.model.files(run.test)
    data = run.settings.data
    layout = RecordLayout(tree_path=data.tree_path, children_key=data.children_key)
    records = [json.loads(line) for line in Path(path).read_text().splitlines()]
    for trees in (records, read(path, layout=layout)):
        assert [*run.model.predict(trees)] == run.lines


def predicted(run: Run, texts: list[str], form: str | None, **options: Any) -> list[dict[str, Any]]:
    """The predictions of texts, without numbers of examples and lines."""
    lines = run.model.predict([Lines(texts)], file_format=form, **options)
    return [
        {k: v for k, v in line.items() if k not in (*run.model.task.numbered, "line")}
        for line in lines
    ]


def _near(line: dict[str, Any]) -> dict[str, Any]:
    return {k: pytest.approx(v, abs=2e-6) if type(v) is float else v for k, v in line.items()}


def test_labels_do_not_matter(run: Run) -> None:
    """But in an evaluation, and in training."""
    change, task = run.row.unlabel, run.model.task
    if change is None:
        return
    labeled = [
        text for path in run.model.files(run.test) for text in Path(path).read_text().splitlines()
    ]
    form = next(iter(task.formats), "jsonl")
    bare, unknown = ([change(line, label) for line in labeled] for label in (None, "other"))
    assert all(a != b for a, b in zip(labeled, bare))
    expected = [*map(_near, predicted(run, labeled, form))]
    assert len(expected) == len([line for line in labeled if line.strip()])
    assert predicted(run, bare, form) == expected
    if run.row.unknown:
        assert predicted(run, unknown, form) == expected
    some = [a if i % 3 else b for i, (a, b) in enumerate(zip(labeled, bare))]
    assert predicted(run, some, form, batch=3) == expected
    with pytest.raises(TreeError, match=r"label|value|none|expected examples with"):
        run.model.report(
            task.read(Lines(bare, "a.jsonl"), run.settings.data, run.model.vocabularies)
        )


def test_text_comes_in_many_forms(run: Run) -> None:
    for texts, form, count in run.row.texts:
        lines = predicted(run, texts, form)
        assert len(lines) == count, texts
        assert all(0 <= line["probability"] <= 1 for line in lines)
    first, *others = [predicted(run, texts, form) for form, texts in run.row.equal.items()] or [[]]
    for each in others:
        assert each == first
    for text, form, message in run.row.errors:
        with pytest.raises((ConfigError, TreeError), match=message):
            predicted(run, [text], form)
