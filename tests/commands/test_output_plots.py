"""Confusion of classes and predicted against true numbers, after a training."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from dgltrees.cli import main
from dgltrees.commands import output_plots, plots
from tests.training.samples import SAMPLES

PLANS = SAMPLES / "plans" / "train.jsonl"
QUICK = "--training.epochs 1 --model.hidden_size 4 --model.embedding 4 --data.baselines false"
LAYOUT = "--data.tree_path plan --data.children_key Plans"


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that are saved, which are not written."""
    saved: list[Figure] = []
    monkeypatch.setattr(output_plots, "save_figure", lambda figure, path: saved.append(figure))
    return saved


def test_a_confusion_counts_pairs_of_classes(figures: list[Figure]) -> None:
    true, predicted = np.array([0, 0, 0, 1]), np.array([0, 1, 1, 1])
    output_plots.confusion(true, predicted, ["a", "b"], Path("x.png"))
    axes = figures[0].axes[0]
    assert [text.get_text() for text in axes.texts] == ["0.33", "0.67", "0.00", "1.00"]
    np.testing.assert_allclose(axes.images[0].get_array(), [[1 / 3, 2 / 3], [0, 1]])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]


def test_the_most_frequent_of_many_classes_are_drawn(figures: list[Figure]) -> None:
    classes = np.concatenate([np.arange(40), np.arange(10, 40)])
    output_plots.confusion(classes, classes, [f"c{i}" for i in range(40)], Path("x.png"))
    axes = figures[0].axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == [f"c{i}" for i in range(10, 40)]
    assert not axes.texts


@pytest.mark.parametrize(
    ("true", "scale"), [([1.0, 2.0, np.nan], "linear"), ([1.0, 2.0, 3.0, 4.0, 900.0], "log")]
)
def test_a_point_for_each_number(figures: list[Figure], true: list[float], scale: str) -> None:
    values = np.stack([np.array(true)] * 2, 1)
    output_plots.predicted_against_true(values, values + 1, ["x", "y"], Path("x.png"))
    first = figures[0].axes[0]
    assert len(figures[0].axes) == 2
    points: Any = first.collections[0].get_offsets()
    known = [v for v in true if v == v]
    assert points.tolist() == [[v + 1, v] for v in known]
    assert (first.get_xscale(), first.get_yscale()) == (scale, scale)


@pytest.mark.parametrize(
    ("command", "pictures"),
    [
        ("classify --data.target speed", ["confusion.png"]),
        ("classify-nodes --data.target Table", ["confusion.png"]),
        ("regress --data.target seconds", ["predicted.png"]),
        ("regress --data.target seconds --seeds 0", ["predicted.png"]),
        ("regress --data.target seconds --data.test PLANS", ["predicted.png"]),
        ("regress --data.target seconds --data.valid_fraction 0", []),
    ],
)
def test_a_training_draws_what_its_model_says(
    tmp_path: Path, command: str, pictures: list[str]
) -> None:
    out = str(tmp_path / "run")
    words = f"train {command} --data.train PLANS {LAYOUT} {QUICK}".split()
    assert main([*(str(PLANS) if word == "PLANS" else word for word in words), "--out", out]) == 0
    folder = Path(out, "seed-0") if "--seeds" in command else Path(out)
    drawn = [path.name for path in folder.glob("*.png") if path.name != "curve.png"]
    assert drawn == pictures
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in drawn)


def test_without_matplotlib_one_line_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plots, "has_matplotlib", lambda: False)
    words = f"train regress --data.target seconds {LAYOUT} {QUICK} --data.train".split()
    assert main([*words, str(PLANS), "--out", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().err.count("no picture") == 1
    assert not list((tmp_path / "run").glob("*.png"))
