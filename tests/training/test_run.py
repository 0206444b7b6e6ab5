from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees.errors import ConfigError, TreeError
from dgltrees.tasks.table import TASKS
from dgltrees.tasks.task import LOSS, Metric
from dgltrees.training.loaded import LoadedRun, load
from dgltrees.training.run import train, train_seeds
from tests.training.samples import SAMPLES, quick, with_model

_TEST = str(SAMPLES / "listops" / "test.tsv")


Run = tuple[LoadedRun, dict[str, Any]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run on ListOps, and its result."""
    path = tmp_path_factory.mktemp("runs") / "listops"
    settings = quick("listops-sum-c25", {"test": _TEST}, epochs=3)
    result = train(with_model(settings, hidden_size=8), path)
    return load(path), result


def test_a_run_directory_holds_what_it_should(run: Run) -> None:
    loaded, result = run
    path = loaded.directory.path
    names = {p.name for p in path.iterdir()}
    assert names == {
        "run.json",
        "config.yaml",
        "vocabulary",
        "weights.safetensors",
        "metrics.jsonl",
        "resume.safetensors",
        "resume.json",
        "result.json",
    }
    lines = loaded.directory.metrics()
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    best = lines[result["best_epoch"] - 1]
    assert result["valid"]["accuracy"] == best["valid_accuracy"]
    assert result["valid"]["accuracy"] == max(line["valid_accuracy"] for line in lines)
    assert loaded.metadata["files"]["train"][0]["name"] == "train.tsv"
    names_of_operators = (path / "vocabulary" / "op.txt").read_text().splitlines()[1:]
    assert names_of_operators == ['"MAX"', '"MED"', '"MIN"', '"SM"']


def test_evaluation_gives_the_result_of_the_run(run: Run) -> None:
    loaded, result = run
    report = loaded.evaluate(test=_TEST)
    assert report == result["test"] == loaded.evaluate()
    assert set(report) == {"accuracy", "loss", "examples", "majority"}
    assert report["examples"] == 40


def test_predictions_have_the_accuracy_of_the_evaluation(run: Run) -> None:
    loaded, result = run
    lines = list(loaded.predict([_TEST]))
    with open(_TEST, encoding="utf-8") as file:
        targets = [line.split("\t")[0] for line in file]
    right = sum(line["prediction"] == target for line, target in zip(lines, targets))
    assert right / len(targets) == result["test"]["accuracy"]
    assert [line["example"] for line in lines] == list(range(40))
    assert all(0.1 <= line["probability"] <= 1 for line in lines)


def test_a_tree_is_encoded_by_a_vector_of_its_own(run: Run, tmp_path: Path) -> None:
    loaded, _ = run
    vectors = loaded.encode([_TEST])
    assert vectors.shape == (40, 8)
    with open(_TEST, encoding="utf-8") as file:
        (tmp_path / "last.tsv").write_text(list(file)[-1], encoding="utf-8")
    assert loaded.encode([tmp_path / "last.tsv"])[0] == pytest.approx(vectors[-1], abs=1e-6)


def test_logic_learns_from_simple_pairs_and_is_reported_by_operators(tmp_path: Path) -> None:
    train(quick("lrt-sum-c5", {"limit": None}), tmp_path / "run")
    loaded = load(tmp_path / "run")
    examples = loaded.metadata["examples"]
    assert examples["valid"] == 13  # a tenth of 130 pairs of 0 to 12 operators
    assert examples["train"] <= 50  # at most 4 operators: the first five of 13 files of 10
    report = loaded.evaluate(test=[str(SAMPLES / "lrt" / f"test{n}") for n in (0, 3, 12)])
    by_operators = report["accuracy_by_operators"]
    assert list(by_operators) == ["0", "3", "12+"]
    mean = sum(by_operators.values()) / 3  # as many examples in each file
    assert report["accuracy"] == pytest.approx(mean)


def test_nodes_are_reported_beside_roots(tmp_path: Path) -> None:
    result = train(quick("sst-tree"), tmp_path / "run")["valid"]
    assert {"root_accuracy", "node_accuracy", "node_majority", "nodes"} <= set(result)
    assert result["accuracy"] == result["root_accuracy"]
    line = next(load(tmp_path / "run").predict([SAMPLES / "sst" / "dev.txt"]))
    assert line["prediction"] in line["nodes"]


def test_seeds_are_summed_up(tmp_path: Path) -> None:
    settings = with_model(quick("listops-sum-c25"), hidden_size=4)
    summary = train_seeds(settings, tmp_path, [3, 5])
    runs = [json.loads((tmp_path / f"seed-{s}" / "result.json").read_text()) for s in (3, 5)]
    losses = [r["valid"]["loss"] for r in runs]
    assert losses[0] != losses[1]
    assert summary["valid"]["loss"]["mean"] == pytest.approx(sum(losses) / 2)
    assert summary["valid"]["loss"]["runs"] == 2
    assert json.loads((tmp_path / "summary.json").read_text()) == summary


def test_patience_ends_training(tmp_path: Path) -> None:
    settings = quick("listops-sum-c25", lr=1e-30, epochs=50, patience=2)
    train(settings, tmp_path / "run")
    lines = load(tmp_path / "run").directory.metrics()
    assert len(lines) == 3  # the first is the best, two more do not better it


def test_without_validation_the_last_epoch_counts(tmp_path: Path) -> None:
    result = train(quick("listops-sum-c25", {"valid_fraction": 0.0}, epochs=2), tmp_path / "run")
    assert result["best_epoch"] == 2
    assert result["valid"] == {}


@pytest.mark.parametrize(
    ("lr", "message"),
    [
        (math.inf, r"training loss is nan .*lower training.lr"),
        (1e12, r"loss has grown to a mean of .* in epoch 1, by step \d+, .*lower training.lr"),
    ],
)
def test_a_loss_that_teaches_nothing_is_an_error(lr: float, message: str, tmp_path: Path) -> None:
    settings = quick("sst-tree", optimizer="sgd", lr=lr)
    with pytest.raises(ConfigError, match=message):
        train(with_model(settings, hidden_size=4), tmp_path / "run")


@pytest.mark.parametrize(
    ("data", "training", "error", "message"),
    [
        ({"train": "none.tsv"}, {}, ConfigError, "data.train to name a file, found none at"),
        ({"limit": 1, "valid_fraction": 0.9}, {}, ConfigError, "no training examples are left"),
        ({"train": "lrt/train2"}, {}, TreeError, "train2:1"),
        ({}, {"accelerator": "tpuu"}, ConfigError, "tpuu"),
        ({}, {"optimizer": "adm"}, ConfigError, "one of adadelta, .*got 'adm'"),
    ],
)
def test_what_cannot_be_used_leaves_nothing_behind(
    tmp_path: Path,
    data: dict[str, Any],
    training: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        train(quick("listops-sum-c25", data, **training), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_task_with_operators_needs_a_cell_with_operators(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="model.cell nary has no argument 'operators'.* lstm"):
        train(with_model(quick("listops-sum-c25"), cell="nary"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_more_children_than_the_model_has_places_for_are_refused(tmp_path: Path) -> None:
    wide = tmp_path / "wide.txt"
    wide.write_text("1:354(364($))\n2:354(" + "364($) " * 60 + ")\n")
    settings = quick("inex", {"limit": None})
    train(settings, tmp_path / "bounded")
    message = r"wide.txt: tree 1, node 0: expected at most 32 children, .*got one at position 32"
    with pytest.raises(TreeError, match=message):
        load(tmp_path / "bounded").evaluate(test=str(wide))
    with pytest.raises(TreeError, match=message):
        train(quick("inex", {"valid": str(wide)}), tmp_path / "valid")
    assert not (tmp_path / "valid").exists()
    train(with_model(settings, cell="child_sum"), tmp_path / "free")
    assert load(tmp_path / "free").evaluate(test=str(wide))["examples"] == 2


def test_a_misspelt_metric_is_the_task_s_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = replace(TASKS["listops"], metrics=(Metric("acuracy"), LOSS))
    monkeypatch.setitem(TASKS, "listops", task)
    message = "the task listops to report 'acuracy', its first .*; did you mean accuracy"
    with pytest.raises(ConfigError, match=message):
        train(quick("listops-sum-c25"), tmp_path / "run", bar=False)


def test_files_are_one_path_or_several_and_read_at_the_call(run: Run) -> None:
    loaded, _ = run
    lines = list(loaded.predict([_TEST]))
    assert list(loaded.predict(_TEST)) == list(loaded.predict(Path(_TEST))) == lines
    assert np.array_equal(loaded.encode(_TEST), loaded.encode([_TEST]))
    with pytest.raises(ConfigError, match="^expected files to name a file, found none at .*/none"):
        loaded.predict("none")  # before the first line is asked for


def test_a_run_says_what_it_is(run: Run) -> None:
    loaded, _ = run
    path = str(loaded.directory.path)
    assert repr(loaded) == f"LoadedRun({path!r}, task='listops', model='sum lstm')"
