"""Numbers and flags of custom trees, from a file to predictions of trees without a target."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees import ConfigError, Forest, LabeledTrees, TreeError, Vocabulary, load
from dgltrees.settings.layers import Settings
from dgltrees.tasks.custom_trees.classes import CLASSIFY_NODES
from dgltrees.tasks.splits import load_splits
from dgltrees.training.run import train
from tests.training.samples import SAMPLES, short

PLANS = [json.loads(line) for line in (SAMPLES / "plans" / "train.jsonl").read_text().splitlines()]


def settings(preset: str, path: Path, **data: Any) -> Settings:
    """A small, short run on a file of plans."""
    data = {"train": str(path), "tree_path": "plan", "children_key": "Plans", "min_freq": 1, **data}
    return short(preset, data)


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


@pytest.mark.parametrize("inside", [False, True])
def test_a_target_may_be_called_line(tmp_path: Path, *, inside: bool) -> None:
    records = [
        {"plan": {**r["plan"], "line": 7.0 * i}} if inside else {"plan": r["plan"], "line": 7.0 * i}
        for i, r in enumerate(PLANS)
    ]
    path = write(tmp_path / "plans.jsonl", records)
    train(settings("regress", path, target="line"), tmp_path / "run")
    read = load(tmp_path / "run").read(path)
    assert "line" not in {each.name for each in read.inputs}
    np.testing.assert_array_equal(np.ravel(read.columns["target"]), 7.0 * np.arange(len(PLANS)))


def test_what_a_run_predicts_and_what_it_does_not(tmp_path: Path) -> None:
    named = write(tmp_path / "plans.jsonl", PLANS)
    train(settings("regress", named, target="seconds"), tmp_path / "run")
    run = load(tmp_path / "run")
    lines = list(run.predict([named]))
    columns = ["Node Type", "Table", "Plan Rows", "Plan Width"]
    forest = Forest.from_objects([r["plan"] for r in PLANS], children="Plans", columns=columns)
    for trees in (forest, [r["plan"] for r in PLANS]):
        assert [*run.predict(trees)] == lines
    with pytest.raises(ConfigError, match="expected files, or trees as a Forest, got a int"):
        run.predict([3])  # type: ignore[list-item]
    ids = [{"plan": r["plan"], "id": i * 10} for i, r in enumerate(PLANS)]
    numbered = [*run.predict([write(tmp_path / "ids.jsonl", ids)])]
    assert numbered == [{**line, "id": 10 * i} for i, line in enumerate(lines)]
    (tmp_path / "my.conllu").touch()
    with pytest.raises(ConfigError, match=r"format jsonl, which the run reads, got .*like conllu;"):
        [*run.predict([tmp_path / "my.conllu"])]
    leaf = max((r["plan"] for r in PLANS), key=lambda plan: "Table" in plan)
    bad = [{"plan": {**without(leaf, "Plans"), "Plan Rows": rows}} for rows in (None, "few")]
    with pytest.raises(TreeError, match=r"bad.jsonl:2: tree 1, node 0: .*, such as 'few'"):
        [*run.predict([write(tmp_path / "bad.jsonl", bad)])]


def test_the_schema_of_a_run_is_text_and_has_no_target(tmp_path: Path) -> None:
    path = write(tmp_path / "plans.jsonl", PLANS)
    train(settings("regress", path, target="seconds"), tmp_path / "run")
    schema = json.loads((tmp_path / "run" / "schema.json").read_text())
    kinds = {each["name"]: each["kind"] for each in schema["inputs"]}
    assert kinds == {
        "Node Type": "category",
        "Table": "category",
        "Plan Rows": "log",
        "Plan Width": "number",
    }
    assert schema["targets"] == ["seconds"]
    assert (tmp_path / "run" / "vocabulary" / "Node Type.txt").exists()


@pytest.mark.parametrize("wanted", [True, False])
def test_baselines_are_reported_unless_they_are_not_wanted(tmp_path: Path, wanted: bool) -> None:
    path = write(tmp_path / "plans.jsonl", PLANS)
    result = train(settings("classify", path, target="speed", baselines=wanted), tmp_path / "run")
    assert set(result.get("baselines", {})) == ({"linear", "boosting"} if wanted else set())


NO_COST = [{**PLANS[0], "cost": "n/a"}]


def with_ok(records: list[Any]) -> list[Any]:
    return [{**record, "ok": k % 2} for k, record in enumerate(records)]


def with_y(records: list[Any]) -> list[Any]:
    return [{**record, "y": 2**63 + k} for k, record in enumerate(records)]


def with_id(records: list[Any]) -> list[Any]:
    """Add a number above 2^53 to the roots, and none to the other nodes."""
    return [{**r, "plan": {**r["plan"], "id": 2**53 + k}} for k, r in enumerate(records)]


BAD: dict[str, tuple[str, dict[str, Any], Any, str]] = {
    "target that is missing in one tree": (
        *("regress", {"target": "seconds"}, lambda rs: [*rs[:5], without(rs[5], "seconds")]),
        r"plans.jsonl:6: tree 5: missing target 'seconds' of a training tree; add it",
    ),
    "target that is nowhere": (
        *("regress", {"target": "cost"}, lambda rs: rs),
        "expected a target 'cost', got the columns seconds, speed, Node Type",
    ),
    "target that is almost there": (
        *("regress", {"target": "Seconds"}, lambda rs: rs),
        r"expected a target 'Seconds', got the columns seconds, .*; did you mean seconds\?",
    ),
    "target with names": (
        *("regress", {"target": "speed"}, lambda rs: rs),
        "plans.jsonl:1: tree 0: expected a number as the target 'speed', got '(fast|slow)'",
    ),
    "target as text that Python reads as a number": (
        *("regress", {"target": "y"}, lambda rs: [{**r, "y": "1_000"} for r in rs]),
        "plans.jsonl:1: tree 0: expected a number as the target 'y', got '1_000'",
    ),
    "classes that are rounded": (
        *(
            "classify",
            {"target": "y"},
            lambda rs: [{**r, "y": 2**63 + k} for k, r in enumerate(rs)],
        ),
        "jsonl:1: expected integers of 64 bits in column 'y', or up to 2.53 where others",
    ),
    "integers that are rounded": (
        *("regress", {"target": "seconds"}, with_id),
        "jsonl:2: expected integers of 64 bits in column 'id', or up to 2.53 where others are",
    ),
    "target of vectors": (
        *("regress", {"target": "v"}, lambda rs: [{**r, "v": [1, 2]} for r in rs]),
        "expected one value per row in the target 'v', got vectors of 2 numbers",
    ),
    "one class": (
        *("classify", {"target": "speed"}, lambda rs: [{**r, "speed": "fast"} for r in rs]),
        "expected at least two classes in the target 'speed', got one class, fast",
    ),
    "numbers as classes": (
        *("classify", {"target": "seconds"}, lambda rs: rs),
        r"tree 0: expected a class as the target 'seconds', got .*use the task regress",
    ),
    "text among numbers": (
        *("regress", {"target": "cost"}, lambda rs: [{**r, "cost": 1} for r in rs] + NO_COST),
        r"jsonl:61: .* column 'cost', got numbers .1 in line 1. and .n/a. in line 61; correct one",
    ),
    "flags that are none": (
        *("classify", {"target": ["speed", "seconds"]}, lambda rs: rs),
        r"expected 0, 1, false, true, no or yes in the target 'speed' .* got '(fast|slow)'",
    ),
    "class that is not among those of the settings": (
        *("classify", {"target": "speed", "classes": ["fast", "faster"]}, lambda rs: rs),
        r"expected a class \(fast, faster\), got 'slow'",
    ),
    "classes of flags": (
        *("classify", {"target": ["speed", "ok"], "classes": ["a", "b"]}, with_ok),
        "data.classes has no effect with several targets",
    ),
    "target as an input": (
        *("regress", {"target": "seconds", "features": ["Table", "cost"]}, lambda rs: rs),
        "expected data.features to name columns of the trees .* got 'cost'",
    ),
    "column next to the trees as an input": (
        *("regress", {"target": "seconds", "features": ["speed"]}, lambda rs: rs),
        "to name columns of nodes, got 'speed', a column next to the trees; copy it into the root",
    ),
    "trees of a single node": (
        *("regress", {"target": "seconds"}, lambda rs: [{**r, "plan": {"Rows": 1}} for r in rs]),
        "plans.jsonl: expected trees with several nodes, got one node in each; set data.child",
    ),
    "setting of another format": (
        *("regress", {"target": "seconds", "depth": "level"}, lambda rs: rs),
        "layout with fields of this format .* got depth",
    ),
    "format that there is not": (
        *("regress", {"target": "seconds", "format": "yaml"}, lambda rs: rs),
        "data.format to be one of jsonl, .* got 'yaml'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_data_end_in_one_error_before_anything_is_written(tmp_path: Path, case: str) -> None:
    preset, data, change, message = BAD[case]
    path = write(tmp_path / "plans.jsonl", change(PLANS))
    with pytest.raises((TreeError, ConfigError), match=message):
        train(settings(preset, path, **data), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("preset", "change", "place"),
    [
        ("regress-pairs", {"seconds": None}, "plans.jsonl:6: tree 10: missing target 'seconds'"),
        ("classify", {"seconds": "other"}, r"plans.jsonl:6: tree 5: expected a class \(1, 2\)"),
    ],
)
def test_an_error_of_a_target_names_its_line_and_tree(
    tmp_path: Path, preset: str, change: dict[str, Any], place: str
) -> None:
    plan = {"x": 1, "Plans": [{"x": 2}]}
    kind: Any = 1.0 if preset == "regress-pairs" else "1"
    records: list[dict[str, Any]] = [{"first": plan, "seconds": kind} for _ in range(8)]
    if preset == "regress-pairs":
        records = [{**record, "second": plan} for record in records]
    records[5] = {**records[5], **change}
    tree = ["first", "second"] if preset == "regress-pairs" else "first"
    listed = {} if preset == "regress-pairs" else {"classes": ["1", "2"]}
    path = write(tmp_path / "plans.jsonl", records)
    with pytest.raises(TreeError, match=place):
        train(settings(preset, path, tree_path=tree, target="seconds", **listed), tmp_path / "run")


def test_an_error_of_a_node_names_its_tree_and_place() -> None:
    forest = Forest.from_objects([{"x": 1, "children": [{"x": 2}]}] * 2, columns=["x"])
    names = Vocabulary(["1", "2"])
    target = Forest.build(
        forest.parent,
        offsets=forest.offsets,
        columns={"x": forest.columns["x"], "kind": [0, 1, 0, -1]},
        vocabs={"kind": Vocabulary(["1", "3"])},
    )
    data = CLASSIFY_NODES.data(target="kind", classes=names.names)
    with pytest.raises(TreeError, match=r"^tree 0, node 1: expected a class \(1, 2\), got '3'"):
        CLASSIFY_NODES.examples(LabeledTrees(target), data, None)


def test_classes_are_sorted_over_all_files(tmp_path: Path) -> None:
    files = [
        str(write(tmp_path / f"{i}.jsonl", [{**r, "size": i * 10} for r in PLANS[:5]]))
        for i in (3, 10, 1)
    ]
    chosen = settings("classify", Path(files[0]), train=files, target="size")
    train = load_splits(chosen.task, replace(chosen.data, valid_fraction=0.0)).train
    assert [*train.targets.names] == ["10", "30", "100"]
    named = np.array([*train.targets.names])[train.columns["target"]]
    assert named.tolist() == [name for name in ("30", "100", "10") for _ in range(5)]


def test_targets_of_further_files_are_checked_where_classes_are_listed(tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", PLANS)
    second = write(tmp_path / "b.jsonl", [PLANS[0], without(PLANS[1], "speed"), PLANS[2]])
    files = {"train": [str(first), str(second)], "classes": ["fast", "slow"]}
    with pytest.raises(TreeError, match="b.jsonl:2: tree 1: missing target 'speed'"):
        train(settings("classify", first, target="speed", **files), tmp_path / "run")


def test_unseen_names_are_refused_where_the_settings_say_so(tmp_path: Path) -> None:
    path = write(tmp_path / "plans.jsonl", PLANS)
    other = [{"plan": {"Node Type": "Bitmap Scan", "Plan Rows": 3, "Plan Width": 4}}] * 2
    strange = write(tmp_path / "other.jsonl", other)
    for how in ("use_encoded_value", "error"):
        train(settings("regress", path, target="seconds", handle_unknown=how), tmp_path / how)
    absent, unknown = "other.jsonl have no value of Table, which", "2 of 2 in column 'Node Type'"
    with pytest.warns(UserWarning, match=f"{absent}.*{unknown}"):
        lines = [*load(tmp_path / "use_encoded_value").predict([strange])]
    assert np.isfinite([line["prediction"] for line in lines]).all()
    result = {"Node Type": "Result", "Plan Rows": 1, "Plan Width": 4}
    some = write(tmp_path / "some.jsonl", [*PLANS, *[{"plan": result, "seconds": 0.1}] * 8])
    train(settings("regress", some, target="seconds"), tmp_path / "some")
    with pytest.warns(UserWarning, match=unknown):  # Table is absent from training trees too
        assert [*load(tmp_path / "some").predict([strange])]
    other[0]["plan"]["Table"] = "orders"
    strange = write(strange, other)
    with pytest.raises(TreeError, match="other.jsonl: in column 'Node Type': .* got 'Bitmap Scan'"):
        list(load(tmp_path / "error").predict([strange]))


def test_files_with_other_columns_are_named(tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", PLANS)
    plans = [{**r, "plan": {**r["plan"], "Workers": 1}} for r in PLANS]
    second = write(tmp_path / "b.jsonl", plans)
    both = settings("regress", first, target="seconds", train=[str(first), str(second)])
    with pytest.raises(
        TreeError, match="b.jsonl: expected the columns of the first .* data.features"
    ):
        train(both, tmp_path / "run")
