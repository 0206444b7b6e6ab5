"""Forests of JSON documents, against a recursion over the parsed values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import Forest, TreeError
from dgltrees.trees.builders import from_json
from tests.trees.nested import names_of

Row = tuple[str | None, str, str | None, int]
TEXTS = st.sampled_from(["", "a", "1", "true", 'x"\\\n', "\xe9 \u96ea"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXTS, below, max_size=3),
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
    forest = from_json(b'{"a": 2.50, "a": 1e400, "b": -0, "n": ' + b"9" * 5000 + b"}")
    assert [row[2] for row in rows_of(forest)] == [None, "2.50", "1e400", "-0", "9" * 5000]
    assert [row[0] for row in rows_of(forest)] == [None, "a", "a", "b", "n"]


def test_wide() -> None:
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
        ("[NaN]", "d.json:1: tree 1: expected JSON, got NaN, which is no JSON number"),
        (b'["NaN \\" NaN",\n\n-Infinity]', "d.json:3: tree 1: expected JSON, got -Infinity, which"),
        (b'["a",\n"\xff"]', "d.json:2: tree 1: expected JSON in UTF-8, got the byte 0xff"),
    ],
)
def test_bad_documents(text: str | bytes, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        from_json("[]", text, file="d.json")
    assert str(caught.value).startswith(message)
