"""Forests of nested objects, and of JSON documents."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import ConfigError, Forest, TreeError, Vocabulary
from dgltrees.trees.builders import from_json, from_nested
from tests.trees.nested import Tree, arrays, assert_shape, names_of, nested

TREES = st.lists(nested(["S", "NP"], ["a", "b"]), min_size=1, max_size=4)


def labels_of(forest: Forest) -> list[str | None]:
    return names_of(forest, "label")


def as_pair(tree: Tree) -> Any:
    return tree if isinstance(tree, str) else (tree[0], list(map(as_pair, tree[1:])))


def as_dict(tree: Tree) -> Any:
    if isinstance(tree, str):
        return {"label": tree}
    return {"label": tree[0], "children": tuple(map(as_dict, tree[1:]))}


def as_children(tree: Tree) -> Any:
    return tree if isinstance(tree, str) else list(map(as_children, tree[1:]))


@given(trees=TREES)
def test_the_forms_agree(trees: list[Tree]) -> None:
    head = from_nested(*trees, form="head")
    assert_shape(head, trees)
    assert labels_of(head) == arrays(trees)[2]
    for other in (
        from_nested(*map(as_pair, trees), form="pair"),
        from_nested(*map(as_dict, trees)),
    ):
        assert_shape(other, trees)
        assert labels_of(other) == labels_of(head)
    bare = from_nested(*map(as_children, trees))
    assert_shape(bare, trees)
    inner = head.degree > 0
    assert labels_of(bare) == [None if i else name for i, name in zip(inner, labels_of(head))]


def test_none_is_a_missing_child() -> None:
    forest = from_nested((None, "a", None, "b"))
    assert forest.pos.tolist() == [0, 1, 3]
    assert forest.parent.tolist() == [-1, 0, 0]


def test_labels_are_strings_or_numbers() -> None:
    forest = from_nested(("+", 1, np.int64(2), 0.5, {"label": None, "children": []}), form="head")
    assert labels_of(forest) == ["+", "1", "2", "0.5", None]


def test_an_object_may_occur_twice() -> None:
    twin = ("a", "b")
    assert from_nested((twin, twin)).sizes.tolist() == [7]


def test_deep_and_wide() -> None:
    deep: Any = "a"
    for _ in range(100_000):
        deep = (deep,)
    forest = from_nested(deep, tuple(range(100_000)))
    assert forest.sizes.tolist() == [100_001, 100_001]
    assert forest.depths.tolist() == [100_000, 1]


def cycle() -> list[Any]:
    inner: list[Any] = ["a"]
    inner.append(("b", inner))
    return ["c", inner]


@pytest.mark.parametrize(
    ("tree", "form", "message"),
    [
        (cycle(), "children", "tree 1, node 6: expected a tree, got an object that contains"),
        ((), "head", "tree 1, node 0: expected (label, child, ...), got an empty tuple"),
        (("a", ["b"], "c"), "pair", "tree 1, node 0: expected (label, [child, ...]), got 3 items"),
        (("a", "b"), "pair", "tree 1, node 0: expected a list or tuple of children, got an object"),
        (("a", {"name": 1}), "head", "tree 1, node 1: expected the keys 'label' and 'children'"),
        (("a", {1, 2}), "head", "tree 1, node 1: expected a string or number as a label, got an"),
        ((("a",), "b"), "head", "tree 1, node 0: expected a string or number as a label, got an"),
        (None, "children", "tree 1: expected an object as root, got None"),
        (("a", "zz"), "head", "tree 1, node 1: expected one of the 4 known names"),
    ],
)
def test_bad_objects(tree: Any, form: Any, message: str) -> None:
    letters = Vocabulary(["a", "b", "c", "d"], frozen=True)
    with pytest.raises(TreeError) as caught:
        from_nested("a", tree, form=form, vocabs={"label": letters})
    assert str(caught.value).startswith(message)


def test_wrong_settings() -> None:
    with pytest.raises(ConfigError, match="form: expected one of children, head, pair, got 'x'"):
        from_nested("a", form="x")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="for the columns label, got one for word"):
        from_nested("a", vocabs={"word": Vocabulary()})
    with pytest.raises(TreeError, match="^expected at least one tree, got none$"):
        from_nested()


Row = tuple[str | None, str, str | None, int]
STRINGS = st.sampled_from(["", "a", "1", "true", 'x"\\\n', "\xe9 \u96ea"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | STRINGS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(STRINGS, below, max_size=3),
    max_leaves=10,
)
KINDS = {
    dict: "object",
    list: "array",
    str: "string",
    int: "number",
    bool: "boolean",
    type(None): "null",
}


def rows(value: Any, key: str | None = None) -> list[Row]:
    """``(key, kind, text, number of children)`` in preorder, by recursion."""
    kind = KINDS[type(value)]
    children: list[tuple[str | None, Any]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = [(None, item) for item in value]
    text = None if kind in ("object", "array", "null") else value
    if not isinstance(text, str) and text is not None:
        text = json.dumps(text)
    below = [row for name, child in children for row in rows(child, name)]
    return [(key, kind, text, len(children)), *below]


def rows_of(forest: Forest) -> list[Row]:
    """The same of the nodes of a forest."""
    columns = (names_of(forest, column) for column in ("label", "kind", "value"))
    return list(zip(*columns, forest.degree.tolist()))


@given(values=st.lists(VALUES, min_size=1, max_size=3), indent=st.sampled_from([None, 1]))
def test_reads_what_was_written(values: list[Any], indent: int | None) -> None:
    forest = from_json(*(json.dumps(value, indent=indent) for value in values))
    assert rows_of(forest) == [row for value in values for row in rows(value)]
    assert len(forest) == len(values)


def test_numbers_are_as_they_are_written() -> None:
    forest = from_json(b'{"a": 2.50, "c": 1e400, "b": -0, "n": ' + b"9" * 5000 + b"}")
    assert [row[2] for row in rows_of(forest)] == [None, "2.50", "1e400", "-0", "9" * 5000]
    assert [row[0] for row in rows_of(forest)] == [None, "a", "c", "b", "n"]


def test_a_wide_document() -> None:
    assert from_json("[" + ",".join("1" * 100_000) + "]").degree.max() == 100_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[" * 100_000 + "]" * 100_000,
            "d.json:1: tree 1: expected JSON that Python's json can read",
        ),
        ('{"a":\n' * 100_000, "d.json:100000: tree 1: expected JSON that Python's json can read"),
        ('{"a":\n[1,', "d.json:2: tree 1: expected JSON, got expecting value at column 4"),
        ("", "d.json:1: tree 1: expected JSON, got expecting value at column 1"),
        ("[1]\n[2]", "d.json:2: tree 1: expected JSON, got extra data at column 1"),
        ("[NaN]", "d.json:1: tree 1: expected JSON, got NaN, which is not a JSON number"),
        (
            '{"a": {"b": 1},\n"c": [{"b": 2,\n"a": "b", "b": 3}]}',
            "d.json:3: tree 1: expected every key once in an object, got 'b' twice",
        ),
        (b'["NaN \\" NaN",\n\n-Infinity]', "d.json:3: tree 1: expected JSON, got -Infinity, which"),
        (b'["a",\n"\xff"]', "d.json:2: tree 1: expected JSON in UTF-8, got the byte 0xff"),
    ],
)
def test_bad_json(text: str | bytes, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        from_json("[]", text, file="d.json")
    assert str(caught.value).startswith(message)
