import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dgltrees import Forest, LabeledTrees, TreeError
from dgltrees.formats import FORMATS, RecordLayout, guess_format, read, write_jsonl
from dgltrees.formats.lines import gather
from tests.trees.nested import assert_same, names_of, write

PLANS = RecordLayout(children_key="Plans", tree_path="Plan")
PLAN = {
    "Plan": {
        "Node Type": "Join",
        "Rows": 3,
        "Keys": ["a", "b"],
        "Buffers": {"Hit": 1, "Read": {"Local": 7}},
        "Plans": [{"Node Type": "Scan", "Rows": 2.5, "Parallel": True}, {"Rows": None}],
    },
    "Execution Time": 12,
    "Settings": {"jit": "off"},
    "Quantiles": [1, 2.5],
}


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_a_plan_with_its_time(tmp_path: Path) -> None:
    examples = read(write(tmp_path, lines(PLAN, [{"Plan": {"Rows": 1}}])), "jsonl", layout=PLANS)
    forest = examples.forest
    assert forest.parent.tolist() == [-1, 0, 0, -1]
    assert forest.offsets.tolist() == [0, 3, 4]
    assert names_of(forest, "Node Type") == ["Join", "Scan", None, None]
    assert names_of(forest, "Keys") == ['["a", "b"]', None, None, None]
    np.testing.assert_array_equal(forest.columns["Rows"], [3, 2.5, np.nan, 1])
    np.testing.assert_array_equal(forest.columns["Parallel"], [np.nan, 1, np.nan, np.nan])
    np.testing.assert_array_equal(forest.columns["Buffers.Read.Local"], [7, *[np.nan] * 3])
    assert examples.columns["line"].tolist() == [1, 2]
    np.testing.assert_array_equal(examples.columns["Execution Time"], [12, np.nan])
    assert examples.columns["Settings.jit"].tolist() == ["off", None]
    np.testing.assert_array_equal(examples.columns["Quantiles"], [[1, 2.5], [np.nan, np.nan]])


def test_pairs_of_trees_and_what_stands_beside_them(tmp_path: Path) -> None:
    layout = RecordLayout(tree_path=["a", "q.b"])
    records = [
        {"a": {"n": 1, "children": [{"n": 2}]}, "q": {"b": {"n": 3}, "kind": "x"}, "score": 0.5},
        {"a": {"n": 4}, "q": {"b": {"n": 5, "children": [{"n": 6}]}, "kind": "y"}, "score": 2},
    ]
    examples = read(write(tmp_path, lines(*records)), "jsonl", layout=layout)
    assert (len(examples), examples.arity) == (2, 2)
    assert examples.forest.columns["n"].tolist() == [1, 2, 3, 4, 5, 6]
    assert examples.forest.offsets.tolist() == [0, 2, 3, 4, 6]
    assert examples.columns["score"].tolist() == [0.5, 2]
    assert examples.columns["q.kind"].tolist() == ["x", "y"]
    write_jsonl(examples, tmp_path / "again.jsonl", layout)
    again = read(tmp_path / "again.jsonl", "jsonl", layout=layout)
    assert (again.arity, list(again.columns)) == (2, list(examples.columns))
    assert again.forest.to_objects(3) == examples.forest.to_objects(3)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"a": {"n": 3}}, ":3: expected the root under 'q.b', got the keys "),
        ({"a": {"n": 3}, "q": {"b": 4}}, ":3: expected an object for the root under 'q.b', got 4"),
        ({"a": {"n": 3}, "q": {"b": {"n": "x"}}}, ":3: expected one kind of value in column 'n'"),
        ({"a": {}, "q": {"b": {"children": 3}}}, ":3: expected a list of nodes under 'children'"),
    ],
)
def test_wrong_pairs_are_named_by_their_line(tmp_path: Path, record: Any, message: str) -> None:
    right = {"a": {"n": 1}, "q": {"b": {"n": 2}}}
    with pytest.raises(TreeError, match=message):
        read(
            write(tmp_path, lines(right, right, record)),
            "jsonl",
            layout=RecordLayout(tree_path=["a", "q.b"]),
        )


