"""Values of files as typed columns: numbers, vectors and names, with one type per file."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError, called
from dgltrees.trees.builders.values import kind_of
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.segments import Ints
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
_ESTIMATE = "Estimated Cardinality"
"""The key of a number that DuckDB writes as a string."""
_OF_JSON: set[type] = {str, int, float, bool, type(None), list, dict}
_UNIFORM: tuple[set[type], ...] = ({str}, {int}, {float}, {bool}, {int, float}, {int, bool})


class ColumnTypes:
    """The columns of a file, chunk by chunk; the first value of a column determines its type.

    Arguments:
        path: the file, for the errors; None for trees in memory, whose lines are their numbers.
        names: columns that hold names, even if their values look like numbers.
        unchanged: a column of JSON values that are not converted.
    """

    def __init__(
        self, path: PathLike | None, names: Sequence[str] = (), *, unchanged: str | None = None
    ) -> None:
        self.path, self.names, self.unchanged = path, frozenset(names), unchanged
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

    def of_objects(
        self,
        objects: Sequence[Mapping[str, Any]],
        line_of: LineOf,
        *,
        without: Collection[tuple[str, ...]] = (),
    ) -> dict[str, FileColumn]:
        """Convert JSON objects to columns, in the order of their first values.

        Keys of nested objects are joined by dots. True and false become the numbers 1 and 0. A list
        of numbers is a vector, of the same size everywhere; other lists become names, their JSON
        text. Null and an empty list are missing values, and a column without values is left out.
        """
        found: dict[str, tuple[tuple[int, ...], FileColumn]] = {}  # each with its place in the file
        pending: list[tuple[tuple[str, ...], Ints, Sequence[Any]]]
        pending = [((), np.arange(len(objects)), objects)]
        while pending:
            above, parent_rows, parents = pending.pop()
            skipped = {path[-1] for path in without if path[:-1] == above}
            for key, (within, values) in _by_key(parents, skipped).items():
                path, rows = (*above, key), parent_rows[within]
                if not isinstance(key, str):
                    raise self._error(f"expected strings as keys, got {key!r}", line_of(rows[0]))
                name = ".".join(path)
                if key == _ESTIMATE and name not in self.names:
                    values = [int(v) if isinstance(v, str) and v.isdecimal() else v for v in values]
                if name not in self.names and dict in set(map(type, values)):
                    self._check(name, rows, values, line_of)
                    pending.append((path, rows, values))
                elif name in found:
                    raise self._error(
                        f"expected every key once, got {name!r} both with dots in the key and as "
                        "objects in objects",
                        line_of(rows[0]),
                    )
                else:
                    column = self._of_values(name, rows, values, len(objects), line_of)
                    found[name] = (rows[0], *_place(objects[rows[0]], path)), column
        in_order = sorted(found.items(), key=lambda item: item[1][0])
        return {name: column for name, (_, column) in in_order}

    def _of_values(
        self, name: str, rows: Ints, values: Sequence[Any], total: int, line_of: LineOf
    ) -> FileColumn:
        """Make the column of ``total`` rows whose values are those of ``rows``."""
        types = set(map(type, values))
        if name == self.unchanged and list not in types:
            column = np.full(total, None, object)
            column[rows] = values
            return column
        if name not in self.names:
            self._check(name, rows, values[:1] if types in _UNIFORM else values, line_of)
        kind = "names" if name in self.names else self._kinds[name][0]
        if kind == "names":
            texts = np.full(total, None, object)
            texts[rows] = values if types == {str} else list(map(_text, values))
            return texts
        if kind == "numbers":
            return self._numbers(name, rows, values, total, line_of)
        vectors = np.full((total, len(values[0])), np.nan, np.float32)
        vectors[rows] = values
        return vectors

    def _numbers(
        self, name: str, rows: Ints, values: Sequence[Any], total: int, line_of: LineOf
    ) -> FileColumn:
        if len(rows) == total and {int, bool}.issuperset(map(type, values)):
            with suppress(OverflowError):
                return np.array(values, np.int64)
        numbers = np.full(total, np.nan)
        try:
            numbers[rows] = np.array(values, np.float64)
        except OverflowError:
            i = next(i for i, v in enumerate(values) if type(v) is int and abs(v) >= 2**1023)
            raise self._conflict(name, line_of(rows[i]), "one beyond 64 bits") from None
        return numbers

    def _check(self, name: str, rows: Ints, values: Sequence[Any], line_of: LineOf) -> None:
        for row, value in zip(rows.tolist(), values):
            kind = _kind(value)
            if not kind:
                raise self._error(
                    f"expected strings, numbers or lists in column {name!r}, got {value!r:.40}",
                    line_of(row),
                )
            if self._kinds.setdefault(name, (kind, line_of(row), value))[0] != kind:
                raise self._conflict(name, line_of(row), shown(value))

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


def _plain(value: Any) -> Any:
    """Return a value of numpy or torch, or a tuple, as a value of JSON."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    return list(plain) if isinstance(plain, tuple) else plain


