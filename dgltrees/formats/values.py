"""Values of files as typed columns: numbers, vectors and names, the same in all of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Optional, Union

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["MISSING_CELLS", "Column", "Columns", "as_example_columns", "as_node_columns", "shown"]

Numbers = NDArray[Any]
Column = Union[Numbers, list[Optional[str]]]
"""Numbers ``(n,)``, vectors ``(n, k)``, or names with None where there is none."""

MISSING_CELLS = frozenset(("", "NA", "N/A", "NaN", "nan", "NULL", "null", "\\N"))
"""What stands in a cell of text that has no value."""

_PLAIN = {int: "numbers", float: "numbers", bool: "numbers", str: "names"}


class Columns:
    """The columns of a file, chunk by chunk; the first value of a column says what it holds.

    Arguments:
        path: the file, for the errors.
        names: columns that hold names, whatever their values look like.
    """

    def __init__(self, path: PathLike, names: Sequence[str] = ()) -> None:
        self.path, self.names = path, frozenset(names)
        self._kinds: dict[str, tuple[str, int]] = {}  # what a column holds, and its first line

    def of_cells(
        self, name: str, cells: Sequence[str], line_of: Callable[[int], int]
    ) -> Optional[Column]:
        """The column of cells of text; None while it has no value.

        Arguments:
            name: the column.
            cells: those of one chunk, ``(n,)``; :data:`MISSING_CELLS` are no values.
            line_of: the line of a cell by its index.

        Raises:
            TreeError: with file, line and column: a cell among numbers is none.
        """
        first = next((i for i, cell in enumerate(cells) if cell not in MISSING_CELLS), None)
        if first is None and name not in self._kinds:
            return None
        if first is not None and name not in self._kinds:
            holds_names = name in self.names or _number(cells[first]) is None
            self._kinds[name] = ("names" if holds_names else "numbers", line_of(first))
        if self._kinds[name][0] == "names":
            return [None if cell in MISSING_CELLS else cell for cell in cells]
        try:
            return np.array(list(map(int, cells)), np.int64)
        except (ValueError, OverflowError):
            pass
        try:
            return np.array(list(map(float, cells)))
        except ValueError:
            numbers = list(map(_number, cells))
        for i, number in enumerate(numbers):
            if number is None and cells[i] not in MISSING_CELLS:
                raise self._conflict(name, line_of(i), repr(cells[i]))
        return np.array(numbers, np.float64)

    def of_objects(
        self, objects: Sequence[Mapping[str, Any]], line_of: Callable[[int], int]
    ) -> dict[str, Column]:
        """The columns of JSON objects, in the order of their first values.

        Keys of objects in objects are joined by dots. True and false are the numbers 1 and 0. A
        list of numbers is a vector, of the same size everywhere; other lists are names, which are
        their JSON. Null and an empty list are no values, and a column without values is none.

        Arguments:
            objects: those of one chunk, ``(n,)``.
            line_of: the line of an object by its index.

        Raises:
            TreeError: with file, line and column: values of a column are of unlike kinds, vectors
                are of unlike sizes, or a key occurs twice.
        """
        found: dict[str, tuple[tuple[int, ...], Column]] = {}
        pending: list[tuple[str, tuple[int, ...], Sequence[Any]]] = [("", (), objects)]
        while pending:
            prefix, place, parents = pending.pop()
            keys = dict.fromkeys(key for parent in parents if parent for key in parent)
            for key in keys:
                name = prefix + key
                values = [parent.get(key) if parent else None for parent in parents]
                first = next((i for i, v in enumerate(values) if v is not None and v != []), None)
                if first is None:
                    continue
                order = (first, *place[1:], list(parents[first]).index(key))
                if name not in self.names and any(type(value) is dict for value in values):
                    self._nested(name, values, line_of)
                    pending.append((f"{name}.", order, values))
                elif name in found:
                    raise TreeError(
                        f"expected every key once, got {name!r} both with dots in the key and as "
                        "objects in objects",
                        file=self.path,
                        line=line_of(first),
                    )
                else:
                    found[name] = order, self._of_values(name, values, first, line_of)
        return {name: column for name, (_, column) in sorted(found.items(), key=_by_order)}

    def _nested(self, name: str, values: Sequence[Any], line_of: Callable[[int], int]) -> None:
        for i, value in enumerate(values):
            if value is not None and value != []:
                self._expect(name, _kind(value), value, i, line_of)

    def _of_values(
        self, name: str, values: Sequence[Any], first: int, line_of: Callable[[int], int]
    ) -> Column:
        if name in self.names:
            return [None if v is None or v == [] else _text(v) for v in values]
        types = set(map(type, values)) - {type(None)}
        kind = _kind(values[first])
        self._expect(name, kind, values[first], first, line_of)
        if types <= {str} and kind == "names":
            return list(values)
        if not (types <= {int, float, bool} and kind == "numbers"):
            for i, value in enumerate(values):
                if value is not None and value != []:
                    self._expect(name, _kind(value), value, i, line_of)
        if kind == "numbers":
            return self._numbers(name, [None if v == [] else v for v in values], line_of)
        if kind == "names":
            return [v if v is None or isinstance(v, str) else _text(v) for v in values]
        size = len(values[first])
        vectors = np.full((len(values), size), np.nan, np.float32)
        rows = [i for i, value in enumerate(values) if value]
        vectors[rows] = [values[i] for i in rows]
        return vectors

    def _numbers(self, name: str, values: Sequence[Any], line_of: Callable[[int], int]) -> Numbers:
        try:
            if set(map(type, values)) <= {int, bool}:
                return np.array(values, np.int64)
        except OverflowError:
            pass
        try:
            return np.array(values, np.float64)
        except OverflowError:
            i = next(i for i, v in enumerate(values) if type(v) is int and abs(v) >= 2**1023)
            raise self._conflict(name, line_of(i), "a number beyond 64 bits") from None

    def _expect(
        self, name: str, kind: str, value: Any, i: int, line_of: Callable[[int], int]
    ) -> None:
        if self._kinds.setdefault(name, (kind, line_of(i)))[0] != kind:
            raise self._conflict(name, line_of(i), shown(value))

    def _conflict(self, name: str, line: int, value: str) -> TreeError:
        kind, first = self._kinds[name]
        return TreeError(
            f"expected column {name!r} to hold {kind}, as in line {first}, got {value}; correct "
            "it, or list the column among those of names",
            file=self.path,
            line=line,
        )


def _by_order(item: tuple[str, tuple[tuple[int, ...], Column]]) -> tuple[int, ...]:
    return item[1][0]


def _number(cell: str) -> Optional[float]:
    try:
        return float(cell)
    except ValueError:
        return None


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "objects"
    if isinstance(value, list):
        if all(type(member) in (int, float) for member in value):
            return f"vectors of {len(value)} numbers"
        return "names"
    return _PLAIN[type(value)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def shown(value: Any) -> str:
    """A JSON value in an error."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:40]}..."


