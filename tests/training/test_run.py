import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.utils.data import DataLoader

from dgltrees.commands.sweeps import run_points
from dgltrees.errors import ConfigError, TreeError
from dgltrees.settings.tasks import TASKS
from dgltrees.tasks.task import LOSS, Metric
from dgltrees.training import TrainedModel, load
from dgltrees.training import run as run_module
from dgltrees.training.run import train, train_seeds
from tests.training.samples import PLANS_FILE, quick, with_model

_TEST = str(PLANS_FILE)


Run = tuple[TrainedModel, dict[str, Any]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run on plans, and its result."""
    path = tmp_path_factory.mktemp("runs") / "plans"
    settings = quick("classify", {"test": _TEST}, epochs=3)
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
        "schema.json",
        "weights.safetensors",
        "metrics.jsonl",
        "resume.safetensors",
        "resume.previous.safetensors",
        "resume.json",
        "result.json",
    }
    lines = loaded.directory.metrics()
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    best = lines[result["best_epoch"] - 1]
    assert result["valid"]["accuracy"] == best["valid_accuracy"]
    assert loaded.metadata["files"]["train"][0]["name"] == "train.jsonl"
    classes = (path / "vocabulary" / "target.txt").read_text().splitlines()[1:]
    assert classes == ['"fast"', '"slow"']


def test_seeds_are_summed_up(tmp_path: Path) -> None:
    settings = with_model(quick("classify"), hidden_size=4)
    summary = train_seeds(settings, tmp_path, [3, 5])
    runs = [json.loads((tmp_path / f"seed-{s}" / "result.json").read_text()) for s in (3, 5)]
    losses = [r["valid"]["loss"] for r in runs]
    assert losses[0] != losses[1]
    spread = abs(losses[0] - losses[1]) / 2**0.5  # the sample deviation of two numbers
    expected = {"mean": sum(losses) / 2, "deviation": spread, "runs": 2}
    assert summary["valid"]["loss"] == pytest.approx(expected)
    assert json.loads((tmp_path / "summary.json").read_text()) == summary


def test_metrics_that_a_seed_lacks_are_left_out_of_the_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As r2_log is, if one number is not positive."""
    each = iter([{"loss": 1.0, "r2_log": 0.5}, {"loss": 3.0}] * 2)
    result = {"parameters": {}, "test": {}}
    monkeypatch.setattr(run_module, "train", lambda *_, **__: {**result, "valid": next(each)})
    for seeds in ([1, 2], [2, 1]):
        summary = train_seeds(quick("classify"), tmp_path / str(seeds[0]), seeds)
        assert list(summary["valid"]) == ["loss"]
        assert summary["valid"]["loss"]["mean"] == 2
    each = iter([{"loss": 1.0}])
    alone = train_seeds(quick("classify"), tmp_path / "alone", [4])
    assert alone["valid"]["loss"] == {"mean": 1.0, "deviation": 0.0, "runs": 1}


def test_several_runs_go_into_no_folder_of_something_else(tmp_path: Path) -> None:
    settings = quick("classify", epochs=1)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "summary.json").write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    for name, message in (
        ("mine", "mine exists and contains no runs"),
        ("run", "got the run .*run;"),
    ):
        with pytest.raises(ConfigError, match=message):
            train_seeds(settings, tmp_path / name, [0])
        with pytest.raises(ConfigError, match=message):
            run_points([("a", settings)], [0], tmp_path / name)
    assert (tmp_path / "mine" / "summary.json").read_text() == "mine"
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["summary.json"]


def test_a_summed_loss_has_the_gradient_of_the_mean_times_the_rows(tmp_path: Path) -> None:
    """36 examples in batches of 6: a gradient step of the sum is one of six times the rate."""
    runs = []
    for reduction, lr in (("mean", 0.06), ("sum", 0.01)):
        loop = {"optimizer": "sgd", "lr": lr, "max_grad_norm": None, "batch_size": 6}
        settings = quick("classify", loss_reduction=reduction, epochs=2, **loop)
        train(settings, tmp_path / reduction)
        runs.append(load_file(tmp_path / reduction / "weights.safetensors"))
    torch.testing.assert_close(*runs)


