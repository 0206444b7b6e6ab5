from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dgltrees import ConfigError, TreeError
from dgltrees.formats import FORMATS, RecordLayout, guess_format, read
from dgltrees.formats.format import TABLES
from dgltrees.formats.lines import gather
from tests.trees.nested import Tree, arrays, assert_same, names_of, nested, write

PLANS = (
    "query,id,depth,op,cost\nq1,1,0,Sort,1\nq1,2,1,Join,2.5\nq1,3,2,Scan,\nq1,4,2,Scan,7\n"
    "q2,5,0,Scan,1e3\n"
)


def test_preorder_and_depth(tmp_path: Path) -> None:
    path = write(tmp_path, PLANS)
    for layout in (
        RecordLayout(),
        RecordLayout(tree_id="query"),
        RecordLayout(tree_id="query", depth="depth"),
    ):
        examples = read(path, "nodes", layout=layout)
        forest = examples.forest
        assert forest.parent.tolist() == [-1, 0, 1, 1, -1]
        assert forest.pos.tolist() == [0, 0, 0, 1, 0]
        assert forest.offsets.tolist() == [0, 4, 5]
        assert names_of(forest, "op") == ["Sort", "Join", "Scan", "Scan", "Scan"]
        np.testing.assert_array_equal(forest.columns["cost"], [1, 2.5, np.nan, 7, 1000])
        assert examples.columns["line"].tolist() == [2, 6]
        assert ("query" in forest.columns) == (layout.tree_id is None)
        assert forest.columns["id"].tolist() == [1, 2, 3, 4, 5]
    assert examples.columns["query"].tolist() == ["q1", "q2"]


def test_rows_sorted_by_node(tmp_path: Path) -> None:
    text = "tree,at,depth,x\na,1,0,1\na,3,1,3\na,2,1,2\n"
    layout = RecordLayout(tree_id="tree", node_id="at")
    named = read(write(tmp_path, text), "nodes", layout=layout).forest
    rows = text.replace("tree,", "").replace("a,", "")  # where each root begins a tree
    single = read(write(tmp_path, rows), "nodes", layout=RecordLayout(node_id="at")).forest
    for forest in (named, single):
        assert forest.parent.tolist() == [-1, 0, 0]
        assert {name: x.tolist() for name, x in forest.columns.items()} == {"x": [1, 2, 3]}


@pytest.mark.parametrize(
    ("text", "parent"),
    [
        ("node,parent\n1,\n2,1\n3,2\n", [-1, 0, 1]),  # a file without trees is one
        ("node,parent\n3,2.0\n2,1.0\n1,\n", [1, 2, -1]),  # as pandas writes integers beside NaN
        ("node\tparent_id\nx\tz\ny\tz\nz\tNULL\n", [2, 2, -1]),
        ("id,parent\n0,-1\n1,0\n", [-1, 0]),
        ("id,parent\n-1,\n1,-1\n", [-1, 0]),
        ("id,parent\n1,\n1_1,1\n11,1_1\n", [-1, 0, 1]),  # Python's int reads 1_1 as 11
    ],
)
def test_parents(tmp_path: Path, text: str, parent: list[int]) -> None:
    assert read(write(tmp_path, text), "nodes").forest.parent.tolist() == parent


HEAD = "tree,id,parent,x\n"


