"""The parts of tasks share neither trees nor groups; planted bugs change the order alone."""

import ast
import copy
import csv
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dgltrees.trees.summary import equal_trees
from tests.benchmarks.custom_trees import data


def small_imdb(folder: Path, queries: int = 80) -> Path:
    """Write plans in the format of the file on IMDB; every fifth is that of the query before."""
    (folder / "plans").mkdir()
    with (folder / "plans/imdb_plans.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "json", "sql"])
        for k in range(queries):
            scans = [
                {"Node Type": f"Scan {scan % 3}", "Total Cost": 10.0 + k - (k % 5 == 4)}
                for scan in range(k // 5 % 2 + 1)
            ]
            rest = dict.fromkeys(["Parent Relationship", "Join Type", "Relation Name"], "a")
            rest |= dict.fromkeys(["Startup Cost", "Plan Rows", "Plan Width"], 1)
            nodes = [{**rest, "Workers Planned": 1, **scan} for scan in scans]
            plan = {**rest, "Workers Planned": 0, **scans[0], "Node Type": "Join", "Plans": nodes}
            rows.writerow([k, json.dumps({"Plan": plan, "Execution Time": 1.0 + k}), "select"])
    return folder


@pytest.mark.parametrize("kind", ["logs", "classes"])
@pytest.mark.parametrize("groups", [False, True])
def test_parts_are_apart(tmp_path: Path, kind: str, groups: bool) -> None:
    trees = data.imdb(small_imdb(tmp_path)).trees
    equal = equal_trees(trees.forest)
    assert len(set(equal)) == len(equal) < 80
    y = np.array(["a", "b"])[np.arange(len(trees)) % 2] if kind == "classes" else equal + 1.0
    task = data.Task("t", trees, y, kind, np.arange(len(trees)) // 3 if groups else None, folds=4)
    rows, away = task.kept_away()
    assert sorted([*rows, *away]) == list(range(len(trees)))
    assert len(away) == pytest.approx(len(trees) / 5, abs=3)
    folds = list(task.splits())
    assert sorted(row for _, test in folds for row in test) == rows.tolist()
    parts = [(rows, away), *folds]
    assert not any(set(first) & set(second) for first, second in parts)
    if task.groups is not None:
        of = task.groups
        assert not any(set(of[first]) & set(of[second]) for first, second in parts)
    assert any(
        (a[1] != b[1]).any() for a, b in zip(task.splits(1), folds) if len(a[1]) == len(b[1])
    )


@pytest.mark.parametrize("code", ["a < 1", "f(a, 1)", "a - 1", "a in (1,)"])
def test_an_exchange_changes_the_order_alone(code: str) -> None:
    function = ast.parse(f"def g(a, b):\n    return {code}")
    broken = copy.deepcopy(function)
    assert data._exchange(broken, random.Random(0))
    before, after = ast.unparse(function), ast.unparse(broken)
    assert before != after
    assert Counter(before) == Counter(after)
    assert not data._exchange(ast.parse("f(a, b) + 1 + (a == b)"), random.Random(0))


def test_functions_of_the_library() -> None:
    found = data._functions(["json", "unittest"], 400)
    assert {package for _, package, _ in found} == {"json", "unittest"}
    assert {file.split("/")[0] for _, _, file in found} == {"json", "unittest"}
    with pytest.raises(SystemExit, match="missing the package nowhere in .*; install it"):
        data._functions(["nowhere"], 400)


def test_a_missing_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DGLTREES_DATA", raising=False)
    with pytest.raises(SystemExit, match="missing the folder of the data; name it with --data"):
        data.folder_of(None)
    with pytest.raises(SystemExit, match="expected a folder with the data, got .*nowhere"):
        data.folder_of(str(tmp_path / "nowhere"))
