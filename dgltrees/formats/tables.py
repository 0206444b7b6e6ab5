"""Tables: CSV and TSV, Parquet and Arrow (extra ``arrow``), and trees as JSON in their cells."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError, called
from dgltrees.formats.arrow import arrow_batches, arrow_schema, column_array, is_arrow
from dgltrees.formats.format import TABLES, Format, RecordLayout
from dgltrees.formats.lines import (
    at_least_one,
    empty_file,
    error_in,
    not_utf8,
    open_bytes,
    parse_json,
)
from dgltrees.formats.records import Records
from dgltrees.formats.values import ID
from dgltrees.trees.columns import column_names
from dgltrees.trees.columns_of import shown
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.layout import single
from dgltrees.trees.segments import Ints
from dgltrees.trees.text_cells import CellKind

_ROWS = 2**16  # of a batch
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
        layout: its ``categorical_columns`` hold names, and its ``missing`` are missing values.
        names: further columns that hold names.
        numbers: columns of text cells that hold numbers, as in the training data.

    Attributes:
        header: the names of the columns.
        header_line: the number of their line; None for files without lines.

    Raises:
        TreeError: the file is empty or damaged, has a column twice, or semicolons between columns.
        ConfigError: the file needs pyarrow, which is not installed.
    """

    def __init__(
        self,
        path: PathLike,
        layout: RecordLayout = RecordLayout(),
        *,
        names: Sequence[str] = (),
        numbers: Collection[str] = (),
    ) -> None:
        self.path, self.error = path, error_in(path)
        self.names = [*layout.categorical_columns, *names]
        self._numbers, self._missing = numbers, layout.missing
        self._is_text = not is_arrow(path)
        self.header_line: int | None = None
        header = self._read_header() if self._is_text else arrow_schema(path).names
        self.header = column_names(header, lambda text: self.error(text, self.header_line))

    def batches(self, typed: Collection[str] = (), rows: int | None = None) -> Iterator[Batch]:
        """Read all rows, ``rows`` (default: 65,536) at a time.

        Columns of a CSV or TSV file are strings, those in ``typed`` numbers or names by the kind of
        all their cells; without a value in any row they are left out.
        """
        rows = rows or _ROWS
        batches = self._text_batches(typed, rows) if self._is_text else self._arrow_batches(rows)
        yield from at_least_one(batches, empty_file(self.path, line=self.header_line))

    def _text_batches(self, typed: Collection[str], rows: int) -> Iterator[Batch]:
        kinds = {name: CellKind(self._kind(name), self._missing) for name in typed}
        batches = self._cells(rows)
        first = [*islice(batches, 2)]
        if not all(kind.decided for kind in kinds.values()):
            for batch in chain(first, batches):
                for name, kind in kinds.items():
                    kind.add(batch.cells[name].tolist())
            batches = iter(()) if len(first) < 2 else islice(self._cells(rows), 2, None)
        for batch in chain(first, batches):
            yield self._typed(batch, kinds)

    def _kind(self, name: str) -> str | None:
        return "names" if name in self.names else "numbers" if name in self._numbers else None

    def _typed(self, batch: Batch, kinds: dict[str, CellKind]) -> Batch:
        cells = dict(batch.cells)
        for name, kind in kinds.items():

            def error(message: str, row: int, name: str = name) -> TreeError:
                return self.error(
                    f"column {name!r}: {message}; the training data have numbers there. Correct "
                    f"it, or name the column in {called('data.categorical_columns')} to train on "
                    "names",
                    int(batch.lines[row]),
                )

            column = kind.column(cells.pop(name).tolist(), error)
            if column is not None:
                cells[name] = column
        return Batch(batch.lines, cells)

    def _read_header(self) -> list[str]:
        with open_bytes(self.path) as file, io.TextIOWrapper(file, "utf-8", newline="") as text:
            try:
                lines = enumerate(text, start=1)
                filled = ((number, line) for number, line in lines if line.strip())
                self.header_line, line = next(filled, (1, ""))
                self._delimiter = "\t" if "\t" in line else ","
                rest = (line for _, line in lines)
                header = next(csv.reader(chain([line], rest), delimiter=self._delimiter), None)
            except UnicodeDecodeError as error:
                raise not_utf8(self.path, error) from None
        if not header:
            raise empty_file(self.path)
        if len(header) == 1 and ";" in header[0]:  # as some spreadsheets write it
            raise self.error(
                "expected commas or tabs between columns, got semicolons in the one column "
                f"{shown(header[0])}; save the table with commas between columns, and with points "
                "in numbers such as 1.5",
                self.header_line,
            )
        return [name or f"column {i}" for i, name in enumerate(header)]

    def _cells(self, rows: int) -> Iterator[Batch]:
        """Read the rows that are not blank, every cell as a string."""
        from pandas import read_csv
        from pandas.errors import ParserError

        assert self.header_line is not None
        line, whole = self.header_line, False
        with open_bytes(self.path) as file:
            try:
                for frame in read_csv(
                    file,
                    sep=self._delimiter,
                    header=None,  # pandas would rename a column that occurs twice
                    skiprows=line - 1,
                    dtype=object,
                    keep_default_na=False,
                    skip_blank_lines=False,
                    chunksize=rows,
                    engine="c",
                ):
                    cells = [frame[k].to_numpy() for k in frame]
                    lines, after = _lines(cells, line)
                    filled = cells[-1] != ""
                    if not filled.all():  # pandas fills up rows that are too short
                        whole = whole or self._check_rows()
                        filled = np.logical_or.reduce([column != "" for column in cells])
                    filled[0] &= line != self.header_line
                    line = after
                    if filled.any():
                        columns = dict(zip(self.header, (column[filled] for column in cells)))
                        yield Batch(lines[filled], columns)
            except ParserError as error:
                self._check_rows()
                text = " ".join(str(error).split())
                raise self.error(f"expected a table, got: {text}", self.header_line) from None
            except UnicodeDecodeError as error:
                raise not_utf8(self.path, error) from None

    def _check_rows(self) -> bool:
        """Refuse the first row with another number of cells than the header, by its line."""
        csv.field_size_limit(max(2**31 - 1, csv.field_size_limit()))
        with open_bytes(self.path) as file, io.TextIOWrapper(file, "utf-8", newline="") as text:
            reader, line = csv.reader(text, delimiter=self._delimiter, strict=True), 1
            try:
                for row in reader:
                    if row and len(row) != len(self.header):
                        raise self.error(
                            f"expected {len(self.header)} cells, as many as the first line has, "
                            f"got {len(row)}",
                            line,
                        )
                    line = reader.line_num + 1
            except csv.Error as error:
                raise self.error(f"expected a row of CSV, got: {error}", line) from None
        return True

    def _arrow_batches(self, rows: int) -> Iterator[Batch]:
        first = 1
        for batch in arrow_batches(self.path, rows):
            lines = np.arange(first, first + len(batch))
            cells = {
                name: column_array(name, column, self.names, self.path)
                for name, column in zip(self.header, batch.columns)
            }
            yield Batch(lines, cells)
            first += len(batch)


