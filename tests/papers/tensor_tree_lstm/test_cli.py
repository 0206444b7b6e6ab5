"""Commands on the runs and presets of the paper."""

import re
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from dgltrees.cli import main
from dgltrees.commands import plots
from dgltrees.errors import ConfigError
from dgltrees.papers.tensor_tree_lstm.commands import Lines, line_of
from dgltrees.papers.tensor_tree_lstm.data.generate_listops import make_listops
from dgltrees.papers.tensor_tree_lstm.demo import run_demo
from tests.test_cli import Capture, fails
from tests.training.samples import SAMPLES

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


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ("model", ["sum", "hosvd"]),
        ("rank", ["sum", "hosvd, rank 1 of 2", "hosvd, rank 2 of 2"]),
        ("hidden_size", ["sum", "hosvd, hidden_size 10", "hosvd, hidden_size 20"]),
    ],
)
def test_a_line_for_each_rank_or_size(lines: Lines, names: list[str]) -> None:
    """Each hidden size has other ranks."""
    grid = [("sum", 10, None), ("sum", 20, None)]
    grid += [("hosvd", c, r) for c, rs in {10: (3, 5), 20: (5, 10)}.items() for r in rs]
    rows = [{"group": group, "hidden_size": c, "rank": r} for group, c, r in grid]
    assert [*dict.fromkeys(line_of(row, rows, lines) for row in rows)] == names


def test_a_sweep_is_plotted_against_the_parameters_of_one_aggregation(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[Figure] = []
    monkeypatch.setattr(plots, "save_figure", lambda figure, path: saved.append(figure))
    argv = ["sweep", "listops-sum-c25", "listops-hosvd-c10-r3", "--data.dir", str(SAMPLES)]
    quick = ["--training.epochs=1", "--data.max_train_examples=30"]
    grid = ["--grid", "model.hidden_size=3,5", "--out", str(tmp_path / "sweep")]
    assert main([*argv, *quick, *grid]) == 0
    assert main(["plot-aggregators", str(tmp_path / "sweep"), "--lines", "hidden_size"]) == 0
    axes = saved[-1].axes[0]
    assert axes.get_xlabel() == "parameters of one aggregation"
    lines: Any = [each[0].get_xdata().tolist() for each in axes.containers]
    assert lines[0] == [5 * 3**2, 5 * 5**2]
    assert len(lines) == 3
    capsys.readouterr()
    assert "expected a folder that dgltrees sweep wrote" in fails(
        capsys, "plot-aggregators", str(tmp_path)
    )


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


def test_the_demonstration_takes_no_other_data(tmp_path: Path, capsys: Capture) -> None:
    make_listops(tmp_path / "listops", train=20, valid=0, test=5)
    with pytest.raises(ConfigError, match=re.escape(f"data in {tmp_path / 'listops'}, got others")):
        run_demo(tmp_path)
    assert capsys.readouterr().out == ""
