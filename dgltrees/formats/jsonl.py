"""JSON Lines: a record per line, with a tree of objects in objects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._collector import without_collector
from dgltrees._files import PathLike, replacing
from dgltrees.errors import TreeError
from dgltrees.formats.layout import Layout
from dgltrees.formats.lines import gather, record_chunks
from dgltrees.formats.records import Records, parse_json
from dgltrees.formats.table import Format
from dgltrees.trees.examples import Examples
from dgltrees.trees.forest import Forest

__all__ = ["JSONL", "read_jsonl", "stream_jsonl", "write_jsonl"]


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
    object itself, or what stands at ``layout.tree``; two paths there give pairs of trees.

    Node columns: the other members of the nodes; see :class:`~dgltrees.formats.values.ColumnTypes`.
    Example columns: ``line``, and with ``layout.tree`` what stands beside the tree.

    Arguments:
        path: the file, which may be packed with gzip.
        trees: the most lines per chunk.
        layout: ``children``, ``tree`` and ``names`` are read.

    Raises:
        TreeError: with file and line: the file is empty or not UTF-8, a line is no JSON or too deep
            for Python's ``json``, a root or node is no object, a column is not of one kind, or no
            node has ``layout.children``, but some have other lists of objects.
        ConfigError: ``trees`` is below 1.
    """
    records = Records(path, layout)
    for lines, texts in record_chunks(path, trees):
        with without_collector():
            values = [parse_json(text, path, line) for line, text in zip(lines, texts)]
            examples = records.examples(values, lines)
            del values
        yield examples
    records.check_children()


def write_jsonl(examples: Examples, path: PathLike, layout: Layout = Layout()) -> None:  # noqa: B008
    """Write trees that :func:`stream_jsonl` reads back with the same layout.

    Missing values are left out. A record without anything but its tree is the root itself.

    Arguments:
        examples: single trees; or pairs, whose places ``layout.tree`` names.
        path: the file; it is replaced once all is written.
        layout: ``children`` and ``tree`` are read.

    Raises:
        TreeError: ``layout.tree`` names not as many places as an example has trees; examples have
            columns besides ``line`` while it names none; or a column is named as the children are.
    """
    forest = examples.forest
    beside = {name: column for name, column in examples.columns.items() if name != "line"}
    paths = [path.split(".") for path in layout.paths]
    if examples.arity != max(1, len(paths)):
        raise TreeError(
            f"expected a place for each of the {examples.arity} trees of an example, got "
            f"{', '.join(layout.paths) or 'none'}; name them, such as "
            "Layout(tree=['first', 'second'])"
        )
    if beside and not paths:
        raise TreeError(
            f"expected trees alone, got the example columns {', '.join(beside)}; name the key that "
            "the trees have beside them, such as Layout(tree='tree')"
        )
    if layout.children in forest.columns:
        raise TreeError(
            f"expected {layout.children!r} for the children alone, got a column of this name; "
            "give the layout another key for them"
        )
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
        for example, first in enumerate(range(0, len(forest), examples.arity)):
            trees = range(first, first + examples.arity)
            texts = ["".join(_pieces(forest.tree(tree), layout.children)) for tree in trees]
            file.write((_record(members[example], paths, texts) if paths else texts[0]) + "\n")


def _record(members: str, paths: Sequence[Sequence[str]], texts: Sequence[str]) -> str:
    """The text of a record with some members, and with trees at paths in it."""
    record: dict[str, Any] = {}
    for keys, text in zip(paths, texts):
        inner = record
        for key in keys[:-1]:
            inner = inner.setdefault(key, {})
        inner[keys[-1]] = text
    return _object(members, record)


def _object(members: str, nested: Mapping[str, Any]) -> str:
    more = (
        f"{json.dumps(key)}: {value if isinstance(value, str) else _object('', value)}"
        for key, value in nested.items()
    )
    return f"{{{', '.join([*([members] if members else []), *more])}}}"


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


JSONL = Format(
    "JSON Lines, a record per line, with a tree of objects in objects.",
    stream_jsonl,
    write_jsonl,
    suffixes=(".jsonl", ".ndjson"),
    first_line=r"\[?\{.*\}\]?$",
    layout=("children", "tree", "names"),
)
