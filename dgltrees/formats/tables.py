"""Tables: CSV and TSV, Parquet and Arrow (extra ``arrow``), and trees as JSON in their cells."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.arrow import ArrowColumn, arrow_batches, arrow_schema, is_arrow
from dgltrees.formats.format import TABLES, Format, RecordLayout
from dgltrees.formats.lines import (
    at_least_one,
    chunks,
    empty_file,
    error_in,
    not_utf8,
    open_bytes,
    parse_json,
)
from dgltrees.formats.records import Records
from dgltrees.formats.values import ID, ColumnTypes, FileColumn
from dgltrees.trees.columns_of import shown
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.layout import single
from dgltrees.trees.segments import Ints

_ROWS = 2**14  # of a batch
_PER_NODE = (
    "; for a table with a row per node, name its column of parents or depths as the layout's "
    "parent or depth, as in --parent COLUMN"
)


@dataclass(frozen=True)
class Batch:
    """Successive rows of a table.

    Arguments:
        lines: ``(n,)`` the line of each row in a text file, otherwise its number from 1.
        cells: by column ``(n, ...)``: strings as objects, or numbers.
    """

    lines: Ints
    cells: dict[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.lines)

    def rows(self, rows: Any) -> Batch:
        """Select rows by a slice or an index."""
        cells = {name: column[rows] for name, column in self.cells.items()}
        return Batch(self.lines[rows], cells)

    @staticmethod
    def concat(parts: Sequence[Batch]) -> Batch:
        """Join batches of a table."""
        return Batch(
            np.concatenate([part.lines for part in parts]),
            {name: np.concatenate([part.cells[name] for part in parts]) for name in parts[0].cells},
        )


class Table:
    """A table in a file.

    Arguments:
        path: CSV, with tabs instead of commas if its first line has tabs, optionally compressed
            with gzip; Parquet; or Arrow, as a file or a stream.
        names: columns that hold names, even if their values look like numbers.

    Attributes:
        header: the names of the columns.
        header_line: the number of their line; None for files without lines.

    Raises:
        TreeError: the file is empty or damaged, or has semicolons between its columns.
        ConfigError: the file needs pyarrow, which is not installed.
    """

    def __init__(self, path: PathLike, names: Sequence[str] = ()) -> None:
        self.path, self.names = path, names
        self.error = error_in(path)
        self.is_text = not is_arrow(path)
        self.header: list[str]
        self.header_line: int | None = None
        self._columns = ColumnTypes(path, names)
        if self.is_text:
            with _open_text(path) as (self.header, _, self.header_line):
                pass
            if len(self.header) == 1 and ";" in self.header[0]:  # as some spreadsheets write it
                raise self.error(
                    "expected commas or tabs between columns, got semicolons in the one column "
                    f"{shown(self.header[0])}; save the table with commas between columns, and "
                    "with points in numbers such as 1.5",
                    self.header_line,
                )
        else:
            self.header = list(arrow_schema(path).names)

    def batches(self, rows: int = _ROWS) -> Iterator[Batch]:
        """Read all rows, ``rows`` at a time."""
        twice = next((name for name in self.header if self.header.count(name) > 1), None)
        if twice is not None:
            raise self.error(f"expected every column once, got {twice!r} twice", self.header_line)
        batches = self._text_batches(rows) if self.is_text else self._arrow_batches(rows)
        yield from at_least_one(batches, empty_file(self.path, line=self.header_line))

    def columns(self, batch: Batch, names: Sequence[str]) -> dict[str, FileColumn]:
        """Convert columns of a batch to their types; columns without values so far are left out."""
        if not self.is_text:
            return {name: batch.cells[name] for name in names}
        columns: dict[str, FileColumn] = {}
        for name in names:
            cells = batch.cells[name].tolist()
            column = self._columns.of_cells(name, cells, batch.lines.__getitem__)
            if column is not None:
                columns[name] = column
        return columns

    def _text_batches(self, rows: int) -> Iterator[Batch]:
        for part in chunks(self._text_rows(), rows):
            columns = np.array([row for _, row in part], object).T
            yield Batch(np.array([line for line, _ in part]), dict(zip(self.header, columns)))

    def _text_rows(self) -> Iterator[tuple[int, list[str]]]:
        """Iterate over the rows that are not blank, each with its first line."""
        csv.field_size_limit(max(2**31 - 1, csv.field_size_limit()))
        with _open_text(self.path) as (header, reader, before):
            line, width = before + 1, len(header)
            try:
                for row in reader:
                    if len(row) == width:
                        yield line, row
                    elif row:
                        raise self.error(
                            f"expected {width} cells, as many as the first line has, "
                            f"got {len(row)}",
                            line,
                        )
                    line = before + reader.line_num + 1
            except UnicodeDecodeError as error:
                raise not_utf8(self.path, error) from None
            except csv.Error as error:
                raise self.error(f"expected a row of CSV, got: {error}", line) from None

    def _arrow_batches(self, rows: int) -> Iterator[Batch]:
        first = 1
        for batch in arrow_batches(self.path, rows):
            lines = np.arange(first, first + len(batch))
            cells = {
                name: ArrowColumn(name, column, self.path, lines.__getitem__).array(self.names)
                for name, column in zip(batch.schema.names, batch.columns)
            }
            yield Batch(lines, cells)
            first += len(batch)


@contextmanager
def _open_text(path: PathLike) -> Iterator[tuple[list[str], Any, int]]:
    """Open a table; yield its column names, a reader of its rows, and the lines before them."""
    line, number = "", 0
    with open_bytes(path) as file, io.TextIOWrapper(file, encoding="utf-8", newline="") as text:
        try:
            while not line.strip():
                line, number = text.readline(), number + 1
                if not line:
                    raise empty_file(path)
        except UnicodeDecodeError as error:
            raise not_utf8(path, error) from None
        delimiter = "\t" if "\t" in line else ","
        header = next(csv.reader([line], delimiter=delimiter))
        names = [name or f"column {i}" for i, name in enumerate(header)]
        yield names, csv.reader(text, delimiter=delimiter, strict=True), number


def stream_rows(
    path: PathLike, trees: int = 10_000, layout: RecordLayout = RecordLayout()
) -> Iterator[LabeledTrees]:
    """Read the trees of a table with JSON in a column, at most ``trees`` rows at a time.

    The layout names the column, by default ``tree`` or ``json``, or a path into its JSON:
    ``json.Plan`` is the value under ``Plan`` in the column ``json``; pairs of trees need two paths.
    Trees are as in :func:`~dgltrees.formats.jsonl.lines`.

    Node columns: the members of the nodes. Example columns: ``line``, the other columns, and the
    JSON members next to the tree, with names such as ``json.Execution Time``.
    """
    table = Table(path, [*layout.categorical_columns, ID])
    paths = layout.paths or tuple(name for name in ("tree", "json") if name in table.header)[:1]
    columns = [path.partition(".")[0] for path in paths]
    if not columns or not {*columns} <= {*table.header}:
        got = ", ".join(paths) or "none"
        raise TreeError(
            "expected the layout's tree to name the column that holds the trees as JSON, such as "
            f"json or json.Plan, got {got}; the columns are {', '.join(table.header)}{_PER_NODE}",
            file=path,
            line=table.header_line,
        )
    others = [name for name in table.header if name not in columns]
    records = Records(path, replace(layout, tree_path=[*paths]))
    for batch in table.batches(min(trees, 1000)):
        lines = batch.lines.tolist()
        values: list[dict[str, Any]] = [{} for _ in lines]
        for column in dict.fromkeys(columns):
            for value, cell, line in zip(values, batch.cells[column].tolist(), lines):
                if not str(cell).lstrip().startswith(("{", "[")):
                    raise TreeError(
                        f"expected a tree as JSON in column {column!r}, got {shown(cell)}"
                        f"{_PER_NODE}",
                        file=path,
                        line=line,
                    )
                value[column] = single(parse_json(str(cell), path, line))
        yield records.examples(values, lines, table.columns(batch, others))
    records.announce()


def _cells(path: PathLike) -> Iterator[tuple[int, Any]]:
    """Iterate over the JSON objects in cells, each under its column, with their lines."""
    for batch in Table(path).batches(1000):
        for name, cells in batch.cells.items():
            for line, cell in zip(batch.lines.tolist(), cells.tolist()):
                if re.match(r"\s*(\{|\[\s*\{)", str(cell)):
                    with suppress(TreeError):  # a string in brackets, perhaps
                        yield line, {name: parse_json(str(cell), path, line)}


ROWS = Format(
    "Tables with a row per tree, which a column holds as JSON: CSV or Parquet.",
    stream_rows,
    suffixes=TABLES,
    layout=("tree_path", "children_key", "categorical_columns"),
    text=False,
    records=_cells,
    numbers=True,
)