def _lines(cells: Sequence[NDArray[Any]], first: int) -> tuple[Ints, int]:
    """Return the line of each row from ``first`` on, and the line after them."""
    breaks = np.zeros(len(cells[0]), np.int64)
    for column in cells:
        texts = column.tolist()
        if "\n" in "".join(texts):
            breaks += [text.count("\n") for text in texts]
    after = first + np.arange(1, len(breaks) + 1) + breaks.cumsum()
    return after - 1 - breaks, int(after[-1])


def stream_rows(
    path: PathLike,
    trees: int = 10_000,
    layout: RecordLayout = RecordLayout(),
    *,
    numbers: Collection[str] = (),
) -> Iterator[LabeledTrees]:
    """Read the trees of a table with JSON in a column, at most ``trees`` rows at a time.

    The layout names the column, by default ``tree`` or ``json``, or a path into its JSON:
    ``json.Plan`` is the value under ``Plan`` in the column ``json``; pairs of trees need two paths.
    Trees are as in :func:`~dgltrees.formats.jsonl.lines`.

    Node columns: the members of the nodes. Example columns: ``line``, the other columns, and the
    JSON members next to the tree, with names such as ``json.Execution Time``.
    """
    table = Table(path, layout, names=[ID], numbers=numbers)
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
    for batch in table.batches(others, min(trees, 1000)):
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
        beside = {name: batch.cells[name] for name in others if name in batch.cells}
        yield records.examples(values, lines, beside)
    records.announce()


def _cells(path: PathLike) -> Iterator[tuple[int, Any]]:
    """Iterate over the JSON objects in cells, each under its column, with their lines."""
    for batch in Table(path).batches(rows=1000):
        for name, cells in batch.cells.items():
            for line, cell in zip(batch.lines.tolist(), cells.tolist()):
                if re.match(r"\s*(\{|\[\s*\{)", str(cell)):
                    with suppress(TreeError):  # a string in brackets, perhaps
                        yield line, {name: parse_json(str(cell), path, line)}


ROWS = Format(
    "Tables with a row per tree, which a column holds as JSON: CSV or Parquet.",
    stream_rows,
    suffixes=TABLES,
    layout=("tree_path", "children_key", "categorical_columns", "missing"),
    text=False,
    records=_cells,
    numbers=True,
)
