"""Forests of tables with a row per node."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas import DataFrame

from dgltrees import Forest, TreeError
from dgltrees.trees.builders import from_table
from tests.trees.nested import names_of
from tests.worlds import chain, forests, star


def table_of(forest: Forest, name: Any) -> dict[str, Any]:
    """The rows of a forest, with an id that is unique in the table."""
    up = forest.global_parent.tolist()
    return {
        "id": list(map(name, range(len(up)))),
        "up": [None if row < 0 else name(row) for row in up],
        "tree": [f"t{tree}" for tree in forest.tree_of_node],
        "x": np.arange(len(up)) / 2,
        "op": [None if row % 3 else "ab"[row % 2] for row in range(len(up))],
    }


@pytest.mark.parametrize("name", [int, str, lambda row: (row, "x"), lambda row: -row / 2 - 1])
@pytest.mark.parametrize("tree", [None, "tree"])
@given(forest=forests())
def test_rows_of_a_forest(name: Any, tree: Any, forest: Forest) -> None:
    again = from_table(table_of(forest, name), parent="up", tree=tree, columns=["x", "op"])
    np.testing.assert_array_equal(again.parent, forest.parent)
    np.testing.assert_array_equal(again.offsets, forest.offsets)
    np.testing.assert_array_equal(again.columns["x"], np.arange(forest.num_nodes) / 2)
    assert names_of(again, "op") == table_of(forest, name)["op"]


@given(forest=forests(), seed=st.integers(0, 99))
def test_rows_in_any_order(forest: Forest, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(forest.num_nodes)
    table = {key: [column[row] for row in order] for key, column in table_of(forest, int).items()}
    again = from_table(table, parent="up", columns=["id"])
    for mine, tree in zip(again, forest[forest.tree_of_node[np.sort(order)]]):
        assert mine.num_nodes > 0
        assert tree.num_nodes > 0
    ids = again.columns["id"]
    up = np.where(again.global_parent < 0, -1, ids[again.global_parent])
    np.testing.assert_array_equal(up, forest.global_parent[ids])
    for tree_rows in np.split(ids, again.offsets[1:-1]):
        assert len(set(forest.tree_of_node[tree_rows].tolist())) == 1


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    frame = pandas.DataFrame(
        {
            "id": [10, 11, 12],
            "parent": [12, 10, np.nan],
            "op": ["x", None, "y"],
            "kind": pandas.Categorical(["u", "u", "v"]),
            "rows": pandas.array([1, None, 3], dtype="Int64"),
            "flag": [True, False, True],
        },
        index=["c", "a", "b"],
    )
    forest = from_table(frame)
    assert forest.parent.tolist() == [2, 0, -1]
    assert names_of(forest, "op") == ["x", None, "y"]
    assert names_of(forest, "kind") == ["u", "u", "v"]
    np.testing.assert_array_equal(forest.columns["rows"], [1, np.nan, 3])
    assert forest.columns["flag"].tolist() == [True, False, True]


def test_deep_and_wide() -> None:
    for forest in (chain(100_000), star(100_000)):
        again = from_table(table_of(forest, int), parent="up", columns=[])
        np.testing.assert_array_equal(again.parent, forest.parent)


def test_minus_one_is_a_root_where_it_is_no_id() -> None:
    assert from_table(rows([0, 1], [-1, 0])).parent.tolist() == [-1, 0]
    assert from_table(rows([-1, 1], [None, -1])).parent.tolist() == [-1, 0]


@pytest.mark.parametrize("tree", [None, "query"])
def test_depths_in_preorder(tree: str | None) -> None:
    table = {"query": list("aaaaabb"), "level": [1, 2, 3, 2, 3, 1, 2.0], "x": [*range(7)]}
    forest = from_table(table, depth="level", tree=tree, columns=["x"])
    assert forest.offsets.tolist() == [0, 5, 7]
    assert forest.parent.tolist() == [-1, 0, 1, 0, 3, -1, 0]
    assert forest.columns["x"].tolist() == [*range(7)]


def rows(ids: Any, parents: Any, **columns: Any) -> dict[str, Any]:
    return {"id": ids, "parent": parents, **columns}


@pytest.mark.parametrize(
    ("table", "arguments", "message"),
    [
        ("train.csv", {}, "expected a data frame or a mapping of columns, got 'train.csv'; "),
        ([{"id": 1}], {}, "expected a data frame or a mapping of columns, got [{'id': 1}]; "),
        (rows([], []), {}, "expected at least one row, got an empty table"),
        (rows([1], [None]), {"tree": "t"}, "expected a column 't', got id, parent"),
        (rows([1], [None]), {"columns": ["x"]}, "expected a column 'x', got id, parent"),
        (
            DataFrame([[1, None, 1, 2], [2, 1, 3, 4]], columns=["id", "parent", "a", "a"]),
            {},
            "expected every column once, got 'a' twice",
        ),
        (rows([1, 2], [None]), {}, "expected columns of one length, got 2 values of 'id' and 1 of"),
        (rows([1, None], [None, 1]), {}, "row 1: missing value in column 'id'"),
        (rows([1, 1], [None, 1]), {}, "row 1: expected every 'id' once, got 1 of row 0"),
        (rows([[1]], [None]), {}, "row 0: expected a hashable value as 'id', got [1]"),
        (rows([2**60], [2.0**60]), {}, "row 0: expected 'parent' to hold ids below 2^53 as floats"),
        (
            rows([1, 2], [None, 3]),
            {},
            "row 1: expected a value of 'id' as 'parent', got 3; leave it empty",
        ),
        (rows([1, 2], [None, [1]]), {}, "row 1: expected a hashable value as 'parent', got [1]"),
        (rows([1, 2, 3], [None, 3, 2]), {}, "row 1: expected parents that lead to a root, got a"),
        (
            rows([1, 1], [None, 1], t="ab"),
            {"tree": "t"},
            "row 1: expected parents that lead to a root",
        ),
        (
            rows([1, 2], [None, 1], t="ab"),
            {"tree": "t"},
            "row 1: expected a value of 'id' in the tree 'b' as 'parent', got 1; leave it empty",
        ),
        (rows([1], [None], t=[None]), {"tree": "t"}, "row 0: missing value in column 't'"),
        (
            rows([1, 2], [None, None], t="aa"),
            {"tree": "t"},
            "row 1: expected one root in the tree 'a', got row 0 and row 1",
        ),
        ({"depth": [0, 1]}, {}, "expected a column 'id', got depth; for rows in preorder with"),
        ({"d": [0, 2]}, {"depth": "d"}, "row 1: expected rows in preorder, of a depth at most one"),
        ({"d": [1, 0]}, {"depth": "d"}, "row 1: expected rows in preorder, of a depth not less"),
        ({"d": [0, 0.5]}, {"depth": "d"}, "row 1: expected an integer as 'd', got 0.5"),
        ({"d": [0, None]}, {"depth": "d"}, "row 1: missing value in column 'd'"),
        (
            {"d": [0, 1, 0], "t": "aba"},
            {"depth": "d", "tree": "t"},
            "row 2: expected one root in the tree 'a', got row 0 and row 2",
        ),
        (
            rows([1, 2], [None, 1], x=[1, "a"]),
            {},
            "row 1: expected one kind of value in column 'x', got numbers (1 in row 0)",
        ),
    ],
)
def test_bad_tables(table: Any, arguments: Any, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        from_table(table, **arguments)
    assert str(caught.value).startswith(message)
