"""Curves have nested training trees, go on where they stopped, and refuse bad arguments."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.benchmarks.custom_trees import curve, data
from tests.benchmarks.custom_trees.test_data import small_imdb


def test_training_trees_are_nested(tmp_path: Path) -> None:
    task = data.imdb(small_imdb(tmp_path))
    splits = list(task.splits())
    found = list(curve.parts(task, [20, 30, 80, 160], None))
    assert [name for name, _, _ in found[::5]] == [f"{n} trees, fold 0" for n in (20, 30, 80)]
    for fold, (train, test) in enumerate(splits):
        small, middle, last = found[fold::5]
        assert [len(rows) for _, rows, _ in (small, middle)] == [20, 30]
        assert set(small[1]) < set(middle[1]) < set(last[1]) == set(train)
        assert all(np.array_equal(rows, test) for _, _, rows in (small, middle, last))


def test_curves_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = small_imdb(tmp_path), tmp_path / "out.jsonl"

    def run(*models: str) -> list[dict[str, Any]]:
        shared = ["imdb", "--data", str(folder), "--out", str(out), "--folds", "2"]
        shared += ["--sizes", "20", "40", "--plot", str(tmp_path / "curve.png"), "--models"]
        curve.main([*shared, *models])
        return [json.loads(line) for line in out.read_text().splitlines()]

    first = run("linear")
    lines = run("linear", "extra_trees")
    assert lines[:4] == first
    assert [line["model"] for line in lines[4:]] == ["extra_trees"] * 4
    curves = curve.points(lines)["imdb"]
    for k, size in enumerate((20, 40)):
        of_size = [line for line in lines if line["train"] == size]
        best = [
            min((line for line in of_size if line["part"] == part), key=lambda r: r["inner"])
            for part in (f"{size} trees, fold {fold}" for fold in range(2))
        ]
        losses = [np.sqrt(np.mean(line["losses"])) for line in best]
        error = abs(losses[0] - losses[1]) / 2  # the standard error of a mean of two
        np.testing.assert_allclose(curves["chosen"][k], (size, np.mean(losses), error))
    text = capsys.readouterr().out
    assert f"40 trees  {curves['linear'][1][1]:.4f}" in text
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")

    plans = folder / "plans/imdb_plans.csv"
    plans.write_text(plans.read_text().replace('Time"": ', 'Time"": 1'))
    with pytest.raises(SystemExit, match="has results of imdb, .*, with other examples; name a"):
        run("linear")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["inexx"], "expected a task, got inexx; choose from imdb, "),
        (["--models", "tree"], "expected a model, got tree; choose from linear, "),
        (["--folds", "-1"], "expected --folds of at least 1, got -1"),
        (["--sizes", "40", "5"], "expected --sizes of at least 20, got 5"),
        (["imdb"], "cannot read the data of imdb: .*imdb_plans.csv; see --data"),
        (["sick"], "cannot read the data of sick: .*SICK_scores_train.tsv.*; see --data"),
    ],
)
def test_bad_arguments(
    arguments: list[str], error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = ["--data", str(tmp_path), "--out", str(tmp_path / "out.jsonl")]
    with pytest.raises(SystemExit) as raised:
        curve.main([*arguments, *shared])
    said = str(raised.value) + capsys.readouterr().err
    assert re.search(error, said), said
