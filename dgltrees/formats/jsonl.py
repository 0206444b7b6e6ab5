"""JSON with a tree of nested objects per record: JSON Lines, and documents with records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike, replacing
from dgltrees._json import JSONError, load_json
from dgltrees.errors import TreeError
from dgltrees.formats.format import Format
from dgltrees.formats.lines import (
    at_least_one,
    empty_file,
    first_line,
    numbered_lines,
    open_bytes,
    parse_json,
)
from dgltrees.formats.records import RecordLayout, complete
from dgltrees.formats.values import check_writable
from dgltrees.trees.builders.brackets import render
from dgltrees.trees.builders.scan import check_utf8
from dgltrees.trees.forest import Forest
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.layout import CHILDREN


def lines(path: PathLike) -> Iterator[tuple[int, Any]]:
    """Iterate over the records of a JSON Lines file.

    A line is an object, or a list of one object, as EXPLAIN prints it. A node is an object with its
    children under the keys of the layout; leaves need none. In lists null is a missing child.
    """
    for line, text in at_least_one(_filled(path), empty_file(path)):
        yield line, parse_json(text, path, line)


def _filled(path: PathLike) -> Iterator[tuple[int, str]]:
    return ((line, text) for line, text in numbered_lines(path) if text and not text.isspace())


def members(path: PathLike) -> Iterator[tuple[int, Any]]:
    """Iterate over the records of JSON documents, with their numbers in place of lines.

    A document is a record, or a list of records. A file may have several documents, one after the
    other, as psql prints them for several ``EXPLAIN (FORMAT JSON)``, with or without its frame
    (``QUERY PLAN``). The whole file is in memory.
    """
    with open_bytes(path) as file:
        data = file.read()
    check_utf8(data, path, 1)
    if not data.strip():
        raise empty_file(path)
    count = 0
    try:
        for value in _documents(_without_frame(data.decode("utf-8"))):
            if not isinstance(value, (list, dict)) or value == []:
                got = "an empty list" if value == [] else type(value).__name__
                raise TreeError(f"expected a list of objects, got {got}", file=path, line=1)
            for record in value if isinstance(value, list) else [value]:
                count += 1
                yield count, record
    except JSONError as error:
        cure = "; print plans with psql -XAt" if b"QUERY PLAN" in data else ""
        if re.search(rb"QUERY PLAN\s*\n-*\n [^\[{]", data):
            cure = "; print plans with EXPLAIN (FORMAT JSON)"
        raise TreeError(f"{error}{cure}", file=path, line=error.line) from None


_BORDER = "\u2500-\u257f"  # of psql's tables in Unicode, as | and - in those of ASCII
_FIRST_LINE = (
    rf"QUERY PLAN\b|[\[{{]\s*[+\u21b5]?$|[|{_BORDER}]\s*[\[{{]|[-+{_BORDER}]+(\[ .* \d+ \].*)?$|"
    r"\* \w+ \d+$|Timing is on\.$"
)
"""The first line of a document that is not on one line; psql may print a frame around it."""
_PLAIN = re.compile(r"\s*[\[{](?!\s*[+\u21b5])")
_FRAME = re.compile(
    rf"[-+|\s{_BORDER}]*|[-+{_BORDER}]*\[ .* \d+ \][-+{_BORDER}]*|\* \w+ \d+|"  # borders, records
    r"\(\d+ [^()]*\)|[^\W\d][^\"{}\[\]]*\.|[^\W\d]+\s?: [\d.,]+ .*|[A-Z][A-Z ]*"  # rows, time, SET
)
_LEFT = re.compile(rf"[|:\s{_BORDER}]*(QUERY PLAN(?=\s*[|:\[{{{_BORDER}])[|:\s{_BORDER}]*)?")
_RIGHT = " \t\r|" + "".join(map(chr, range(0x2500, 0x2580)))
_SPACE = re.compile(r"\s*")
_BETWEEN = re.compile(r"[\s,\[\]]*")  # records


def _without_frame(text: str) -> str:
    """Return JSON text without the frame of psql, if it has one, and with the same lines."""
    if _PLAIN.match(text) and text.rstrip().endswith(("]", "}")):
        return text
    lines = []
    for line in text.split("\n"):
        line = _LEFT.sub(lambda left: " " * len(left[0]), line, count=1)  # same columns for errors
        line = line.rstrip(_RIGHT).removesuffix("+").removesuffix("\u21b5")
        lines.append("" if _FRAME.fullmatch(line.lstrip()) else line)
    return "\n".join(lines)


def _documents(text: str) -> list[Any]:
    """Parse JSON documents, one after the other; errors are those of ``load_json``."""
    try:
        return [load_json(text)]
    except JSONError as error:
        if "extra data" not in str(error):
            raise
    values, decoder, start = [], json.JSONDecoder(), _after(_SPACE, text, 0)
    while start < len(text):
        try:
            stop = decoder.raw_decode(text, start)[1]
        except (ValueError, RecursionError):  # which load_json describes
            stop = len(text)
        try:
            values.append(load_json(text[start:stop]))
        except JSONError as error:
            raise JSONError(str(error), text.count("\n", 0, start) + error.line) from None
        start = _after(_SPACE, text, stop)
    return values


def _after(pattern: re.Pattern[str], text: str, place: int) -> int:
    """Return the place in a string after all that a pattern matches."""
    match = pattern.match(text, place)
    return place if match is None else match.end()


def _has_trees(path: PathLike, layout: RecordLayout) -> bool:
    """Return whether documents have trees of objects, by a layout or the first records."""
    if layout.keys or layout.paths:
        return True
    if first_line(path).startswith("QUERY PLAN"):
        return True
    with open_bytes(path) as file:
        text = _without_frame(file.read(2**22).decode("utf-8", "replace"))
    decoder, place, records = json.JSONDecoder(), 0, list[Any]()
    with suppress(ValueError, RecursionError):
        for _ in range(100):
            record, place = decoder.raw_decode(text, _after(_BETWEEN, text, place))
            records.append(record)
    return complete(layout, records, sure=1e-9) != layout


def write_jsonl(
    examples: LabeledTrees, path: PathLike, layout: RecordLayout = RecordLayout()
) -> None:
    """Write trees that the format ``jsonl`` reads with the same layout.

    Missing values are left out. A record with only a tree is the root itself.

    Arguments:
        examples: single trees; or pairs, if the layout has two paths.
        path: the file; it is replaced when the new one is complete.
        layout: the key of the children and the paths of the roots.

    Raises:
        TreeError: the numbers of paths and of trees per example differ; examples have columns other
            than ``line``, but the layout has no path; a column has more than two dimensions, or the
            name of the key of the children or of the trees.

    Example:
        >>> from pathlib import Path
        >>> from dgltrees.trees import Forest
        >>> forest = Forest.build([-1, 0], columns={"cost": [3, 1]})
        >>> write_jsonl(LabeledTrees(forest), "trees.jsonl")
        >>> print(Path("trees.jsonl").read_text())
        {"cost": 3, "children": [{"cost": 1}]}
        <BLANKLINE>
    """
    check_writable(examples)
    forest = examples.forest
    beside = {name: column for name, column in examples.columns.items() if name != "line"}
    paths = [path.split(".") for path in layout.paths]
    if examples.arity != max(1, len(paths)):
        raise TreeError(
            f"expected a path for each of the {examples.arity} trees of an example, got "
            f"{', '.join(layout.paths) or 'none'}; name them, such as "
            "RecordLayout(tree_path=['first', 'second'])"
        )
    if beside and not paths:
        raise TreeError(
            f"expected only trees, got the example columns {', '.join(beside)}; name a key for "
            "the trees next to them, such as RecordLayout(tree_path='tree')"
        )
    if taken := [path[0] for path in paths if path[0] in beside]:
        raise TreeError(
            f"expected {taken[0]!r} only for the tree, got an example column of this name; give "
            "the layout another path for the trees"
        )
    children = layout.keys[0] if layout.keys else CHILDREN
    if children in forest.columns:
        raise TreeError(
            f"expected {children!r} only for the children, got a column of this name; "
            "give the layout another key for them"
        )
    targets = examples.targets.names if len(examples.targets) else None
    members = _members(
        {
            name: _values(column, targets if name == "target" else None)
            for name, column in beside.items()
        },
        len(examples),
    )
    trees = _texts(forest, children)
    sides = [trees[side :: examples.arity] for side in range(examples.arity)]
    with replacing(path) as file:
        for texts, others in zip(zip(*sides), members):
            file.write((_record(others, paths, texts) if paths else texts[0]) + "\n")


def _record(members: str, paths: Sequence[Sequence[str]], texts: Sequence[str]) -> str:
    """Return the text of a record with some members, and with trees at paths in it."""
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


def _texts(forest: Forest, children: str) -> list[str]:
    """Return the text of each tree."""
    names = {name: vocab.names for name, vocab in forest.vocabs.items()}
    columns = {n: _values(column, names.get(n)) for n, column in forest.columns.items()}
    members = _members(columns, forest.num_nodes)
    up = forest.global_parent
    order = np.lexsort((forest.pos, up))
    before = np.full(len(up), -1)  # the position of the sibling before each node
    follows = (up[order][1:] == up[order][:-1]) & (up[order][1:] >= 0)
    before[order[1:][follows]] = forest.pos[order[:-1][follows]]
    gaps = np.where(up < 0, 0, forest.pos - before - 1).tolist()
    key = json.dumps(children)
    enter = [
        f"{', ' if place >= 0 else ''}{'null, ' * gap}{{{own}"
        + (f"{', ' if own else ''}{key}: [" if degree else "")
        for own, place, gap, degree in zip(members, before.tolist(), gaps, forest.degree.tolist())
    ]
    return render(forest, enter, np.where(forest.degree > 0, "]}", "}"))


def _members(columns: Mapping[str, Sequence[Any]], rows: int) -> list[str]:
    """Return the members of an object per row, without the braces."""
    texts: list[list[str]] = [[] for _ in range(rows)]
    for name, values in columns.items():
        key = json.dumps(name, ensure_ascii=False)
        for row, value in zip(texts, values):
            if value is not None:
                row.append(f"{key}: {json.dumps(value, ensure_ascii=False)}")
    return [", ".join(row) for row in texts]


def _values(column: NDArray[Any], names: Any) -> Sequence[Any]:
    """Return the values of a column, None where one is missing."""
    if names is not None:
        return [names[i] if i >= 0 else None for i in column.tolist()]
    if column.dtype.kind == "f":
        missing = np.isnan(column).reshape(len(column), -1).all(1)
        return [None if gone else value for gone, value in zip(missing.tolist(), column.tolist())]
    values: list[Any] = column.tolist()
    return values


JSONL = Format(
    "JSON Lines, a record per line, with a tree of objects in objects.",
    records=lines,
    write=write_jsonl,
    suffixes=(".jsonl", ".ndjson"),
    first_line=r"\[?\{.*\}\]?$",
    layout=("children_key", "tree_path", "categorical_columns"),
    fits=lambda path, _: not re.match(_FIRST_LINE, first_line(path)),
    numbers=True,
)

JSON_RECORDS = Format(
    "JSON documents with records, each with a tree of objects in objects, such as query plans.",
    records=members,
    suffixes=(".json",),
    first_line=_FIRST_LINE,
    fits=_has_trees,
    layout=("children_key", "tree_path", "categorical_columns"),
    numbers=True,
)
