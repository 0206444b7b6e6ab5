"""The benchmark's differences have the right errors, and its rows are YAML."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.benchmarks.custom_trees.__main__ import main
from tests.benchmarks.custom_trees.report import difference
from tests.benchmarks.custom_trees.test_data import small_imdb


def line(part: str, losses: Any, **more: Any) -> dict[str, Any]:
    return {"task": "t", "kind": "classes", "part": part, "losses": list(losses), **more}


def test_differences_over_folds() -> None:
    ours = [line("fold 0", [1.0, 3.0]), line("fold 1", [2.0])]
    theirs = [line("fold 1", [4.0]), line("fold 0", [2.0, 2.0]), line("fold 2", [9.0])]
    gain, error = difference(ours, theirs)  # 0 and -50 %
    assert (gain, error) == pytest.approx((-0.25, 0.25))


@pytest.mark.parametrize("size", [1, 5])
def test_errors_of_groups(size: int) -> None:
    """The errors are those of a ratio of sums over groups, by linearisation."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(100), size)
    theirs = rng.uniform(1, 2, len(group))
    ours = theirs * (1 + 0.3 * rng.standard_normal(100)[group])  # trees of a group err together
    more = {"groups": group.tolist()} if size > 1 else {}
    gain, error = difference([line("away", ours, **more)], [line("away", theirs, **more)])
    ratio = ours.sum() / theirs.sum()
    rest = np.bincount(group, ours - ratio * theirs)
    assert gain == pytest.approx(ratio - 1)
    assert error == pytest.approx(np.sqrt(np.square(rest).sum()) / theirs.sum(), rel=0.1)


def test_the_rows_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.jsonl"
    shared = ["imdb", "--data", str(small_imdb(tmp_path)), "--out", str(out), "--models"]
    main([*shared, "linear", "extra_trees", "--folds", "2"])
    assert "imdb folds 2 chosen" in " ".join(capsys.readouterr().out.split())
    main([*shared, "linear", "extra_trees", "--folds", "2", "--yaml"])
    first, *measured = yaml.safe_load(capsys.readouterr().out)
    lines = [json.loads(each) for each in out.read_text().splitlines()]
    assert len(lines) == 4
    best = [min(lines[k : k + 2], key=lambda r: r["inner"]) for k in (0, 2)]
    chosen = np.mean([np.sqrt(np.mean(each["losses"])) for each in best])
    assert first["folds"] == 2
    assert first["chosen"] == pytest.approx(chosen, abs=6e-4)
    assert [each["measure"] for each in measured] == ["spearman", "median", "95 %"]
    assert measured[1]["chosen"] == pytest.approx(np.mean([r["median"] for r in best]), abs=6e-4)
