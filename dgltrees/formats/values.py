"""Values of files as typed columns: numbers, vectors and names, with one type per file."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError, called
from dgltrees.trees.columns_of import shown
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.vocabulary import Vocabulary

FileColumn = NDArray[Any]
"""Numbers ``(n,)``, vectors ``(n, k)``, or names as objects, None for a missing one."""

ID = "id"
"""The example column that identifies a tree. Its values stay as they are in the file."""
MISSING_CELLS = frozenset(("", "NA", "N/A", "NaN", "nan", "NULL", "null", "\\N"))
"""Contents of text cells that mean a missing value."""
_BOOLEANS = {"True": "1", "true": "1", "TRUE": "1", "False": "0", "false": "0", "FALSE": "0"}
"""Contents of text cells that pandas reads as booleans, as numbers."""

LineOf = Callable[[int], int]
_CODE = re.compile(r"^[+-]?0\d+", re.MULTILINE)
"""A number with leading zeros, such as a postcode."""


class ColumnTypes:
    """The columns of a file, chunk by chunk; the first value of a column determines its type.

    Arguments:
        path: the file, for the errors; None for trees in memory, whose lines are their numbers.
        names: columns that hold names, even if their values look like numbers.
    """

    def __init__(self, path: PathLike | None, names: Sequence[str] = ()) -> None:
        self.path, self.names = path, frozenset(names)
        self._unit = "tree" if path is None else "line"
        # what a column holds, and its first value with the line
        self._kinds: dict[str, tuple[str, int, Any]] = {}
        self._reported: set[str] = set()

    def of_cells(self, name: str, cells: Sequence[str], line_of: LineOf) -> FileColumn | None:
        """Convert text cells to a column; None if no value has occurred so far.

        True and false become the numbers 1 and 0, as those of JSON, if the chunk in which the
        column begins has no other value.
        """
        first = next((i for i, cell in enumerate(cells) if cell not in MISSING_CELLS), None)
        if first is None and name not in self._kinds:
            return None
        if first is not None and name not in self._kinds:
            is_boolean = set(cells) - MISSING_CELLS <= _BOOLEANS.keys()
            holds_names = not is_boolean and _number(cells[first]) is None
            kind = "names" if holds_names or name in self.names else "numbers"
            self._kinds[name] = kind, line_of(first), cells[first]
        if self._kinds[name][0] == "names":
            return np.array([None if cell in MISSING_CELLS else cell for cell in cells], object)
        if self._kinds[name][2] in _BOOLEANS:
            cells = [_BOOLEANS.get(cell, cell) for cell in cells]
        text = "\n".join(cells)
        self._warn_of_codes(name, text)
        if is_plain(text):
            with suppress(ValueError, OverflowError):
                return np.array(list(map(int, cells)), np.int64)
            with suppress(ValueError):
                return np.array(list(map(float, cells)))
        numbers = list(map(_number, cells))
        for i, number in enumerate(numbers):
            if number is None and cells[i] not in MISSING_CELLS:
                raise self._conflict(name, line_of(i), shown(cells[i]))
        return np.array(numbers, np.float64)

    def _warn_of_codes(self, name: str, text: str) -> None:
        code = None if name in self._reported else _CODE.search(text)
        if code:
            self._reported.add(name)
            warnings.warn(
                f"column {name!r} is read as numbers, {code[0]} as {int(code[0])}; if it holds "
                f"names, name it in {called('data.categorical_columns')}",
                stacklevel=2,
            )

    def _conflict(self, name: str, line: int, value: str) -> TreeError:
        kind, line_before, before = self._kinds[name]
        return self._error(
            f"expected one kind of value in column {name!r}, got {kind} ({shown(before)} in "
            f"{self._unit} {line_before}) and {value} in {self._unit} {line}; correct one of them, "
            "leave a missing value out, or name the column in "
            f"{called('data.categorical_columns')} to read it as strings",
            line,
        )

    def _error(self, message: str, line: int) -> TreeError:
        """Make an error that names the line, or the tree in memory."""
        return TreeError(message, file=self.path, **{self._unit: line})


def _number(cell: str) -> float | None:
    try:
        return float(cell) if is_plain(cell) else None
    except ValueError:
        return None


def is_plain(cell: str) -> bool:
    """Return whether a string has neither digits of other scripts nor ``_``, as Python's 1_000."""
    return cell.isascii() and "_" not in cell


def check_writable(examples: LabeledTrees) -> None:
    """Refuse columns of more than two dimensions, which no format has."""
    for name, column in {**examples.forest.columns, **examples.columns}.items():
        if column.ndim > 2:
            raise TreeError(
                f"expected numbers or vectors in column {name!r}, got shape {column.shape}; "
                f"write column.reshape({len(column)}, -1)"
            )


def as_node_columns(
    columns: Mapping[str, FileColumn],
) -> tuple[dict[str, NDArray[Any]], dict[str, Vocabulary]]:
    """Convert columns to those of a forest, with new vocabularies."""
    arrays = dict(columns)
    vocabs: dict[str, Vocabulary] = {}
    for name, column in columns.items():
        if column.dtype == object:
            vocabs[name] = Vocabulary()
            arrays[name] = vocabs[name].encode(column.tolist())
    return arrays, vocabs


def of_user(name: str) -> str:
    """Return the name among the columns of examples of a column that a file calls ``name``."""
    return "line_" if name == "line" else name


def as_example_columns(
    columns: Mapping[str, FileColumn], lines: Sequence[int]
) -> dict[str, NDArray[Any]]:
    """Return columns as those of examples: int64, float64, vectors, or strings as objects."""
    arrays: dict[str, NDArray[Any]] = {"line": np.asarray(lines, np.int64)}
    for name, column in columns.items():
        if name == ID and column.ndim == 1:
            arrays[name] = np.empty(len(column), object)
            arrays[name][:] = [None if each != each else each for each in column.tolist()]
        else:
            arrays[of_user(name)] = column
    return arrays
