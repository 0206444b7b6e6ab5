"""Forests of any Python objects."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import ConfigError, Forest, TreeError, Vocabulary
from dgltrees.trees.builders import from_objects
from tests.trees.nested import Tree, assert_shape, names_of, nested
from tests.worlds import chain

PLAN = {
    "Node Type": "Hash Join",
    "Plan Rows": 40,
    "Total Cost": 8.5,
    "Plans": [
        {"Node Type": "Seq Scan", "Plan Rows": 9, "Plans": []},
        {"Node Type": "Hash", "Plan Rows": 7, "Total Cost": 1, "Plans": None},
    ],
}


def node(label: Any, *children: Any, **columns: Any) -> dict[str, Any]:
    return {"label": label, "children": children, **columns}


def test_plans() -> None:
    forest = Forest.from_objects([PLAN], "Plans", ["Node Type", "Plan Rows", "Total Cost"])
    assert forest.parent.tolist() == [-1, 0, 0]
    assert names_of(forest, "Node Type") == ["Hash Join", "Seq Scan", "Hash"]
    assert list(forest.columns) == ["Node Type", "Plan Rows", "Total Cost"]
    assert forest.columns["Plan Rows"].dtype == np.int64
    np.testing.assert_array_equal(forest.columns["Total Cost"], [8.5, np.nan, 1])


def as_dict(tree: Tree) -> Any:
    head, *below = [tree] if isinstance(tree, str) else tree
    return {"name": head, "below": list(map(as_dict, below))}


def as_object(tree: Tree) -> Any:
    head, *below = [tree] if isinstance(tree, str) else tree
    return SimpleNamespace(name=head, below=tuple(map(as_object, below)))


def as_pair(tree: Tree) -> Any:
    head, *below = [tree] if isinstance(tree, str) else tree
    return [head, *([list(map(as_pair, below))] if below else [])]


def as_mixed(tree: Tree) -> Any:
    head, *below = [tree] if isinstance(tree, str) else tree
    make = (as_dict, as_object)[len(below) % 2](head)
    children = list(map(as_mixed, below))
    if isinstance(make, dict):
        make["below"] = children
    else:
        make.below = children
    return make


@pytest.mark.parametrize(
    ("convert", "children", "name"),
    [
        (as_dict, "below", "name"),
        (as_object, "below", "name"),
        (as_mixed, "below", "name"),
        (as_pair, 1, 0),
        (as_dict, lambda node: iter(node["below"]), lambda node: node["name"]),
        (lambda tree: tree, lambda node: () if isinstance(node, str) else node[1:], lambda n: n[0]),
    ],
)
@given(trees=st.lists(nested("ST", "abc"), min_size=1, max_size=3))
def test_getters(convert: Callable[[Any], Any], children: Any, name: Any, trees: list[Any]) -> None:
    forest = from_objects(map(convert, trees), children, {"label": name})
    assert_shape(forest, trees)
    checked = Forest.build(forest.parent, pos=forest.pos, offsets=forest.offsets)
    for known in (forest, forest.with_columns({})):  # what a walk knows need not be computed
        assert known.depth.tolist() == checked.depth.tolist()
        assert known.batch().src.tolist() == checked.batch().src.tolist()
    text = [str(t).translate({ord(c): None for c in "()', "}) for t in trees]
    assert "".join(map(str, names_of(forest, "label"))) == "".join(text)


def test_places_of_children() -> None:
    root = {"left": None, "right": {"left": {}, "right": None}}
    forest = from_objects([root, {}], ["left", "right"])
    assert forest.parent.tolist() == [-1, 0, 1, -1]
    assert forest.pos.tolist() == [0, 1, 0, 0]
    assert from_objects([node("a", None, node("b"))]).pos.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ([1, 2, 3], np.array([1, 2, 3])),
        ([1, None, 3], np.array([1, np.nan, 3])),
        ([1, 2.5, None], np.array([1, 2.5, np.nan])),
        ([np.float32(1), np.float32(2), np.float32(3)], np.array([1, 2, 3], np.float32)),
        ([Decimal("0.5"), None, 2], np.array([0.5, np.nan, 2])),
        ([True, False, True], np.array([True, False, True])),
        ([True, None, False], np.array([1, np.nan, 0])),
        ([True, 3, False], np.array([1, 3, 0])),
        ([1, float("nan"), 3], np.array([1, np.nan, 3])),
        ([1, pandas.NA, pandas.NaT], np.array([1, np.nan, np.nan])),
        (["1", "2.5", None], np.array([1, 2.5, np.nan])),
        (["1", "20", "-3"], np.array([1, 20, -3])),
        ([[1, 2], (3, 4), np.array([5, 6])], np.array([[1, 2], [3, 4], [5, 6]])),
        ([[1, 2], None, [0.5, 3]], np.array([[1, 2], [np.nan, np.nan], [0.5, 3]])),
        ([torch.ones(2), None, torch.zeros(2)], np.array([[1, 1], [np.nan] * 2, [0, 0]])),
        ([np.array(1), np.array(2), np.array(3)], np.array([1, 2, 3])),
        ([torch.tensor(1.0, requires_grad=True)] * 3, np.ones(3, np.float32)),
    ],
)
def test_kinds_of_columns(values: list[Any], column: np.ndarray[Any, Any]) -> None:
    root = node("", node("", x=values[1]), node("", x=values[2]), x=values[0])
    forest = from_objects([root], columns=["x"])
    np.testing.assert_array_equal(forest.columns["x"], column)
    assert forest.columns["x"].dtype == column.dtype
    assert not forest.vocabs
    forest.batch()


def test_names() -> None:
    vocab = Vocabulary(["b"])
    root = node("a", node(None), node("b"))
    forest = from_objects(
        [root], columns=["label", "other"], vocabs={"label": vocab, "other": vocab}
    )
    assert forest.columns["label"].tolist() == [1, -1, 0]
    assert forest.columns["other"].tolist() == [-1, -1, -1]


def test_deep_and_wide() -> None:
    deep: dict[str, Any] = node("a")
    for _ in range(100_000):
        deep = node("a", deep)
    wide = node("a", *(node("b") for _ in range(100_000)))
    forest = from_objects([deep, wide], columns=["label"])
    assert forest.depths.tolist() == [100_000, 1]
    assert forest.sizes.tolist() == [100_001, 100_001]
    while deep["children"]:  # freed one by one: older Pythons free what is nested by recursion
        deep = deep["children"][0]


def cycle() -> Any:
    root: Any = {"children": [{"children": []}]}
    root["children"][0]["children"].append(root)
    return root


def shared() -> Any:
    leaf = node("x")
    return node("a", leaf, node("b", leaf))


def test_shared_objects() -> None:
    forest = from_objects([shared()], columns=["label"], share=False)
    assert names_of(forest, "label") == ["a", "x", "b", "x"]
    twice = shared()["children"][1]
    assert len(from_objects([twice, twice])) == 2
    graph = {"S": ["NP", "VP", "NP"], "VP": ["NP"]}
    forest = from_objects(["S"], graph.get, {"label": str})
    assert names_of(forest, "label") == ["S", "NP", "VP", "NP", "NP"]
    with pytest.raises(TreeError, match="node 2: expected a tree, got an object that contains"):
        from_objects([cycle()], share=False)
    with pytest.raises(ConfigError, match=r"share=False, which writes .*, got share=True"):
        from_objects([shared()], share=True)  # type: ignore[arg-type]


def rows(*values: Any) -> dict[str, Any]:
    root, *below = values
    return node("r", *(node("c", x=value) for value in below), x=root)


@pytest.mark.parametrize(
    ("roots", "message"),
    [
        ([], "expected at least one tree, got none"),
        (rows(1), "expected a list of roots, got one dict; write [root]"),
        (SimpleNamespace(), "expected a list of roots, got one SimpleNamespace; write [root]"),
        ([rows(1), None], "tree 1: expected an object as root, got None"),
        ([rows(1), cycle()], "tree 1, node 2: expected a tree, got an object that contains itself"),
        (
            [shared()],
            "tree 0, node 3: expected each object once in a tree, got the dict of node 1 "
            "again; share=False writes it out at each place",
        ),
        ([node("a", *"bcd")], "tree 0, node 1: expected an object or mapping to get 'children'"),
        ([{"children": "abc"}], 'tree 0, node 0: expected a list of children, got "abc"; '),
        ([{"children": 3}], "tree 0, node 0: expected a list of children, got 3; "),
        ([{"children": node("a")}], 'tree 0, node 0: expected a list of children, got {"label"'),
        (
            [rows(1), rows(2, "many")],
            "tree 1, node 1: expected one kind of value in column 'x', got numbers (1 in tree 0, "
            'node 0) and "many" in tree 1, node 1; correct one of them, leave a missing value out, '
            "or name the column in categorical_columns to read it as strings",
        ),
        ([rows([1], [1, 2])], "tree 0, node 1: expected one kind of value in column 'x', got vec"),
        ([rows([1], ["a"])], "tree 0, node 1: expected one kind of value in column 'x', got vect"),
        (
            [rows([1], [[1], []])],
            "tree 0, node 1: expected one kind of value in column 'x', got vectors of 1 numbers",
        ),
        ([rows(1, {})], "tree 0, node 1: expected one kind of value in column 'x', got numbers"),
        ([rows(1, 1j)], "tree 0, node 1: expected strings, numbers or lists in column 'x', got 1j"),
        (
            [rows(2**60 + 1, None)],
            "tree 0, node 0: expected integers of 64 bits in column 'x', or up to 2^53 where",
        ),
        ([rows(1, 2**63)], "tree 0, node 1: expected integers of 64 bits in column 'x', or up"),
    ],
)
def test_bad_objects(roots: Any, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        from_objects(roots, columns=["x"])
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": "label"}, "columns: expected a list of names, got 'label'; write ['label']"),
        (
            {"columns": [0]},
            "columns: expected names, got 0; write {'name': 0} for a column of this",
        ),
        (
            {"vocabs": {"x": Vocabulary()}},
            "expected vocabularies for the columns label, got one for x",
        ),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_objects([node("a")], **arguments)
    assert str(caught.value).startswith(message)


def test_a_frozen_vocabulary_names_the_node() -> None:
    vocabs = {"label": Vocabulary("a", frozen=True)}
    roots: Sequence[Any] = [node("a"), node("a", node("b"))]
    with pytest.raises(TreeError, match=r"^tree 1, node 1: expected one of the 1 known names"):
        from_objects(roots, columns=["label"], vocabs=vocabs)


def test_columns_that_are_read_as_strings() -> None:
    forest = from_objects(
        [rows(1, "00", 2.0, True, [1, "x"], {"y": None})], categorical_columns=["x"]
    )
    assert names_of(forest, "x") == ["1", "00", "2", "true", '[1, "x"]', '{"y": null}']
    assert names_of(from_objects([rows("1", "2")], categorical_columns="x"), "x") == ["1", "2"]
    for texts in (["01", "2"], ["1", "x"], ["1", "1_0"], ["1", "nan"]):
        assert names_of(from_objects([rows(*texts)]), "x") == texts
    assert names_of(from_objects([rows(1, 2)], columns={"x": lambda n: str(n["x"])}), "x") == [
        "1",
        "2",
    ]


def test_nested_dictionaries() -> None:
    forest = from_objects([PLAN], "Plans", ["Node Type", "Plan Rows"])
    scan, hashed = ({**plan} for plan in PLAN["Plans"])  # type: ignore[attr-defined]
    expected = {**PLAN, "Plans": [scan, hashed]}
    for plan in (expected, scan, hashed):
        plan.pop("Total Cost", None)
    for plan in (scan, hashed):
        del plan["Plans"]
    assert forest.to_objects(children="Plans") == expected
    with pytest.raises(ConfigError, match="children: expected another key than the columns have"):
        forest.to_objects(children="Plan Rows")


def test_a_deep_tree_as_dictionaries() -> None:
    deep = chain(100_000).to_objects()
    assert from_objects([deep]).depths.tolist() == [99_999]
    while "children" in deep:
        deep = deep["children"][0]


class Operator(str, Enum):
    PLUS = "+"


def test_names_are_plain_strings() -> None:
    root = node(Operator.PLUS, node(np.str_("a")), node(None), node("b"))
    names = from_objects([root], columns=["label"]).vocabs["label"].names
    assert names == ["+", "a", "b"]
    assert {type(name) for name in names} == {str}


def test_a_column_without_any_value_is_nan_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="column 'x' has no value at any node"):
        forest = Forest.from_objects([{}, {}], "children", ["x"])
    assert np.isnan(forest.columns["x"]).tolist() == [True, True]


def test_all_keys_of_dictionaries_are_columns_by_default() -> None:
    forest = from_objects([PLAN, SimpleNamespace(x=1)], "Plans")
    assert list(forest.columns) == ["Node Type", "Plan Rows", "Total Cost"]
    more = {"a": 1, "b": None, "c": {"d": {"e": 2.5}, "f": "x"}, "g": ["x", 1], 7: 3, "h": []}
    forest = from_objects([more], ["left", "right"])
    assert list(forest.columns) == ["a", "c.d.e", "c.f", "g", "7"]
    assert names_of(forest, "g") == ['["x", 1]']
    some = from_objects([more], "children", ["c.f", "a"])
    assert {
        name: names_of(some, name) if name == "c.f" else some.columns[name].tolist()
        for name in some.columns
    } == {"c.f": ["x"], "a": [1]}
    assert list(from_objects([PLAN], "Plans", ()).columns) == []


@pytest.mark.parametrize(
    ("roots", "cure"),
    [
        ([PLAN, {"Node Type": "Result"}], "children='Plans'[?]"),
        ([{"query": {"plan": [PLAN]}}], "children='Plans', in the value of 'query.plan'[?]"),
    ],
)
def test_a_wrong_key_of_the_children_is_a_warning(roots: list[Any], cure: str) -> None:
    with pytest.warns(UserWarning, match=f"every tree is a single node, .*; did you mean {cure}"):
        assert from_objects(roots, "children", ()).num_nodes == len(roots)
    assert from_objects([{"Plans": []}, {"Plans": [1, 2]}], "children", ()).num_nodes == 2
