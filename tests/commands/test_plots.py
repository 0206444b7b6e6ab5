import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from dgltrees.commands import plots
from dgltrees.errors import ConfigError
from dgltrees.tasks.files import ROLES
from dgltrees.tasks.task import ACCURACY, Metric
from dgltrees.training.rundir import FORMAT, RunDirectory

Line = dict[str, float]


def run_folder(folder: Path, lines: Sequence[Line]) -> Path:
    """A run directory with these lines of metrics."""
    run = RunDirectory(folder)
    files: dict[str, Any] = {role: [] for role in ROLES}
    run.write_values("run.json", {"format": FORMAT, "files": files, "majority": {}, "sha256": {}})
    run.write_metrics([*lines])
    return folder


def epochs(count: int, **metrics: float) -> list[Line]:
    """Lines of metrics, each value times the number of its epoch."""
    return [
        {"epoch": e, **{name: value * e for name, value in metrics.items()}}
        for e in range(1, count + 1)
    ]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that are saved, which are not written."""
    saved: list[Figure] = []
    monkeypatch.setattr(plots, "save_figure", lambda figure, path: saved.append(figure))
    return saved


@pytest.mark.parametrize(
    ("lines", "options", "labels"),
    [
        (epochs(2, train_loss=1), {}, ["loss (solid: training, dashed: validation)"]),
        (
            epochs(1, train_loss=1, valid_loss=2, valid_accuracy=0.1, valid_majority_accuracy=0.1),
            {},
            [
                "loss (solid: training, dashed: validation)",
                "validation accuracy (dotted: majority accuracy)",
            ],
        ),
        (
            epochs(2, train_loss=-1, valid_loss=2, valid_word_perplexity=7, valid_accuracy=0.1),
            {"separate_losses": True},
            ["training loss (solid)", "validation word perplexity", "validation loss (dashed)"],
        ),
    ],
    ids=["no validation", "one epoch", "a policy"],
)
def test_axes_of_a_learning_curve(
    tmp_path: Path,
    figures: list[Figure],
    lines: list[Line],
    options: dict[str, Any],
    labels: list[str],
) -> None:
    run = run_folder(tmp_path / "run", lines)
    metrics = [Metric("f1"), Metric("word_perplexity"), ACCURACY]
    plots.learning_curve([run], tmp_path / "curve.png", metrics, **options)
    axes = figures[0].axes
    assert [each.get_ylabel() for each in axes] == labels
    curves = [line for each in axes for line in each.lines if line.get_linestyle() != ":"]
    assert {line.get_marker() for line in curves if np.size(line.get_xdata())} == {
        "o" if len(lines) == 1 else ""
    }


def test_learning_curves_of_runs_with_and_without_validation(
    tmp_path: Path, figures: list[Figure]
) -> None:
    lines = epochs(3, train_loss=1, valid_loss=2, valid_accuracy=0.1)
    for seed, history in enumerate((lines, epochs(2, train_loss=1))):
        run_folder(tmp_path / f"seed-{seed}", history)
    plots.learning_curve(sorted(tmp_path.iterdir()), tmp_path / "curve.png", [ACCURACY])
    losses, accuracies = figures[0].axes
    assert [np.size(line.get_xdata()) for line in losses.lines] == [3, 3, 2, 0]
    assert [np.size(line.get_xdata()) for line in accuracies.lines] == [3, 0]


def test_a_metric_against_parameters(tmp_path: Path, figures: list[Figure]) -> None:
    f1 = {"f1": {"mean": 0.5, "deviation": 0.1}}
    rows = [{"group": name, "parameters": n, **f1} for name, n in zip("aba", (30, 20, 10))]
    plots.metric_against_parameters(rows, Metric("f1", label="F1"), tmp_path / "f1.png")
    (axes,) = figures[0].axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("parameters of the cell", "validation F1")
    lines: Any = {each.get_label(): each[0].get_xdata().tolist() for each in axes.containers}
    assert lines == {"a": [10, 30], "b": [20]}


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_the_ending_is_the_format(tmp_path: Path, ending: str, start: bytes) -> None:
    path = tmp_path / f"curve.{ending}"
    plots.learning_curve([run_folder(tmp_path / "a", epochs(1, train_loss=1))], path, [])
    assert path.read_bytes().startswith(start)


def test_no_epochs(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(ConfigError, match=r"at least one epoch, got \['a'\]"):
        plots.learning_curve([tmp_path / "a"], tmp_path / "curve.png", [ACCURACY])
    assert not (tmp_path / "curve.png").exists()


def test_without_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_folder(tmp_path / "a", epochs(1, train_loss=1))
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(plots, "find_spec", lambda n: None if n == "matplotlib" else find_spec(n))
    plots.learning_curve([run], tmp_path / "curve.png", [ACCURACY])
    assert not (tmp_path / "curve.png").exists()
    assert "pip install 'dgltrees[plots]'" in capsys.readouterr().err
