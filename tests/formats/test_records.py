"""One tree and the same columns of the same records, from every source."""

import json
import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dgltrees import Forest, TreeError, TreeRegressor, inspect_trees, read
from dgltrees.draw import draw
from dgltrees.draw.files import draw_file
from dgltrees.formats import guess_format
from dgltrees.formats.format import RecordLayout
from dgltrees.formats.records import trees_of_records
from dgltrees.trees.builders import from_json
from tests.trees.nested import names_of

EXPLAIN = Path(__file__).parent / "explain"
QUICK: dict[str, Any] = {
    "epochs": 1,
    "hidden_size": 4,
    "random_state": 0,
    "settings": {"model.embedding": 4, "data.min_freq": 1, "data.baselines": False},
}


def write(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("postgresql_15_triggers", [2, 2]),
        ("postgresql_15_workers", [4]),
        ("postgresql_15_jit", [4]),
        ("postgresql_15_cte", [14]),  # a CTE, two InitPlans, and the joins
        ("postgresql_15_partitions", [4, 2]),
        ("postgresql_15_single", [1]),
        ("duckdb_0_9_profile", [7]),
        ("duckdb_1_1_explain", [6]),
        ("duckdb_1_1_analyze", [8]),
        ("mysql_8_version_2", [5]),
    ],
)
def test_plans_of_servers(name: str, sizes: list[int]) -> None:
    path = EXPLAIN / f"{name}.json"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    data = read(path)
    assert data.forest.sizes.tolist() == sizes
    assert Forest.from_objects(records).sizes.tolist() == sizes
    assert inspect_trees(path).shapes.nodes == sum(sizes)
    assert not any("Trigger" in column for column in data.forest.columns)


@pytest.mark.parametrize(
    ("name", "layout", "sizes", "names"),
    [
        ("mysql_8_version_1", {"children_key": ["query_block", "nested_loop", "table"]}, [6], {}),
        ("hyper", {"children_key": ["input", "left", "right"]}, [5], {}),
        ("spark_3", {"children_key": "num-children"}, [4], {}),
        (
            "astminer",
            {"children_key": "children"},
            [4, 1],
            {"typeLabel": ["f", "p", "b", "r", "f"]},
        ),
        ("py150", {"children_key": "children", "format": "jsonl"}, [5], {}),
    ],
)
def test_plans_that_ask_for_their_layout(
    name: str, layout: dict[str, Any], sizes: list[int], names: dict[str, Any]
) -> None:
    """Without it they are refused, with the argument that reads them."""
    path = EXPLAIN / f"{name}.jsonl"
    with pytest.raises(TreeError, match="children_key="):
        read(path, layout.get("format"))
    forest = read(path, **layout).forest
    assert forest.sizes.tolist() == sizes
    for column, values in names.items():
        assert names_of(forest, column) == values


def test_several_keys_of_children(tmp_path: Path) -> None:
    records = [
        {"op": "a", "Plans": [{"op": "b"}, None, {"op": "c"}], "SubPlans": [{"op": "d"}]},
        {"op": "e", "SubPlans": {"op": "f", "Plans": [{"op": "g"}]}},
    ]
    path, keys = write(tmp_path / "plans.jsonl", *records), ["Plans", "SubPlans"]
    forest = read(path, children_key=keys).forest
    assert names_of(forest, "op") == [*"abcdefg"]
    assert forest.parent.tolist() == [-1, 0, 0, 0, -1, 0, 1]
    assert forest.pos.tolist() == [0, 0, 2, 3, 0, 0, 0]
    types = [None, "Plans", "Plans", "SubPlans", None, "SubPlans", "Plans"]
    assert names_of(forest, "etype") == types
    trees, _ = trees_of_records(records, RecordLayout(children_key=keys))
    assert names_of(trees.forest, "etype") == types
    with pytest.raises(TreeError, match="expected no key 'etype', which is that of edges"):
        trees_of_records([{"etype": 1, **records[0]}], RecordLayout(children_key=keys))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"op": "join", "children": [{"op": "a"}], "children": []}',
            ":1: expected every key once",
        ),
        ('{"a": 1}\n{"a": {"b": 1, "c": "\\"b\\": 2", "b": 2}}', ":2: expected every key once in"),
        (
            '{"a": "\\u0062", "b": [{"x": {}, "\\u0078": 1}]}',
            ":1: expected every key once in an obj",
        ),
        (
            '{"a": 1}\n{"a": NaN}',
            ":2: expected JSON, got NaN, which is not a JSON number; write nul",
        ),
        ('{"a": "NaN", "b": [-Infinity]}', ":1: expected JSON, got -Infinity, which is not a JSON"),
    ],
)
@pytest.mark.parametrize("form", ["jsonl", "json-records", "rows"])
def test_what_json_does_not_have_is_refused(
    tmp_path: Path, text: str, message: str, form: str
) -> None:
    path = tmp_path / "trees.txt"
    lines = text.split("\n")
    if form == "rows":
        message = f":{int(message[1]) + 1}{message[2:]}"
        lines = ["tree\tn", *(line + "\t1" for line in lines)]
        lines = [line.replace('"', '""').replace("{", '"{', 1)[::-1] for line in lines]
        lines = [line.replace("}", '"}', 1)[::-1] if "{" in line else line[::-1] for line in lines]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(TreeError) as caught:
        read(path, form)
    assert str(caught.value).startswith(f"{path}{message}")