def test_batches_without_targets_do_not_lower_the_training_loss(tmp_path: Path) -> None:
    trees = [{"x": k, "children": [{"x": k}]} for k in range(30)]
    trees += [{"x": k, "children": [{"x": k, "kind": "ab"[k % 2]}]} for k in range(4)]
    (tmp_path / "trees.jsonl").write_text("\n".join(map(json.dumps, trees)))
    data = {"train": str(tmp_path / "trees.jsonl"), "target": "kind", "valid_fraction": 0.0}
    losses = []
    for size in (1, len(trees)):
        run = tmp_path / str(size)
        train(quick("classify-nodes", data, batch_size=size, lr=1e-30), run)
        losses.append(load(run).directory.metrics()[0]["train_loss"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_patience_ends_training(tmp_path: Path) -> None:
    settings = quick("classify", lr=1e-30, epochs=50, patience=2, keep="best")
    train(settings, tmp_path / "run")
    lines = load(tmp_path / "run").directory.metrics()
    assert len(lines) == 3  # the first is the best, two more do not better it


@pytest.mark.parametrize(("keep", "kept"), [("best", 1), ("last", 3)])
def test_the_best_or_the_last_epoch_is_kept(
    tmp_path: Path, keep: str, kept: int, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = quick("classify", lr=1e-30, epochs=3, keep=keep)  # no epoch is better than the first
    assert train(settings, tmp_path / "run")["best_epoch"] == kept
    text = capsys.readouterr().err
    assert f"epoch {kept} is {'kept, the last' if keep == 'last' else 'the best'}" in text
    assert ["*" in line for line in text.splitlines() if " loss " in line][:3] == [
        True,
        False,
        False,
    ]


def test_without_validation_the_last_epoch_counts(tmp_path: Path) -> None:
    result = train(quick("classify", {"valid_fraction": 0.0}, epochs=2), tmp_path / "run")
    assert result["best_epoch"] == 2
    assert "valid" not in result


@pytest.mark.parametrize(
    ("lr", "message"),
    [
        (3e38, r"training loss is (nan|inf) .*lower training.lr"),
        (1e12, r"mean training loss is .* in epoch 1, step \d+: .*lower training.lr"),
    ],
)
def test_a_loss_that_teaches_nothing_is_an_error(lr: float, message: str, tmp_path: Path) -> None:
    settings = quick("classify-nodes", optimizer="sgd", lr=lr)
    with pytest.raises(ConfigError, match=message):
        train(with_model(settings, hidden_size=4), tmp_path / "run")


@pytest.mark.parametrize(
    ("data", "training", "error", "message"),
    [
        ({"train": "none.jsonl"}, {}, ConfigError, "data.train to name a file, found none at"),
        ({"max_train_examples": 1, "valid_fraction": 0.9}, {}, ConfigError, "missing training ex"),
        ({"train": "sst/train.txt", "format": "jsonl"}, {}, TreeError, "train.txt:1"),
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
        train(quick("classify", data, **training), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_misspelt_metric_is_the_task_s_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = replace(TASKS["classify"], metrics=(Metric("acuracy"), LOSS))
    monkeypatch.setitem(TASKS, "classify", task)
    message = "the task classify to report its first metric 'acuracy' .*; did you mean accuracy"
    with pytest.raises(ConfigError, match=message):
        train(quick("classify", monitor=None), tmp_path / "run", bar=False)


def test_workers_that_cannot_start_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(loader: Any) -> Any:
        raise EOFError

    monkeypatch.setattr(DataLoader, "__iter__", fail)
    with pytest.raises(ConfigError, match="start 2 processes for training.num_workers .EOFErro"):
        train(quick("classify", num_workers=2), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_majority_of_another_task_is_damage(run: Run) -> None:
    loaded = load(run[0].directory.path)
    loaded.metadata["majority"].clear()
    with pytest.raises(ConfigError, match="run.json at .* its majority has no 'root'"):
        loaded.evaluate(_TEST)


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
    assert repr(loaded) == f"TrainedModel({path!r}, task='classify', model='child_sum')"
