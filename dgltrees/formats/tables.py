"""Tables: CSV and TSV, Parquet, and Arrow (extra ``arrow``), and trees in their cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.arrow import arrow_batches, arrow_schema, is_arrow, numpy_column
from dgltrees.formats.format import TABLES, Format, RecordLayout
from dgltrees.formats.lines import (
    chunks,
    empty_file,
    error_in,
    not_utf8,
    open_bytes,
)
from dgltrees.formats.records import Records, parse_json
from dgltrees.formats.values import ColumnTypes, FileColumn
from dgltrees.trees.labeled import LabeledTrees

_ROWS = 2**14  # of a batch


@dataclass(frozen=True)
class Batch:
    """Successive rows of a table.

    Arguments:
        lines: ``(n,)`` the line of each row in a file of text, its number from 1 in others.
        cells: by column ``(n, ...)``: text as objects, or numbers.
    """

    lines: NDArray[np.int64]
    cells: dict[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.lines)

    def rows(self, rows: Any) -> Batch:
        """Some of the rows: a slice or an index."""
        cells = {name: column[rows] for name, column in self.cells.items()}
        return Batch(self.lines[rows], cells)

    @staticmethod
    def concat(parts: Sequence[Batch]) -> Batch:
        """All rows of several batches of a table."""
        return Batch(
            np.concatenate([part.lines for part in parts]),
            {name: np.concatenate([part.cells[name] for part in parts]) for name in parts[0].cells},
        )


class Table:
    """A table in a file.

    Arguments:
        path: CSV, with tabs instead of commas if there are tabs in its first line, packed with gzip
            or not; Parquet; or Arrow, as a file or a stream.
        names: columns that hold names, whatever their values look like.

    Attributes:
        header: the names of the columns.
        header_line: the number of the line that they stand on; None where there are no lines.

    Raises:
        TreeError: the file is empty or damaged.
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
        else:
            self.header = list(arrow_schema(path).names)

    def batches(self, rows: int = _ROWS) -> Iterator[Batch]:
        """All rows, ``rows`` at a time.

        Raises:
            TreeError: with file and line: there are none, two columns have one name, a row has not
                a cell per column, text is not in UTF-8, or a column is neither numbers nor text.
        """
        twice = next((name for name in self.header if self.header.count(name) > 1), None)
        if twice is not None:
            raise self.error(f"expected every column once, got {twice!r} twice", self.header_line)
        batches = self._text_batches(rows) if self.is_text else self._arrow_batches(rows)
        empty = True
        for batch in batches:
            empty = False
            yield batch
        if empty:
            line = self.header_line if self.is_text else None
            raise empty_file(self.path, line=line)

    def columns(self, batch: Batch, names: Sequence[str]) -> dict[str, FileColumn]:
        """Some columns of a batch, typed; those that have had no values yet are left out.

        Raises:
            TreeError: with file, line and column: a cell among numbers is none.
        """
        columns: dict[str, FileColumn] = {}
        for name in names:
            cells = batch.cells[name]
            if not self.is_text:
                columns[name] = cells.tolist() if cells.dtype == object else cells
                continue
            column = self._columns.of_cells(name, cells.tolist(), batch.lines.__getitem__)
            if column is not None:
                columns[name] = column
        return columns

    def _text_batches(self, rows: int) -> Iterator[Batch]:
        for part in chunks(self._text_rows(), rows):
            columns = np.array([row for _, row in part], object).T
            yield Batch(np.array([line for line, _ in part]), dict(zip(self.header, columns)))

    def _text_rows(self) -> Iterator[tuple[int, list[str]]]:
        """Each row but blank ones, and the line in which it begins."""
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
                name: numpy_column(name, column, self.names, self.path, lines.__getitem__)
                for name, column in zip(batch.schema.names, batch.columns)
            }
            yield Batch(lines, cells)
            first += len(batch)


@contextmanager
def _open_text(path: PathLike) -> Iterator[tuple[list[str], Any, int]]:
    """The names of the columns, a reader of the rows behind them, and the lines before those."""
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
    path: PathLike,
    trees: int = 10_000,
    layout: RecordLayout = RecordLayout(),
) -> Iterator[LabeledTrees]:
    """The trees of a table with JSON in a column, at most ``trees`` rows at a time.

    ``layout.tree`` is the column, by default ``tree`` or ``json``, or a path into its JSON:
    ``json.Plan`` is what the column ``json`` has under ``Plan``; for pairs of trees there are two.
    Trees are as in :func:`~dgltrees.formats.jsonl.stream_jsonl`.

    Node columns: the members of the nodes. Example columns: ``line``, the other columns, and by
    names such as ``json.Execution Time`` what stands in the JSON beside the tree.

    Arguments:
        path: CSV, TSV, Parquet or Arrow; see :class:`Table`.
        trees: the most rows per chunk.
        layout: ``tree``, ``children`` and ``names`` are read.

    Raises:
        TreeError: with file and line: ``layout.tree`` names no column, the file is empty or
            damaged, a cell is no JSON, or what ``stream_jsonl`` raises.
        ConfigError: ``trees`` is below 1, or pyarrow is needed and not installed.
    """
    table = Table(path, layout.names)
    paths = layout.paths or tuple(name for name in ("tree", "json") if name in table.header)[:1]
    columns = [path.partition(".")[0] for path in paths]
    if not columns or not {*columns} <= {*table.header}:
        got = ", ".join(paths) or "none"
        raise TreeError(
            "expected the layout's tree to name the column that holds the trees as JSON, such as "
            f"json or json.Plan, got {got}; the columns are {', '.join(table.header)} (for "
            "a table with a row per node, name its column of parents or depths as the layout's "
            "parent or depth, as in --parent COLUMN)",
            file=path,
            line=table.header_line,
        )
    others = [name for name in table.header if name not in columns]
    records = Records(path, replace(layout, tree=[*paths]))
    for batch in table.batches(min(trees, 1000)):
        lines = batch.lines.tolist()
        values: list[dict[str, Any]] = [{} for _ in lines]
        for column in dict.fromkeys(columns):
            for value, cell, line in zip(values, batch.cells[column].tolist(), lines):
                value[column] = parse_json(str(cell), path, line)
        yield records.examples(values, lines, table.columns(batch, others))
    records.check_children()


ROWS = Format(
    "Tables with a row per tree, which a column holds as JSON: CSV or Parquet.",
    stream_rows,
    suffixes=TABLES,
    layout=("tree", "children", "names"),
    text=False,
)
