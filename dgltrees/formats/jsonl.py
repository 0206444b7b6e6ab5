"""JSON Lines: a record per line, with a tree of objects in objects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike, replacing
from dgltrees.errors import TreeError
from dgltrees.formats.layout import Layout
from dgltrees.formats.lines import gather, record_chunks
from dgltrees.formats.records import Records, parse_json
from dgltrees.trees.examples import Examples
from dgltrees.trees.forest import Forest

__all__ = ["read_jsonl", "stream_jsonl", "write_jsonl"]


def read_jsonl(path: PathLike, layout: Layout = Layout()) -> Examples:  # noqa: B008
    """All trees of a JSON Lines file; see :func:`stream_jsonl`."""
    return gather(stream_jsonl(path, layout=layout))


def stream_jsonl(
    path: PathLike,
    trees: int = 10_000,
    layout: Layout = Layout(),  # noqa: B008
) -> Iterator[Examples]:
    """The trees of a JSON Lines file, ``trees`` lines at a time, fewer where they are long.

    A line is an object, or a list of one object. A node is an object with a list of nodes under
    ``layout.children``, in which null is a missing child; leaves need no list. The root is the
    object itself, or what stands at ``layout.tree``.

    Node columns: the other members of the nodes; see :class:`~dgltrees.formats.values.Columns`.
    Example columns: ``line``, and with ``layout.tree`` what stands beside the tree.

    Arguments:
        path: the file, which may be packed with gzip.
        trees: the most lines per chunk.
        layout: ``children``, ``tree`` and ``names`` are read.

    Raises:
        TreeError: with file and line: the file is empty or not UTF-8, a line is no JSON or too deep
            for Python's ``json``, a root or node is no object, or a column is not of one kind.
            Without line: no node has ``layout.children``, but some have other lists of objects.
        ConfigError: ``trees`` is below 1.
    """
    records = Records(path, layout)
    for lines, texts in record_chunks(path, trees):
        values = [parse_json(text, path, line) for line, text in zip(lines, texts)]
        yield records.examples(values, lines)
    records.check_children()


def write_jsonl(examples: Examples, path: PathLike, layout: Layout = Layout()) -> None:  # noqa: B008
    """Write trees that :func:`stream_jsonl` reads back with the same layout.

    Missing values are left out. A record without anything but its tree is the root itself.

    Arguments:
        examples: single trees.
        path: the file; it is replaced once all is written.
        layout: ``children`` and ``tree`` are read.

    Raises:
        TreeError: examples are pairs, have columns besides ``line`` while ``layout.tree`` names no
            place for the tree beside them, or a column is named as the children are.
    """
    forest = examples.forest
    beside = {name: column for name, column in examples.columns.items() if name != "line"}
    if examples.arity > 1:
        raise TreeError(f"expected single trees, got {examples.arity} per example")
    if beside and layout.tree is None:
        raise TreeError(
            f"expected trees alone, got the example columns {', '.join(beside)}; name the key that "
            "the trees have beside them, such as Layout(tree='tree')"
        )
    if layout.children in forest.columns:
        raise TreeError(
            f"expected {layout.children!r} for the children alone, got a column of this name; "
            "give the layout another key for them"
        )
    keys = [] if layout.tree is None else layout.tree.split(".")
    members = _members(
        len(examples),
        {
            name: _values(
                column,
                examples.targets.names if name == "target" and len(examples.targets) else None,
            )
            for name, column in beside.items()
        },
    )
    with replacing(path) as file:
        for tree in range(len(forest)):
            text = "".join(_pieces(forest.tree(tree), layout.children))
            for depth, key in enumerate(reversed(keys)):
                first = members[tree] if depth == len(keys) - 1 else ""
                text = f"{{{first}{', ' if first else ''}{json.dumps(key)}: {text}}}"
            file.write(text + "\n")


def _pieces(tree: Forest, children: str) -> Iterator[str]:
    """The text of a tree in pieces."""
    vocabs = tree.vocabs
    members = _members(
        tree.num_nodes,
        {
            name: _values(column, vocabs[name].names if name in vocabs else None)
            for name, column in tree.columns.items()
        },
    )
    key = json.dumps(children)
    below: list[list[int]] = [[] for _ in range(tree.num_nodes)]
    for node in np.lexsort((tree.pos, tree.parent)).tolist():
        if tree.parent[node] >= 0:
            up = below[tree.parent[node]]
            up += [-1] * (int(tree.pos[node]) - len(up))
            up.append(node)
    stack: list[Any] = [int(tree.roots[0])]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif item < 0:
            yield "null"
        elif not below[item]:
            yield f"{{{members[item]}}}"
        else:
            yield f"{{{members[item]}{', ' if members[item] else ''}{key}: ["
            stack.append("]}")
            for place, child in reversed(list(enumerate(below[item]))):
                stack.append(child)
                if place:
                    stack.append(", ")


def _members(rows: int, columns: dict[str, Sequence[Any]]) -> list[str]:
    """The members of an object per row, without the braces."""
    texts: list[list[str]] = [[] for _ in range(rows)]
    for name, values in columns.items():
        key = json.dumps(name, ensure_ascii=False)
        for row, value in zip(texts, values):
            if value is not None:
                row.append(f"{key}: {json.dumps(value, ensure_ascii=False)}")
    return [", ".join(row) for row in texts]


def _values(column: NDArray[Any], names: Any) -> Sequence[Any]:
    """The values of a column, None where one is missing."""
    if names is not None:
        return [names[i] if i >= 0 else None for i in column.tolist()]
    if column.dtype.kind == "f":
        missing = np.isnan(column).reshape(len(column), -1).all(1)
        return [None if gone else value for gone, value in zip(missing.tolist(), column.tolist())]
    values: list[Any] = column.tolist()
    return values