def test_a_key_twice_is_refused_in_every_reader_of_json(tmp_path: Path) -> None:
    text = '{"a": 1,\n"b": {"c": 1,\n"c": 2}}'
    with pytest.raises(
        TreeError, match="line 3: tree 0: expected every key once in an object, got"
    ):
        from_json(text)
    (tmp_path / "a.json").write_text(text)
    for form in ("json", "json-records"):
        with pytest.raises(
            TreeError, match=r"a.json:3: .*every key once in an object, got 'c' twi"
        ):
            read(tmp_path / "a.json", form)


MISSING = [None, float("nan"), pandas.NA, pandas.NaT, []]


@pytest.mark.parametrize("missing", MISSING, ids=str)
@pytest.mark.parametrize(("value", "gap"), [("a", -1), (2, None), (2.5, None), (True, None)])
def test_missing_values_of_python(missing: Any, value: Any, gap: int | None) -> None:
    tree = {"x": value, "children": [{"x": missing}, {}, {"x": value}]}
    records = [{"tree": tree, "y": missing, "z": 1}]
    trees, _ = trees_of_records(records, RecordLayout(tree_path="tree"))
    for forest in (trees.forest, Forest.from_objects([tree]), Forest.from_objects(records)):
        column = forest.columns["x"]
        expected = [0, -1, -1, 0] if gap == -1 else [value, np.nan, np.nan, value]
        np.testing.assert_array_equal(column, expected)
    assert "y" not in trees.columns


TEXTS = st.text("ab1", max_size=3) | st.sampled_from(["12", "1.5", "-3", "007", "NA", ""])
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = {
    "n": NUMBERS,
    "t": TEXTS,
    "s": st.sampled_from(["12", "1.5", "-3", "1e3"]),
    "b": st.booleans(),
    "v": st.lists(st.floats(-9, 9, width=32), min_size=2, max_size=2),
    "l": st.lists(TEXTS, max_size=2),
    "o": st.fixed_dictionaries({}, optional={"p": NUMBERS, "q": TEXTS, "r": st.none()}),
}
MEMBERS = st.fixed_dictionaries(
    {}, optional={key: value | st.none() for key, value in VALUES.items()}
)


@st.composite
def record_lists(drawn: Any) -> list[Any]:
    """Records with a tree each, at one place, in which children recur somewhere."""
    place = drawn(st.sampled_from(["", "tree", "a.b"]))
    key = drawn(st.sampled_from(["children", "Plans", "kids"]))
    nodes = st.recursive(
        MEMBERS,
        lambda below: st.builds(
            lambda node, children: {**node, key: children}, MEMBERS, st.lists(below, max_size=3)
        ),
        max_leaves=6,
    )
    trees = [
        *drawn(st.lists(nodes, min_size=1, max_size=3)),
        {"n": 1, key: [{"t": "x", key: [{}]}]},
    ]
    records: list[Any] = []
    for tree in trees:
        for part in reversed(place.split(".") if place else []):
            tree = {part: tree}
        records.append({**drawn(MEMBERS), **tree} if place else tree)
    return records


def values(forest: Forest) -> dict[str, Any]:
    """Return the columns with names in place of ids, and the structure."""
    columns = {
        name: names_of(forest, name) if name in forest.vocabs else np.asarray(column).tolist()
        for name, column in forest.columns.items()
    }
    kinds = {name: str(np.asarray(column).dtype) for name, column in forest.columns.items()}
    shape = [np.asarray(each).tolist() for each in (forest.parent, forest.pos, forest.offsets)]
    return {"columns": repr(columns), "kinds": kinds, "shape": shape}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(records=record_lists())
def test_every_source_gives_the_same_trees(tmp_path: Path, records: list[Any]) -> None:
    path = write(tmp_path / "trees.jsonl", *records)
    (tmp_path / "trees.json").write_text(json.dumps(records, indent=1))
    forest = Forest.from_objects(records)
    expected = values(forest)
    assert values(read(path).forest) == expected
    assert values(read(tmp_path / "trees.json", "json-records").forest) == expected
    sources = (path, records, forest) if "n" not in read(path).columns else (path, records)
    for source in sources:  # a target next to the trees is in no forest
        found = inspect_trees(source, target="n")
        assert {each.name for each in found.columns} <= {*forest.columns}
        assert found.shapes == inspect_trees(path).shapes
        assert found.columns == inspect_trees(path, target="n").columns
    assert draw_file(path, trees=":") == "\n".join(draw(forest).lines())