@pytest.mark.parametrize(
    ("text", "layout", "message"),
    [
        (
            "tree,x\na,1\n",
            RecordLayout(),
            ":1: expected a column with the parent of each node, or its dept",
        ),
        (
            "tree,parent\na,1\n",
            RecordLayout(),
            ":1: expected a column with the id of each node among tree",
        ),
        (
            "tree,parent\na,1\n",
            RecordLayout(node_id="nr"),
            ":1: expected a column with 'nr' among tree, par",
        ),
        (HEAD + "a,1,,1\na,1,,1\n", RecordLayout(), ":3: expected every node once, got '1' again"),
        (
            HEAD + "a,1,,1\na,2,3,1\n",
            RecordLayout(),
            ":3: expected column 'parent' to hold the id of a n",
        ),
        (
            HEAD + "a,1,,1\nb,2,1,1\n",
            RecordLayout(),
            ":3: expected column 'parent' to hold the id of a n",
        ),
        (
            "id,parent\n1,\n2,\n",
            RecordLayout(),
            ":2: in the tree: expected exactly one root, got 2 (nodes 0 and 1); if the file has",
        ),
        ("id,parent\n1,\n1,\n", RecordLayout(), ":3: expected every node once, got '1' again; if"),
        (
            HEAD + "a,1,,1\nb,1,,1\nb,2,,1\n",
            RecordLayout(),
            ":3: in the tree of 'b': expected exactly one",
        ),
        (
            HEAD + "a,1,,1\na,2,3,1\na,3,2,1\n",
            RecordLayout(),
            ":3: in the tree of 'a': expected every nod",
        ),
        (
            HEAD + "a,1,,1\nb,1,,1\na,2,1,1\n",
            RecordLayout(),
            ":4: expected the rows of a tree one after t",
        ),
        (
            HEAD + "a,1,,1\nb,1,,x\n",
            RecordLayout(),
            ':3: expected one kind of value in column \'x\', got numbers ("1" in line 2) and "x"',
        ),
        (
            HEAD + "a,1,,1\na,2\n",
            RecordLayout(),
            ":3: expected 4 cells, as many as the first line has, go",
        ),
        (HEAD + 'a,1,,"1\n', RecordLayout(), ":2: expected a row of CSV, got: unexpected end"),
        (b"depth\n0\n\n\xff\n", RecordLayout(), ":4: expected UTF-8 text, got the byte 0xff"),
        ("\nop,x\na,1\n", RecordLayout(), ":2: expected a column with the parent of each node, or"),
        ("depth,depth\n0,0\n", RecordLayout(), ":1: expected every column once, got 'depth' twice"),
        (
            "depth\n0\n2\n",
            RecordLayout(),
            ":3: expected rows in preorder, of a depth at most one more th",
        ),
        (
            "t,depth\na,1\na,0\n",
            RecordLayout(tree_id="t"),
            ":3: expected rows in preorder, of a depth not",
        ),
        ("depth\n0\nx\n", RecordLayout(), ":3: expected column 'depth' to hold integers, got 'x'"),
        ("\nid;parent\n1;\n", RecordLayout(), ":2: expected commas or tabs between columns, got s"),
    ],
)
def test_rows_that_are_no_trees(
    tmp_path: Path, text: str | bytes, layout: RecordLayout, message: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(TreeError) as caught:
        read(path, "nodes", layout=layout)
    assert str(caught.value).startswith(f"{path}{message}")


def test_columns_of_names_hold_numbers_too(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + "a,1,,1\nb,1,,x\n")
    for options in (
        {"layout": RecordLayout(categorical_columns=("x",))},
        {"categorical_columns": ["x"]},
    ):
        assert names_of(read(path, "nodes", **options).forest, "x") == ["1", "x"]
    path = write(tmp_path, HEAD + "a,1,,0.5\nb,1,,0\nc,1,,-007\n")
    with pytest.warns(UserWarning, match="column 'x' is read as numbers, -007 as -7; if it holds"):
        assert read(path, "nodes").forest.columns["x"].tolist() == [0.5, 0, -7]


def test_booleans_are_the_numbers_of_other_formats(tmp_path: Path) -> None:
    column = read(write(tmp_path, HEAD + "a,1,,True\nb,1,,false\n"), "nodes").forest.columns["x"]
    assert column.dtype == np.int64
    assert column.tolist() == [1, 0]
    path = write(tmp_path, HEAD + "a,1,,NA\nb,1,,FALSE\n")
    np.testing.assert_array_equal(read(path, "nodes").forest.columns["x"], [np.nan, 0])
    assert names_of(read(path, "nodes", categorical_columns=["x"]).forest, "x")[1] == "FALSE"
    path = write(tmp_path, HEAD + "a,1,,True\na,2,1,maybe\n")
    assert names_of(read(path, "nodes").forest, "x") == ["True", "maybe"]


def test_fields_that_are_not_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"format \(tree_id, .*\), got children_key; leave"):
        FORMATS["nodes"].read(write(tmp_path, PLANS), layout=RecordLayout(children_key="Plans"))


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_trees_across_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    path = write(tmp_path, PLANS)
    whole = [
        read(path, "nodes", layout=layout)
        for layout in (RecordLayout(), RecordLayout(tree_id="query"))
    ]
    monkeypatch.setattr("dgltrees.formats.tables.Table.batches.__defaults__", (rows,))
    for examples, layout in zip(whole, (RecordLayout(), RecordLayout(tree_id="query"))):
        assert_same(gather(FORMATS["nodes"].chunks(path, 1, layout)), examples)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(nested(["f", "g"], ["x", "1y"]), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
    st.sampled_from(["number", "name"]),
)
def test_any_rows_in_any_order(tmp_path: Path, trees: list[Tree], random: Any, ids: str) -> None:
    text = "tree,node,parent,op\n"
    expected = []
    for number, tree in enumerate(trees):
        parent, _, labels = arrays([tree])
        order = random.sample(range(len(parent)), len(parent))
        code = (lambda i: str(7 * i)) if ids == "number" else (lambda i: f"n{i}")
        for i in order:
            up = code(parent[i]) if parent[i] >= 0 else ""
            text += f"{number},{code(i)},{up},{labels[i]}\n"
        expected += [order.index(parent[i]) if parent[i] >= 0 else -1 for i in order]
    assert read(write(tmp_path, text), "nodes").forest.parent.tolist() == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(nested(["f", "g"], ["x"]), min_size=1, max_size=4))