def as_node_columns(
    columns: Mapping[str, Column],
) -> tuple[dict[str, Numbers], dict[str, Vocabulary]]:
    """Columns as those of a forest, with new vocabularies."""
    arrays: dict[str, Numbers] = {}
    vocabs: dict[str, Vocabulary] = {}
    for name, column in columns.items():
        if isinstance(column, list):
            ids: dict[Optional[str], int] = dict.fromkeys(column, -1)
            ids.pop(None, None)
            ids.update(zip(ids, range(len(ids))))
            vocabs[name] = Vocabulary(key for key in ids if key is not None)
            ids[None] = -1
            arrays[name] = np.fromiter(map(ids.__getitem__, column), np.int32, len(column))
        else:
            arrays[name] = column
    return arrays, vocabs


def as_example_columns(columns: Mapping[str, Column], lines: Sequence[int]) -> dict[str, Numbers]:
    """Columns as those of examples: numbers as float64, texts as objects; before them ``line``.

    Arguments:
        columns: each ``(E,)`` or ``(E, k)``; one that is called ``line`` becomes ``line_``.
        lines: the line or row of each example.
    """
    arrays: dict[str, Numbers] = {"line": np.asarray(lines, np.int64)}
    for name, column in columns.items():
        key = "line_" if name == "line" else name
        if isinstance(column, list):
            arrays[key] = np.empty(len(column), object)
            arrays[key][:] = column
        else:
            arrays[key] = column.astype(np.float64) if column.ndim == 1 else column
    return arrays
