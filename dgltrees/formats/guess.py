"""Inference of the layout of JSON records: where the trees are in the first of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from dgltrees._files import PathLike
from dgltrees._json import load_json
from dgltrees.errors import TreeError
from dgltrees.formats.format import RecordLayout
from dgltrees.formats.lines import open_bytes, record_chunks
from dgltrees.formats.records import parse_json
from dgltrees.formats.tables import Table


def guess_layout(path: PathLike, form: str, count: int = 100) -> RecordLayout:
    """Infer the layout of a file of JSON: the object with the most nodes under one key.

    Arguments:
        path: the file.
        form: the name of its format; only ``jsonl``, ``rows`` and ``json-records`` have a layout to
            infer.
        count: the number of records to look at.

    Returns:
        the layout; the default one if no record has lists of objects.

    Raises:
        TreeError: the file is empty, or its first records are not JSON.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("plans.jsonl").write_text('{"plan": {"inputs": [{}, {}]}, "seconds": 1}')
        >>> layout = guess_layout("plans.jsonl", "jsonl")
        >>> layout.paths
        ('plan',)
    """
    nodes: Counter[tuple[tuple[str, ...], str]] = Counter()
    if form in _RECORDS:
        for record in _RECORDS[form](path, count):
            _count_nodes(record, nodes)
    if not nodes:
        return RecordLayout()
    place, children = max(nodes, key=lambda key: (nodes[key], -len(key[0])))
    return RecordLayout(children=children, tree=".".join(place) or None)


def _lines(path: PathLike, count: int) -> Iterator[Any]:
    numbers, texts = next(record_chunks(path, count))
    for number, text in zip(numbers, texts):
        yield parse_json(text, path, number)


def _cells(path: PathLike, count: int) -> Iterator[Any]:
    """Iterate over the JSON objects in the cells of the first rows, by column."""
    batch = next(Table(path).batches(count))
    for name, cells in batch.cells.items():
        for line, cell in zip(batch.lines.tolist(), cells.tolist()):
            if str(cell).startswith(("{", "[{")):
                with suppress(TreeError):  # a text in brackets, perhaps
                    yield {name: parse_json(str(cell), path, line)}


def _members(path: PathLike, count: int) -> Iterator[Any]:
    """Iterate over the first records of a JSON document."""
    with open_bytes(path) as file, suppress(ValueError):  # its reader says what is wrong
        values = load_json(file.read().decode("utf-8"))
        yield from values[:count] if isinstance(values, list) else ()


_RECORDS = {"jsonl": _lines, "rows": _cells, "json-records": _members}


def _count_nodes(record: Any, nodes: Counter[tuple[tuple[str, ...], str]]) -> None:
    """Count, for each object at a path of keys, the nodes below it by the key of the children."""
    stack: list[tuple[tuple[str, ...], Any]] = [((), record)]
    while stack:
        place, value = stack.pop()
        if not isinstance(value, Mapping):
            continue
        for key, member in value.items():
            if isinstance(member, Mapping) and "." not in key:
                stack.append(((*place, key), member))
            elif isinstance(member, list):
                below = _nodes_below(member, key)
                if below:
                    nodes[place, key] += below


def _nodes_below(members: list[Any], key: str) -> int:
    count, stack = 0, [members]
    while stack:
        for node in stack.pop():
            if isinstance(node, Mapping):
                count += 1
                children = node.get(key)
                if isinstance(children, list):
                    stack.append(children)
    return count