@pytest.mark.parametrize("place", ["", "plan"])
def test_a_fit_and_a_prediction_read_the_same_trees(tmp_path: Path, place: str) -> None:
    rng = np.random.default_rng(0)

    def node(depth: int) -> dict[str, Any]:
        own = {
            "op": "ab"[depth % 2],
            "rows": str(int(rng.integers(1, 99))),
            "zip": f"0{rng.integers(9)}",
            "cost": {"cpu": float(rng.random()), "io": None if depth else 3},
            "keys": ["x", "y"][:depth],
        }
        return {**own, "inputs": [node(depth - 1) for _ in range(2)]} if depth else own

    roots = [node(1 + n % 2) for n in range(24)]
    records = [{"plan": root, "n": n} for n, root in enumerate(roots)] if place else roots
    path, y = write(tmp_path / "plans.jsonl", *records), rng.random(24)
    forest, data = Forest.from_objects(records), read(path)
    models = [TreeRegressor(**QUICK).fit(trees, y) for trees in (records, forest, data)]
    for model in models:
        assert model.run_.vocabularies.inputs == models[0].run_.vocabularies.inputs
        kinds = {each.name: each.kind for each in model.run_.vocabularies.inputs}
        assert (kinds["rows"], kinds["zip"]) == ("number", "category")
        assert [*kinds] == ["op", "rows", "zip", "cost.cpu", "keys", "cost.io"]
        for trees in (records, forest, data, roots):
            np.testing.assert_array_equal(model.predict(trees), models[0].predict(records))
        one = model.predict(records[:1])
        np.testing.assert_allclose(one, models[0].predict(records)[:1], rtol=1e-5)
    assert models[0].reading_ == (
        f"root: {repr(place) if place else 'the record'}; children: 'inputs'; nodes per tree: 3 to "
        "7 (median 7); numbers in strings: 'rows'"
    )
    named = TreeRegressor(**QUICK, features={"rows": "category"}).fit(records, y)
    assert {each.name: each.kind for each in named.run_.vocabularies.inputs}["rows"] == "category"
    assert "numbers" not in named.reading_


def test_the_choice_is_said_in_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    records = [{"plan": {"n": 1, "Plans": [{"n": "2"}, {"n": "3"}][:size]}} for size in (1, 2, 2)]
    records = [json.loads(json.dumps(each).replace('"n": 1', '"n": "1"')) for each in records]
    path = write(tmp_path / "plans.jsonl", *records)
    with caplog.at_level(logging.INFO, "dgltrees"):
        read(path)
    assert caplog.messages == [
        f"{path}: root: 'plan'; children: 'Plans'; nodes per tree: 2 to 3 (median 3)",
        "numbers in strings: 'n'",
    ]


def feed(path: Path, data: bytes, chunk: int) -> threading.Thread:
    """Write to a pipe, some bytes at a time, as a program does that is read while it runs."""

    def run() -> None:
        with open(path, "wb", buffering=0) as file:
            for start in range(0, len(data), chunk):
                file.write(data[start : start + chunk])

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.parametrize("chunk", [7, 100_000])
@pytest.mark.parametrize("pack", [bytes, __import__("gzip").compress])
def test_a_pipe_is_read_once_from_its_first_byte(
    tmp_path: Path, chunk: int, pack: Callable[[bytes], bytes]
) -> None:
    records = [{"n": n, "text": "x" * 20_000, "kids": [{"n": n}]} for n in range(9)]
    path, pipe = write(tmp_path / "trees.jsonl", *records), tmp_path / "pipe"
    os.mkfifo(pipe)
    for name in ("guess", "read"):
        thread = feed(pipe, pack(path.read_bytes()), chunk)
        if name == "guess":
            assert guess_format(pipe) == "jsonl"
        assert values(read(pipe).forest) == values(read(path).forest)
        thread.join()


def test_a_later_record_of_a_pipe_may_not_decide_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dgltrees.formats.records._DECIDE", 2)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    plan = {"n": 1, "kids": [{"n": 2}]}
    for last, message in (
        ({"n": 1, "parts": [{"n": 1}]}, "got lists of objects under kids (3 objects), parts"),
        ({"n": 1, "x": [{"y": 1, "x": []}]}, "got 'x' at ''; give children_key and tree_path"),
        ({"in": plan}, "'in' (1 records)"),
    ):
        text = "".join(json.dumps(each) + "\n" for each in (plan, plan, plan, last, plan))
        thread = feed(pipe, text.encode(), 100)
        with pytest.raises(TreeError) as caught:
            read(pipe)
        thread.join()
        assert str(caught.value).startswith(
            f"{pipe}:4: expected children under 'kids' and roots at"
        )
        assert message in str(caught.value)
    thread = feed(pipe, text.encode(), 100)
    assert read(pipe, children_key="kids", tree_path="").forest.sizes.tolist() == [2, 2, 2, 1, 2]
    thread.join()


def test_the_standard_input_is_a_pipe_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = write(tmp_path / "trees.jsonl", {"n": 1, "kids": [{"n": 2}]})
    with open(path, encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert read("-").forest.num_nodes == 2
