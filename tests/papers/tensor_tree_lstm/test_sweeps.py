"""Points of a sweep whose parameters are counted as the paper does."""

from __future__ import annotations

from pathlib import Path

import pytest

from dgltrees.commands import sweeps
from dgltrees.commands.sweeps import ONE_AGGREGATION, THE_CELL, Point, run_points
from dgltrees.errors import ConfigError
from tests.training.samples import quick, with_model


def test_points_are_compared_by_the_monitored_metric_and_one_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the cells of both points the paper counts one."""
    cells = [{"cell": "lstm"}, {"cell": "child_sum"}, {"cell": "s_lstm"}]
    small = {"hidden_size": 3}
    points = [
        Point(each["cell"], with_model(quick("inex", monitor="loss"), **{**each, **small}))
        for each in cells
    ]
    summary = {"valid": {"loss": {"mean": 1.5, "deviation": 0.5}, "accuracy": {}, "majority": {}}}
    monkeypatch.setattr(sweeps, "train_seeds", lambda *_: summary)
    rows = run_points(points[:2], [0], tmp_path)
    assert [row["parameters"] for row in rows] == [3**2, 3**2]
    assert {row["parameters_of"] for row in rows} == {ONE_AGGREGATION}
    rows = run_points(points, [0], tmp_path / "all")
    assert [row["parameters"] for row in rows] == [row["cell_parameters"] for row in rows]
    assert {row["parameters_of"] for row in rows} == {THE_CELL}
    assert all("accuracy" not in row and "majority" not in row for row in rows)
    assert "  1.50 ±  0.50\n" in (tmp_path / "all" / "table.txt").read_text()
    (tmp_path / "all" / "lstm").mkdir()
    (tmp_path / "all" / "lstm" / "run.json").touch()
    rows = run_points(points[1:], [0], tmp_path / "all")  # behind those of other sweeps
    assert [row["name"] for row in rows] == ["lstm", "child_sum", "s_lstm"]
    assert len((tmp_path / "all" / "table.txt").read_text().splitlines()) == 4
    with pytest.raises(ConfigError, match=r"table.json has points that are not compared by loss"):
        run_points(points[:2], [0], tmp_path / "all")
    points[0] = Point("lstm", quick("inex"))
    with pytest.raises(ConfigError, match=r"one metric, got accuracy and loss; set training.monit"):
        run_points(points, [0], tmp_path / "new")
