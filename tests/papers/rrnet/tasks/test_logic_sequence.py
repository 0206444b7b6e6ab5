"""Logical relations read token by token."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from dgltrees.errors import ConfigError
from dgltrees.tasks.splits import Splits, load_splits
from dgltrees.tasks.task import Task
from dgltrees.training.loaded import LoadedRun, load
from dgltrees.training.run import train
from tests.tasks.build import build
from tests.training.samples import SAMPLES, quick, with_model

PRESETS = {
    "logic-rrnet": "supervised RRNet",
    "logic-lstm": "LSTM",
    "logic-transformer": "transformer",
}
"""What their models are called."""


Run = tuple[LoadedRun, dict[str, Any]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run of an RRNet on its own copy of the sample, and its result."""
    folder = tmp_path_factory.mktemp("logic")
    shutil.copytree(SAMPLES / "lrt", folder / "data" / "lrt")
    settings = quick("logic-rrnet", {"limit": None, "root": str(folder / "data")}, epochs=2)
    result = train(with_model(settings, hidden_size=6, embedding=4), folder / "run")
    return load(folder / "run"), result


def test_what_is_held_out_is_tested(run: Run) -> None:
    loaded, result = run
    report = loaded.evaluate()
    assert report == result["test"]
    assert report["examples"] == loaded.metadata["examples"]["valid"] == 13
    assert set(report["accuracy_by_operators"]) <= {*map(str, range(12)), "12+"}


def test_a_test_file_goes_before_what_is_held_out(run: Run) -> None:
    assert run[0].evaluate(test=str(SAMPLES / "lrt" / "test3"))["examples"] == 4


def test_what_was_held_out_of_other_files_is_unknown(run: Run, tmp_path: Path) -> None:
    loaded, result = run
    shutil.copytree(SAMPLES / "lrt", tmp_path / "lrt")
    assert loaded.evaluate(root=str(tmp_path)) == result["test"]
    with open(tmp_path / "lrt" / "train3", "a", encoding="utf-8") as file:
        file.write("=\ta\ta\n")
    with pytest.raises(ConfigError, match=r"data file train3 \(data\.train\) has changed"):
        loaded.evaluate(root=str(tmp_path))


@pytest.mark.parametrize(
    ("fraction", "message"),
    [
        (0.0, "expected test files, got none"),
        (0.001, r"0\.001 of the training examples is less than one"),
    ],
)
def test_a_run_without_test_examples_says_so(tmp_path: Path, fraction: float, message: str) -> None:
    train(quick("logic-rrnet", {"test_fraction": fraction}), tmp_path / "run")
    with pytest.raises(ConfigError, match=message):
        load(tmp_path / "run").evaluate()


def built(preset: str, **model: Any) -> tuple[Task, nn.Module, Splits]:
    settings = quick(preset)
    task, parts = settings.task, load_splits(settings.task, settings.data)
    options = {**settings.model, **model}
    if "max_children" in options:
        options["max_children"] = task.max_children
    return task, build(task, parts.train, **options), parts


def test_the_presets_have_about_as_many_parameters() -> None:
    counts = [task.parameters(model)["model"] for task, model, _ in map(built, PRESETS)]
    assert max(counts) < 1.05 * min(counts)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_batch_equals_its_pairs(preset: str) -> None:
    assert_equals_its_pairs(preset)


def assert_equals_its_pairs(preset: str) -> None:
    task, model, parts = built(preset, hidden_size=8)
    model.double().eval()
    ids = np.arange(len(parts.train))
    with torch.no_grad():
        together = task.outputs(model, *task.batch(parts.train, ids))
        alone = [task.outputs(model, *task.batch(parts.train, ids[i : i + 1])) for i in ids]
    for name, column in together.items():
        pairs = torch.cat([outputs[name] for outputs in alone])
        torch.testing.assert_close(column, pairs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("preset", PRESETS)
def test_models_have_names(preset: str) -> None:
    settings = quick(preset)
    assert settings.task.display_name(settings.model) == PRESETS[preset]
