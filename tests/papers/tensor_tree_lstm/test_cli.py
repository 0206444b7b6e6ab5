"""Commands on the runs and presets of the paper."""

import json
import re
from pathlib import Path

import pytest

from dgltrees.cli import main
from dgltrees.commands import sweeps
from dgltrees.commands.sweeps import ONE_AGGREGATION, THE_CELL, run_points
from dgltrees.errors import ConfigError
from dgltrees.papers.tensor_tree_lstm.data.generate_listops import make_listops
from dgltrees.papers.tensor_tree_lstm.demo import run_demo
from tests.test_cli import Capture, fails
from tests.training.samples import SAMPLES, quick, with_model

_DATA = SAMPLES / "listops"
_QUICK = ["--model.hidden_size=4", "--training.epochs=1", "--training.accelerator=cpu"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "run"
    argv = ["train", "listops-sum-c25", "--data.train", str(_DATA / "train.tsv"), *_QUICK]
    assert main([*argv, "--out", str(path)]) == 0
    return path


def test_a_file_of_another_task(capsys: Capture, run: Path) -> None:
    pairs = SAMPLES / "lrt" / "train2"
    message = fails(capsys, "evaluate", str(run), "--test", str(pairs))
    assert f"{pairs}:1: expected " in message
    assert "(the task listops expects: ListOps, a line per example: value TAB expr" in message


def test_predict_names_the_formats_of_the_task(capsys: Capture, run: Path) -> None:
    message = fails(
        capsys, "predict", str(run), "--input", str(_DATA / "test.tsv"), "--format", "jsonl"
    )
    assert "expected a format of the task listops, listops, got 'jsonl'" in message


def test_a_run_of_another_task_is_told_before_its_files(
    capsys: Capture, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    message = fails(capsys, "similar", str(run), "--input", "none", "--query", "a")
    assert re.search(r"expected .* at .*/run, got .*the task listops", message)
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_counts_the_parameters_of_one_aggregation(tmp_path: Path) -> None:
    argv = ["sweep", "listops-sum-c25", "listops-hosvd-c10-r3", "--data.dir", str(SAMPLES)]
    quick = ["--training.epochs=1", "--data.max_train_examples=30"]
    grid = ["--grid", "model.hidden_size=3,5", "--out", str(tmp_path)]
    assert main([*argv, *quick, *grid]) == 0
    rows = json.loads((tmp_path / "table.json").read_text())
    assert len(rows) == 4
    assert [row["parameters"] for row in rows[:2]] == [5 * 3**2, 5 * 5**2]


def test_settings_of_other_aggregators_and_tasks_are_refused(
    capsys: Capture, tmp_path: Path
) -> None:
    argv = ["train", "listops-sum-c25", "--data.dir", str(SAMPLES), *_QUICK]
    out = ["--out", str(tmp_path / "run")]
    for flag, message in (
        ("data.min_freq=0", "data.min_freq has no effect in the task listops"),
        ("model.rank=3", "model.rank has no effect with model.aggregator sum, but with hosvd"),
        ("model.hidden_size=1000000000", "over the limit of 4 GiB; choose a smaller hidden size"),
    ):
        assert message in fails(capsys, *argv, f"--{flag}", *out)
    assert not (tmp_path / "run").exists()


def test_points_are_compared_by_one_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the cells of both points the paper counts one."""
    cells = [{"cell": "lstm"}, {"cell": "child_sum"}, {"cell": "nti_lstm"}]
    small = {"hidden_size": 3, "operator_labels": "one_hot"}
    points = [
        (
            each["cell"],
            with_model(quick("listops-shared-sum-c25", monitor="loss"), **{**each, **small}),
        )
        for each in cells
    ]
    summary = {"valid": {"loss": {"mean": 1.5, "deviation": 0.5}}}
    monkeypatch.setattr(sweeps, "train_seeds", lambda *_: summary)
    rows = run_points(points[:2], [0], tmp_path)
    assert [row["parameters"] for row in rows] == [3**2, 3**2]
    assert {row["parameters_of"] for row in rows} == {ONE_AGGREGATION}
    rows = run_points(points, [0], tmp_path / "all")
    assert [row["parameters"] for row in rows] == [row["cell_parameters"] for row in rows]
    assert {row["parameters_of"] for row in rows} == {THE_CELL}
    (tmp_path / "all" / "lstm").mkdir()
    (tmp_path / "all" / "lstm" / "run.json").touch()
    with pytest.raises(ConfigError, match=r"table.json to be compared by loss and"):
        run_points(points[:2], [0], tmp_path / "all")


def test_the_demonstration_takes_no_other_data(tmp_path: Path, capsys: Capture) -> None:
    make_listops(tmp_path / "listops", train=20, valid=0, test=5)
    with pytest.raises(ConfigError, match=re.escape(f"data in {tmp_path / 'listops'}, got others")):
        run_demo(tmp_path)
    assert capsys.readouterr().out == ""
