"""A JSON document that is a list of records, each with a tree."""

from __future__ import annotations

from collections.abc import Iterator

from dgltrees._files import PathLike
from dgltrees._json import JSONError, load_json
from dgltrees.errors import TreeError
from dgltrees.formats.layout import Layout
from dgltrees.formats.lines import check_chunk_size, empty_file, open_bytes
from dgltrees.formats.records import Records
from dgltrees.formats.table import Format
from dgltrees.trees.builders.scan import check_utf8
from dgltrees.trees.examples import Examples

__all__ = ["JSON_RECORDS", "stream_json_records"]


def stream_json_records(
    path: PathLike,
    trees: int = 10_000,
    layout: Layout = Layout(),  # noqa: B008
) -> Iterator[Examples]:
    """The trees of a JSON document that is a list of objects, ``trees`` of these at a time.

    An object is what a line is in :func:`~dgltrees.formats.jsonl.stream_jsonl`, with the same
    columns; ``line`` is its number from 1. The document is read whole.

    Arguments:
        path: the file, which may be packed with gzip.
        trees: records per chunk.
        layout: ``children``, ``tree`` and ``names`` are read.

    Raises:
        TreeError: the file is no list of JSON objects, or what ``stream_jsonl`` raises, with the
            number of the record in place of the line.
        ConfigError: ``trees`` is below 1.
    """
    check_chunk_size(trees)
    with open_bytes(path) as file:
        data = file.read()
    check_utf8(data, path, 1)
    if not data.strip():
        raise empty_file(path)
    try:
        values = load_json(data.decode("utf-8"))
    except JSONError as error:
        raise TreeError(str(error), file=path, line=error.line) from None
    if not isinstance(values, list) or not values:
        got = "an empty list" if values == [] else type(values).__name__
        raise TreeError(f"expected a list of objects, got {got}", file=path, line=1)
    records = Records(path, layout)
    for start in range(0, len(values), trees):
        part = values[start : start + trees]
        yield records.examples(part, range(start + 1, start + 1 + len(part)))
    records.check_children()


JSON_RECORDS = Format(
    "A JSON document that is a list of records, each with a tree of objects in objects.",
    stream_json_records,
    layout=("children", "tree", "names"),
)