def test_any_depths(tmp_path: Path, trees: list[Tree]) -> None:
    parent, pos, _ = arrays(trees)
    depths: list[int] = []
    start = 0
    for i, up in enumerate(parent):
        start = i if up < 0 else start
        depths.append(0 if up < 0 else depths[start + up] + 1)
    text = "depth\n" + "".join(f"{depth}\n" for depth in depths)
    forest = read(write(tmp_path, text), "nodes").forest
    assert forest.parent.tolist() == parent
    assert forest.pos.tolist() == pos


def test_parquet(tmp_path: Path) -> None:
    from pyarrow import csv, feather, parquet

    plain = read(write(tmp_path, PLANS), "nodes", layout=RecordLayout(tree_id="query"))
    table = csv.read_csv(write(tmp_path, PLANS))
    parquet.write_table(table, tmp_path / "a.parquet")
    feather.write_feather(table, str(tmp_path / "a.arrow"))
    for suffix in TABLES[1:3]:
        path = tmp_path / f"a{suffix}"
        assert guess_format(path) == "nodes"
        examples = read(path, "nodes", layout=RecordLayout(tree_id="query"))
        assert examples.columns["line"].tolist() == [1, 5]
        examples.columns["line"][:] += 1  # rows of a table from 1, lines of text behind a header
        assert_same(examples, plain)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"node": [1, None, 3, 1]}, ":2: missing value in column 'node'"),
        ({"tree": [1, 1, None, 2]}, ":3: missing value in column 'tree'"),
        ({"parent": [None, "1", "x", None]}, ":3: expected column 'parent' to hold the id of a n"),
        ({"parent": [None, 1.5, 1, None]}, ":2: expected column 'parent' to hold the id of a nod"),
        ({"parent": [None, None, 1, None]}, ":1: in the tree of 1: expected exactly one root"),
        ({"parent": [None, 2**60, 1, None]}, ":2: expected column 'parent', which has missing"),
        (
            {"parent": np.array([0, 2**63, 1, 0], np.uint64)},
            ":2: expected column 'parent' to hold values that fit int",
        ),
        ({"depth": [0, 1.5, 1, 0]}, ":2: expected column 'depth' to hold integers, got 1.5"),
        ({"x": [b"a", b"b", b"c", b"\xff"]}, ":4: expected column 'x' to hold values that fit in"),
    ],
)
def test_rows_of_parquet_that_are_no_trees(
    tmp_path: Path, column: dict[str, Any], message: str
) -> None:
    import pyarrow
    from pyarrow import parquet

    rows = {"tree": [1, 1, 1, 2], "node": [1, 2, 3, 1], "parent": [None, 1, 1, None], **column}
    names = ("x",) if b"a" in rows.get("x", ()) else ()
    layout = RecordLayout(depth="depth" if "depth" in rows else None, categorical_columns=names)
    parquet.write_table(pyarrow.table(rows), tmp_path / "a.parquet")
    with pytest.raises(TreeError) as caught:
        read(tmp_path / "a.parquet", "nodes", layout=layout)
    assert str(caught.value).startswith(f"{tmp_path / 'a.parquet'}{message}")


def test_ids_of_parquet_as_names(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    ids = [2**60 + i for i in range(3)]
    rows = {"id": ids, "parent": [None, *ids[:2]]}
    parquet.write_table(pyarrow.table(rows), tmp_path / "a.parquet")
    examples = read(
        tmp_path / "a.parquet", "nodes", layout=RecordLayout(categorical_columns=("parent",))
    )
    assert examples.forest.parent.tolist() == [-1, 0, 1]