def test_positions_numbers_and_blank_lines(tmp_path: Path) -> None:
    text = '\ufeff{"n": 1, "children": [null, {"n": 2}]}\n\n \n{"n": 3}\n'
    examples = read(write(tmp_path, text), "jsonl")
    assert examples.forest.pos.tolist() == [0, 1, 0]
    assert examples.forest.columns["n"].dtype == np.int64
    assert examples.columns["line"].tolist() == [1, 4]


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "plans.jsonl.gz"
    path.write_bytes(gzip.compress(lines(PLAN, PLAN).encode()))
    assert guess_format(path) == "jsonl"
    assert len(FORMATS["jsonl"].read(path, layout=PLANS)) == 2
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(TreeError, match="expected gzip, got a damaged file"):
        read(path, "jsonl", layout=PLANS)


@pytest.mark.parametrize(
    ("records", "layout", "message"),
    [
        ([PLAN, {"Plan": {"Rows": "x"}}], PLANS, ":2: expected one kind of value in column 'Rows'"),
        ([PLAN, {"Plan": {"Buffers": 3}}], PLANS, ":2: expected one kind of value in column 'Buf"),
        (
            [{"v": [1, 2]}, {"v": [1]}],
            RecordLayout(),
            ":2: expected one kind of value in column 'v', got vectors of 2 numbers ([1, 2] in "
            "line 1) and [1] in line 2",
        ),
        (
            [{"n": 1}, {"n": 10**400}],
            RecordLayout(),
            ":2: expected integers of 64 bits in column 'n', or up to 2^53 where others are",
        ),
        (
            [{"a": {"b": 1}, "a.b": 2}],
            RecordLayout(),
            ":1: expected every key once, got 'a.b' twice",
        ),
        ([{}, 3], RecordLayout(), ":2: expected an object for the root, got 3"),
        ([PLAN, {"Plans": 1}], PLANS, ":2: expected the root under 'Plan', got the keys Plans"),
        ([PLAN, {"Plan": []}], PLANS, ":2: expected an object for the root under 'Plan', got []"),
        (
            [{"children": [{}]}, {"children": {"a": {}}}],
            RecordLayout(),
            ":2: expected a list of nodes under 'children', got {\"a\": {}}",
        ),
        ([{"children": [{}, 2]}], RecordLayout(), ":1: expected an object for each node, got 2"),
        (
            [{"children": {}}],
            RecordLayout(),
            ":1: expected a list of nodes under 'children', got {}",
        ),
    ],
)
def test_records_that_are_no_trees(
    tmp_path: Path, records: list[Any], layout: RecordLayout, message: str
) -> None:
    path = write(tmp_path, lines(*records))
    for trees in (1, 100):
        with pytest.raises(TreeError) as caught:
            list(FORMATS["jsonl"].chunks(path, trees, layout))
        assert str(caught.value).startswith(f"{path}{message}")


def test_a_tree_too_deep_for_json(tmp_path: Path) -> None:
    deep = '{"children": [' * 100_000 + "]}" * 100_000
    with pytest.raises(TreeError, match=r"data.txt:2: expected JSON that Python's json can read"):
        read(write(tmp_path, '{"a": 1}\n' + deep), "jsonl")


def test_columns_of_names_hold_anything(tmp_path: Path) -> None:
    path = write(tmp_path, lines({"code": 7}, {"code": "7b"}, {"code": [1]}, {"code": {"a": 1}}))
    forest = read(path, "jsonl", layout=RecordLayout(categorical_columns=("code",))).forest
    assert names_of(forest, "code") == ["7", "7b", "[1]", '{"a": 1}']


def test_a_chain_is_written(tmp_path: Path) -> None:
    depth = 100_000
    chain = Forest.build(np.arange(-1, depth), columns={"n": np.arange(depth + 1)})
    write_jsonl(LabeledTrees(chain), tmp_path / "chain.jsonl")
    text = (tmp_path / "chain.jsonl").read_text()
    assert text.startswith('{"n": 0, "children": [{"n": 1, "children": [')
    assert text.count("{") == text.count("}") == depth + 1