def _by_key(
    objects: Sequence[Mapping[str, Any]], skipped: Collection[str]
) -> dict[str, tuple[Ints, list[Any]]]:
    """Group the values by key, without null and empty lists, with the rows that have them."""
    groups: dict[tuple[str, ...], tuple[list[int], list[Mapping[str, Any]]]] = {}
    for row, each in enumerate(objects):  # objects with the same keys, of which there are few kinds
        group = groups.setdefault(tuple(each), ([], []))
        group[0].append(row)
        group[1].append(each)
    parts: dict[str, list[tuple[list[int], tuple[Any, ...]]]] = {}
    for keys, (group_rows, members) in groups.items():
        for key, values in zip(keys, zip(*(each.values() for each in members))):
            if key not in skipped:
                parts.setdefault(key, []).append((group_rows, values))
    columns = {}
    for key, cells in parts.items():
        rows = np.concatenate([np.array(group) for group, _ in cells])
        column = np.fromiter(chain.from_iterable(values for _, values in cells), object, len(rows))
        if len(cells) > 1:
            order = rows.argsort()
            rows, column = rows[order], column[order]
        some: list[Any] = column.tolist()
        if not _OF_JSON.issuperset(map(type, some)):
            some = list(map(_plain, some))
        if None in some or [] in some:
            full = [i for i, value in enumerate(some) if value is not None and value != []]
            rows, some = rows[full], [some[i] for i in full]
        if some:
            columns[key] = rows, some
    return columns


def _place(value: Mapping[str, Any], path: tuple[str, ...]) -> list[int]:
    """Return the index of each key of a path among the members of its object."""
    places = []
    for key in path:
        places.append(list(value).index(key))
        value = value[key]
    return places


def _number(cell: str) -> float | None:
    try:
        return float(cell) if is_plain(cell) else None
    except ValueError:
        return None


def is_plain(cell: str) -> bool:
    """Return whether a string has neither digits of other scripts nor ``_``, as Python's 1_000."""
    return cell.isascii() and "_" not in cell


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "objects"
    value_type: type = type(value)
    kind = kind_of(value_type)
    if kind == "vector" and all(type(member) in (int, float, bool) for member in value):
        return f"vectors of {len(value)} numbers"
    return "names" if kind in ("name", "vector") else kind and "numbers"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def check_writable(examples: LabeledTrees) -> None:
    """Refuse columns of more than two dimensions, which no format has."""
    for name, column in {**examples.forest.columns, **examples.columns}.items():
        if column.ndim > 2:
            raise TreeError(
                f"expected numbers or vectors in column {name!r}, got shape {column.shape}; "
                f"write column.reshape({len(column)}, -1)"
            )


def shown(value: Any) -> str:
    """Return a JSON value as text for an error."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else f"{text[:40]}..."


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
