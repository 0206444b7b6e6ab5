from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dgltrees import ConfigError, Forest, TreeError
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
        ("id,parent\nNA,\nx,NA\n", [-1, 0]),
        ("id,parent\n1,\n2,1\n3,\n4,3\n", [-1, 0, -1, 0]),  # without a column of trees, each root
        ("id,parent\n007,\n7,007\n", [-1, 0]),
        ("id,parent\n9007199254740993,\n9007199254740992,9007199254740993\n", [-1, 0]),
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
        (
            HEAD + "a,1,,1\na,1,,1\n",
            RecordLayout(),
            ":3: expected every 'id' once, got 1 of line 2",
        ),
        (
            HEAD + "a,1,,1\na,2,3,1\n",
            RecordLayout(),
            ":3: expected a value of 'id' in the tree 'a' as 'parent', got 3; leave it empty",
        ),
        (
            HEAD + "a,1,,1\nb,2,1,1\n",
            RecordLayout(),
            ":3: expected a value of 'id' in the tree 'b' as 'parent', got 1; leave it empty",
        ),
        (
            "id,parent\n1,\n1,\n",
            RecordLayout(),
            ":3: expected every 'id' once, got 1 of line 2 again; if",
        ),
        (
            HEAD + "a,1,,1\nb,1,,1\nb,2,,1\n",
            RecordLayout(),
            ":4: expected one root in the tree 'b', got line 3 and line 4",
        ),
        (
            HEAD + "a,1,,1\na,2,3,1\na,3,2,1\n",
            RecordLayout(),
            ":3: expected parents that lead to a root, got",
        ),
        (
            HEAD + "a,1,,1\nb,1,,1\na,2,1,1\n",
            RecordLayout(),
            ":4: expected the rows of a tree one after t",
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
        ("depth\n0\nx\n", RecordLayout(), ":3: expected an integer as 'depth', got 'x'"),
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


CELLS: list[tuple[list[str], list[Any]]] = [
    (["1", "x"], ["1", "x"]),
    (["1", "2.5", ""], [1, 2.5, None]),
    (["00123", "1", ""], ["00123", "1", None]),
    (["1_000", "1"], ["1_000", "1"]),
    (["NA", "1"], [None, 1]),
    (["NA", "DE", ""], ["NA", "DE", None]),  # Namibia
    (["nan", "\\N", "2"], [None, None, 2]),
    (["null", "None"], ["null", "None"]),
    (["None", "1"], ["None", "1"]),
    (["True", "false"], [1, 0]),
    (["NULL", "TRUE"], [None, 1]),
    (["true", "1"], ["true", "1"]),
    (["true", "maybe"], ["true", "maybe"]),
    (["٣", "1"], ["٣", "1"]),
    ([" 2", "3"], [2, 3]),
    (["a\nb", "c"], ["a\nb", "c"]),
    (['say ""hi""', "c"], ['say "hi"', "c"]),
]


def values_of(forest: Forest, name: str) -> list[Any]:
    """The names or numbers of a column, None where one is missing."""
    if name in forest.vocabs:
        return names_of(forest, name)
    return [None if value != value else value for value in forest.columns[name].tolist()]


@pytest.mark.parametrize("rows", [1, 100])
@pytest.mark.parametrize(("cells", "values"), CELLS)
def test_all_cells_of_a_column_decide_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: list[str], values: list[Any], rows: int
) -> None:
    """The kind depends neither on the first cell nor on the chunks in which a file is read."""
    monkeypatch.setattr("dgltrees.formats.tables._ROWS", rows)
    text = "depth,x\n" + "".join(f'0,"{cell}"\n' for cell in cells)
    assert values_of(read(write(tmp_path, text), "nodes").forest, "x") == values


@pytest.mark.parametrize(
    ("options", "cells", "values"),
    [
        ({"categorical_columns": ["x"]}, ["1", "FALSE", "NA"], ["1", "FALSE", "NA"]),
        ({"missing": ["NA"]}, ["NA", "DE", "NULL"], [None, "DE", "NULL"]),
        ({"missing": ["-"]}, ["-", "a"], [None, "a"]),
        ({"missing": ["-", "?"]}, ["-", "1", "NA", "?"], [None, 1, None, None]),
    ],
)
def test_users_decide_what_cells_mean(
    tmp_path: Path, options: Any, cells: list[str], values: list[Any]
) -> None:
    path = write(tmp_path, "depth,x\n" + "".join(f"0,{cell}\n" for cell in cells))
    assert values_of(read(path, "nodes", **options).forest, "x") == values


@pytest.mark.parametrize("rows", [1, 2, 100])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('depth,x\n0,"a\nb"\n\n0,c\n2,d\n', ":6: expected rows in preorder"),
        ("depth,x\n0,a\n0\n0,c\n", ":3: expected 2 cells, as many as the first line has, got 1"),
        ("depth,x\n0,a\n0,\n0\n", ":4: expected 2 cells, as many as the first line has, got 1"),
        ("depth,x\n0,a\n0,b,\n", ":3: expected 2 cells, as many as the first line has, got 3"),
        ('depth,x\n0,"a\nb"\n0,b,c\n', ":4: expected 2 cells, as many as the first line has, "),
        ('x,depth\n"a\nb",0\nc,\n', ":4: missing value in column 'depth'"),
    ],
)
def test_errors_of_text_tables_name_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str, rows: int
) -> None:
    monkeypatch.setattr("dgltrees.formats.tables._ROWS", rows)
    path = write(tmp_path, text)
    with pytest.raises(TreeError) as caught:
        read(path, "nodes")
    assert str(caught.value).startswith(f"{path}{message}")


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
    monkeypatch.setattr("dgltrees.formats.tables._ROWS", rows)
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
        ({"parent": [None, "1", "x", None]}, ":3: expected a value of 'node' in the tree 1 as"),
        ({"parent": [None, 1.5, 1, None]}, ":2: expected a value of 'node' in the tree 1 as 'par"),
        ({"parent": [None, None, 1, None]}, ":2: expected one root in the tree 1, got line 1 and "),
        ({"parent": [None, 2**60, 1, None]}, ":2: expected 'parent' to hold ids below 2^53 as"),
        (
            {"parent": np.array([0, 2**63, 1, 0], np.uint64)},
            ": expected column 'parent' to hold values that fit into",
        ),
        ({"depth": [0, 1.5, 1, 0]}, ":2: expected an integer as 'depth', got 1.5"),
        ({"x": [b"a", b"b", b"c", b"\xff"]}, ": expected column 'x' to hold values that fit into"),
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