def test_what_jsonl_cannot_hold(tmp_path: Path) -> None:
    one = Forest.build([-1], columns={"children": [1]})
    with pytest.raises(TreeError, match="'plan' only for the tree, got an example column of this"):
        same = LabeledTrees(Forest.build([-1]), {"plan": np.ones(1)})
        write_jsonl(same, tmp_path / "file", RecordLayout(tree_path="plan.root"))
    for examples, message in (
        (LabeledTrees(one), "expected 'children' only for the children"),
        (
            LabeledTrees(Forest.build([-1]), {"time": np.ones(1)}),
            "got the example columns time; name",
        ),
        (
            LabeledTrees(Forest.concat([one, one]), arity=2),
            "each of the 2 trees of an exam.*, got none",
        ),
    ):
        with pytest.raises(TreeError, match=message):
            write_jsonl(examples, tmp_path / "file")
    assert not list(tmp_path.iterdir())


NUMBERS = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False))
VECTORS = st.lists(st.floats(-9, 9, width=32), min_size=2, max_size=2)
KEYS = {"n": NUMBERS | st.none(), "s": st.text(max_size=3) | st.none(), "v": VECTORS | st.none()}
NODES = st.recursive(
    st.fixed_dictionaries({}, optional=KEYS),
    lambda below: st.builds(
        lambda node, children: {**node, "children": [*children, {}]},
        st.fixed_dictionaries({}, optional=KEYS),
        st.lists(st.one_of(st.none(), below), max_size=3),
    ),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.builds(
            lambda tree, beside: {**beside, "tree": tree},
            NODES,
            st.fixed_dictionaries({}, optional=KEYS),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_records_are_written_and_read_back(tmp_path: Path, records: list[Any]) -> None:
    path, layout = write(tmp_path, lines(*records)), RecordLayout(tree_path="tree")
    whole = read(path, "jsonl", layout=layout)
    assert_same(gather(FORMATS["jsonl"].chunks(path, 1, layout)), whole)
    write_jsonl(whole, tmp_path / "again", layout)
    assert_same(read(tmp_path / "again", "jsonl", layout=layout), whole)


_EXPLAIN = [{"Plan": PLAN["Plan"], "Execution Time": 0.5}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("one.json", json.dumps(_EXPLAIN, indent=2)),
        ("object.json", json.dumps(_EXPLAIN[0], indent=2)),
        ("lines.json", json.dumps(_EXPLAIN)),
        ("psql.jsonl", json.dumps(_EXPLAIN, indent=2)),
        ("psql.txt", json.dumps(_EXPLAIN, indent=2)),
        (
            "framed.txt",
            " QUERY PLAN \n------------\n"
            + json.dumps(_EXPLAIN, indent=2).replace("\n", " +\n")
            + "\n(1 row)\n\n",
        ),
        ("tuples.txt", json.dumps(_EXPLAIN, indent=2).replace("\n", "   +\n") + "\n"),
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_the_output_of_explain_is_read_unchanged(
    tmp_path: Path, name: str, text: str, count: int
) -> None:
    path = tmp_path / name
    path.write_text("\n".join([text] * count))
    plain = read(write(tmp_path, lines(*_EXPLAIN)), "jsonl")
    examples = read(path)
    assert_same(examples.select([0]), plain)
    assert examples.forest.sizes.tolist() == plain.forest.sizes.tolist() * count
    assert examples.columns["Execution Time"].tolist() == [0.5] * count


def psql(
    left: str, right: str, *, above: str = "", below: str = "", first: str | None = None
) -> str:
    """The output of psql with a frame around each line of the plan."""
    lines = json.dumps(_EXPLAIN, indent=2).splitlines()
    width = max(map(len, lines))
    framed = [f"{left}{line:<{width}}{right}" for line in lines[:-1]]
    last = f"{left}{lines[-1]:<{width}}{right.replace('+', ' ').replace('↵', ' ')}"
    framed[0] = framed[0] if first is None else first + framed[0][len(left) :]
    return "\n".join([above, *framed, last, below]).lstrip("\n")


@pytest.mark.parametrize(
    "text",
    [
        psql("", "", above="QUERY PLAN", below="(1 row)"),  # \\pset format unaligned
        psql("", "+", above="  QUERY PLAN \n------", below="(1 ligne)\n"),  # border 0
        psql("", "↵", above="  QUERY PLAN \n──────", below="(1 строка)\n"),
        psql("| ", "+|", above="+---+\n|  QUERY PLAN  |\n+---+", below="+---+\n(1 Zeile)\n"),
        psql("| ", "|", above="+---+\n| QUERY PLAN |\n+---+", below="+---+\n(1 row)\n"),
        psql("│ ", "↵│", above="┌───┐\n│ QUERY PLAN │\n├───┤", below="└───┘\n(1 row)\n"),
        psql("║ ", "↵║", above="╔═══╗\n║ QUERY PLAN ║\n╠═══╣", below="╚═══╝\n(1 row)\n"),
        psql("           ", "+", above="* Record 1   ", first="QUERY PLAN "),  # \\x
        psql("           | ", "+", above="-[ RECORD 1 ]-----", first="QUERY PLAN | "),
        psql("           │ ", "↵", above="─[ ENREGISTREMENT 1 ]──", first="QUERY PLAN │ "),
        psql("|            | ", "+|", above="+-[ RECORD 1 ]--+", first="| QUERY PLAN | "),
        psql("", "", above="Expanded display is on.", first="QUERY PLAN|"),
        psql(
            " ",
            "+",
            above="Timing is on.\nQUERY PLAN\n---",
            below="(1 row)\n\nTime: 1.2 ms (0:1.2)",
        ),
        psql("", "", above="SET\nQUERY PLAN", below="(1 ligne)\nDurée : 1,234 ms\n"),
        psql("", "", below="Zeit: 1,234 ms"),
        psql("| ", "+|"),  # \\t
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_frames_of_psql(tmp_path: Path, text: str, end: str) -> None:
    plain = read(write(tmp_path, lines(*_EXPLAIN)), "jsonl")
    (tmp_path / "plan.json").write_bytes(f"{text}\n".replace("\n", end).encode() * 2)
    examples = read(tmp_path / "plan.json")
    assert_same(examples.select([0]), plain)
    assert len(examples) == 2


@pytest.mark.parametrize(
    "text",
    [
        'QUERY PLAN\n"[\n  {""Plan"": 1\n  }\n]"\n',  # CSV
        ' QUERY PLAN \n------\n [ +\n  {"Plan": {"Node Type": "Ne.\n.sted"}} +\n ]\n(1 row)\n',
        "QUERY PLAN\n[{",
    ],
)
def test_other_output_of_psql_is_refused_with_what_to_type(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(TreeError, match="expected JSON, got .*; print plans with psql -XAt$"):
        read(tmp_path / "plan.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"children": []}]\n{"x": }\n', ":2: expected JSON, got expecting value at column 7"),
        ('[{"children": []}]\n3\n', ":1: expected a list of objects, got int"),
        ('[{"children": []}]\n[]\n', ":1: expected a list of objects, got an empty list"),
        (
            " QUERY PLAN\n-----------\n Seq Scan on orders\n(1 row)\n",
            ":3: expected JSON, got expecting value at column 2; print plans with EXPLAIN (FORMAT "
            "JSON)",
        ),
    ],
)
def test_what_follows_a_document_is_checked(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "trees.json").write_text(text)
    with pytest.raises(TreeError) as caught:
        read(tmp_path / "trees.json", "json-records")
    assert str(caught.value) == f"{tmp_path / 'trees.json'}{message}"


def test_plans_of_duckdb_are_read_unchanged(tmp_path: Path) -> None:
    """EXPLAIN gives a list of a root, EXPLAIN ANALYZE a record with the root in a list."""

    def node(name: str, rows: int, *children: Any, **more: Any) -> dict[str, Any]:
        info = {"Estimated Cardinality": str(rows), **more}
        return {"name": name, "children": list(children), "extra_info": info}

    root = node("PROJECTION", 3, node("HASH_JOIN", 3, node("SEQ_SCAN", 25), node("SEQ_SCAN", 9)))
    for name, record in (
        ("explain.json", [root]),
        ("analyze.json", {"operator": [root], "query": {"total_time": 0.5, "sql": "SELECT 1"}}),
    ):
        text = json.dumps(record, indent=4)
        (tmp_path / name).write_text(f"{text}\n{text}\n")
        plans = read(tmp_path / name)
        assert plans.forest.sizes.tolist() == [4, 4]
        assert (
            plans.forest.columns["extra_info.Estimated Cardinality"].tolist() == [3, 3, 25, 9] * 2
        )
    assert plans.columns["query.total_time"].tolist() == [0.5, 0.5]
