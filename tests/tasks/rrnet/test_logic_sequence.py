"""Logical relations read token by token, beside the task on their trees."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch

from dgltrees.errors import ConfigError
from dgltrees.tasks.settings import DataSettings
from dgltrees.tasks.splits import load_splits, vocabularies
from dgltrees.tasks.table import get_task
from dgltrees.training.run import evaluate, train
from dgltrees.trees.operations import Operation
from tests.training.samples import SAMPLES, quick, with_model

PRESETS = ("logic-rrnet", "logic-lstm", "logic-transformer", "logic-tree")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run of an RRNet on its own copy of the sample: directory, data and result."""
    folder = tmp_path_factory.mktemp("logic")
    shutil.copytree(SAMPLES / "lrt", folder / "data" / "lrt")
    settings = quick("logic-rrnet", {"limit": None, "root": str(folder / "data")}, epochs=2)
    return folder, train(with_model(settings, hidden_size=6, embedding=4), folder / "run")


def splits(task):
    """130 pairs: thirteen files of ten, with 0 to 12 operators."""
    settings = DataSettings(str(SAMPLES), "lrt/train*", test_part=0.2, max_operators=6)
    return load_splits(get_task(task), settings)


def test_both_tasks_split_in_the_same_way():
    trees, sequences = splits("logic"), splits("logic-sequence")
    for one, other in zip(trees.all, sequences.all):
        for column in ("target", "operators"):
            np.testing.assert_array_equal(one.columns[column], other.columns[column])
        leaves = other.forest.columns["op"] == Operation.RECUR  # brackets are no nodes of trees
        owner = other.forest.tree_of_node[leaves]
        np.testing.assert_array_equal(
            np.bincount(owner, minlength=len(other.forest)), one.forest.sizes
        )
    assert (len(sequences.valid), len(sequences.test)) == (13, 26)
    simple = sequences.train.columns["operators"]
    assert simple.max() <= 6
    assert len(simple) + 39 < 130
    assert sequences.test.columns["operators"].max() > 6


def test_what_is_kept_back_is_tested(run):
    folder, result = run
    report = evaluate(folder / "run")
    assert report == result["test"]
    assert report["examples"] == 13
    counts = report["accuracy_by_operators"]
    assert set(counts) <= {*map(str, range(12)), "12+"}
    about = json.loads((folder / "run" / "run.json").read_text())["examples"]
    assert about["valid"] == 13


def test_a_test_file_goes_before_what_is_kept_back(run):
    folder, _ = run
    assert evaluate(folder / "run", test=str(SAMPLES / "lrt" / "test3"))["examples"] == 4


def test_what_was_kept_back_of_other_files_is_not_known(run):
    folder, _ = run
    other = folder / "other"
    shutil.copytree(SAMPLES / "lrt", other / "lrt")
    assert evaluate(folder / "run", root=str(other)) == evaluate(folder / "run")
    with open(other / "lrt" / "train3", "a", encoding="utf-8") as file:
        file.write("=\ta\ta\n")
    with pytest.raises(ConfigError, match=r"data file train3 \(data\.train\) has changed"):
        evaluate(folder / "run", root=str(other))


def test_a_run_without_test_examples_says_so(tmp_path):
    settings = quick("lrt-sum-c3")
    train(settings, tmp_path / "none")
    with pytest.raises(ConfigError, match="expected test files, got none"):
        evaluate(tmp_path / "none")
    train(quick("lrt-sum-c3", {"test_part": 0.001}), tmp_path / "few")
    with pytest.raises(ConfigError, match=r"0\.001 of the training examples is less than one"):
        evaluate(tmp_path / "few")


def built(preset, **model):
    settings = with_model(quick(preset), **model)
    task = get_task(settings.task)
    parts = load_splits(task, settings.data, task.max_children)
    made = with_model(settings, max_children=task.max_children)
    torch.manual_seed(0)
    return task, task.build(made.model, vocabularies(parts.train)), parts


def test_the_presets_have_about_as_many_parameters():
    counts = [task.parameters(model)["model"] for task, model, _ in map(built, PRESETS)]
    assert max(counts) < 1.05 * min(counts)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_batch_equals_its_pairs(preset):
    task, model, parts = built(preset, hidden_size=8)
    model.double().eval()
    ids = np.arange(len(parts.train))
    with torch.no_grad():
        together = task.outputs(model, *task.batch(parts.train, ids))
        alone = [task.outputs(model, *task.batch(parts.train, ids[i : i + 1])) for i in ids]
    torch.testing.assert_close(together, torch.cat(alone, 1), rtol=1e-5, atol=1e-5)


def test_models_that_make_trees_beforehand_are_refused():
    with pytest.raises(ConfigError, match="rrnet, lstm, bilstm or transformer, got nti, which"):
        built("logic-rrnet", encoder="nti")


@pytest.mark.parametrize(
    ("preset", "kind"),
    [
        ("logic-rrnet", "supervised RRNet"),
        ("logic-lstm", "LSTM"),
        ("logic-transformer", "transformer"),
        ("logic-tree", "sum lstm"),
    ],
)
def test_models_have_names(preset, kind):
    settings = quick(preset)
    assert get_task(settings.task).kind(settings.model) == kind
