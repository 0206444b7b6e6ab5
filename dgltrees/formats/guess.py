"""Inference of the layout of JSON records: where the trees are in the first of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from dgltrees._files import PathLike
from dgltrees._json import load_json
from dgltrees.errors import TreeError
from dgltrees.formats.format import RecordLayout
from dgltrees.formats.lines import open_bytes, record_chunks
from dgltrees.formats.records import parse_json
from dgltrees.formats.tables import Table
from dgltrees.trees.builders.objects import nested_lists


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
    if form not in _RECORDS:
        return RecordLayout()
    found = nested_lists(_RECORDS[form](path, count))
    if found is None:
        return RecordLayout()
    place, children = found
    return RecordLayout(children_key=children, tree_path=".".join(place) or None)


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
