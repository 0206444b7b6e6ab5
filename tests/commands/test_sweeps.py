"""Grids of settings, and the table of their results."""

from pathlib import Path
from typing import Any

import pytest

from dgltrees.commands import sweeps
from dgltrees.commands.sweeps import combinations, run_points, table
from dgltrees.errors import ConfigError
from dgltrees.tasks.task import ACCURACY, PERPLEXITY, Metric
from tests.training.samples import quick, with_model


def test_a_grid_is_a_product() -> None:
    assert combinations(["model.rank=3,5", "training.lr=0.1"]) == [
        (["rank_3", "lr_0.1"], {"model.rank": ["3"], "training.lr": ["0.1"]}),
        (["rank_5", "lr_0.1"], {"model.rank": ["5"], "training.lr": ["0.1"]}),
    ]
    ((name, _),) = combinations(["data.train=../a\\\\b"])
    assert name == ["train_.._a__b"]
    assert combinations([]) == [([], {})]
    for wrong in ("model.rank", "model.rank=", "model.rank=3,,5"):
        with pytest.raises(ConfigError, match="SETTING=VALUE,VALUE"):
            combinations([wrong])


@pytest.mark.parametrize(
    ("metric", "values", "words"),
    [
        (
            ACCURACY,
            {
                "accuracy": {"mean": 0.5716, "deviation": 0.0025},
                "majority_accuracy": {"mean": 0.531},
            },
            ["57.16", "±", "0.25", "53.10"],
        ),
        (
            PERPLEXITY,
            {"perplexity": {"mean": 91.234, "deviation": 1.5}, "test": {"mean": 95.0}},
            ["91.23", "±", "1.50", "test", "95.00"],
        ),
    ],
)
def test_the_table_shows_mean_and_deviation(
    metric: Metric, values: dict[str, Any], words: list[str]
) -> None:
    head, line = table([{"name": "run", "parameters": 1234, **values}], metric).splitlines()
    assert head.split()[:2] == ["parameters", metric.name]
    assert line.split() == ["run", "1,234", *words]


def test_points_are_compared_by_the_monitored_metric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = [
        (cell, with_model(quick("classify", monitor="macro_f1"), cell=cell, hidden_size=3))
        for cell in ("child_sum", "nary", "gru")
    ]
    summary = {"valid": {"macro_f1": {"mean": 0.015, "deviation": 0.005}, "accuracy": {}}}
    monkeypatch.setattr(sweeps, "train_seeds", lambda *_: summary)
    rows = run_points(points, [0], tmp_path / "all")
    assert all(row["parameters"] > 0 for row in rows)
    assert all("accuracy" not in row and "majority_accuracy" not in row for row in rows)
    assert "  1.50 ±  0.50\n" in (tmp_path / "all" / "table.txt").read_text()
    (tmp_path / "all" / "child_sum").mkdir()
    (tmp_path / "all" / "child_sum" / "run.json").touch()
    rows = run_points(points[1:], [0], tmp_path / "all")  # behind those of other sweeps
    assert [row["name"] for row in rows] == ["child_sum", "nary", "gru"]
    assert len((tmp_path / "all" / "table.txt").read_text().splitlines()) == 4
    seeds: list[Any] = []
    summary["test"] = {"accuracy": {}}
    monkeypatch.setattr(sweeps, "train_seeds", lambda _, out, each: seeds.append(each) or summary)
    seeded = [(name, settings.replace("training", seed=7)) for name, settings in points]
    rows = run_points(seeded, None, tmp_path / "seeded")
    assert seeds == [[7]] * 3
    assert all("test" not in row for row in rows)  # its examples lack the metric
    points[0] = ("child_sum", quick("classify", monitor="accuracy"))
    with pytest.raises(ConfigError, match="table.json to be compared by accuracy, got others; use"):
        run_points(points[:1], [0], tmp_path / "all")
    with pytest.raises(
        ConfigError,
        match=r"one metric to compare by, got accuracy and macro_f1; set training.monit",
    ):
        run_points(points, [0], tmp_path / "new")
