"""Columns from Python values: one kind per column, by one rule for all builders and files.

=================================== ================================================================
values                              column
=================================== ================================================================
strings                             ``(N,)`` ids with a vocabulary, -1 where missing
integers                            ``(N,)`` int64
floats, or some missing             ``(N,)`` float, NaN where missing
truth values                        ``(N,)`` bool; among numbers, or with missing ones, 1 and 0
lists of ``k`` numbers each         ``(N, k)``, NaN where missing
other lists                         names: their JSON text
=================================== ================================================================

None, NaN, NaT, ``pandas.NA`` and an empty list are missing values. Values of several kinds in one
column are an error that names the argument which reads them as names.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.errors import RowError, called
from dgltrees.trees.columns import EXACT, name_of
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import Ints
from dgltrees.trees.text_cells import numbers_of
from dgltrees.trees.vocabulary import Vocabulary, encode_names, freeze_new

Known = tuple[Ints, Sequence[Any]]
"""The rows of a column that have a value, in order, and these values."""
FirstValues = dict[str, tuple[str, Any, str]]
"""By column: the kind of its values, the first of them, and its place as text."""

_LABEL = "label"
_PLAIN: frozenset[type] = frozenset((str, int, bool, dict))
"""Types whose values are never missing."""
_NUMBERS = (Real, Decimal, np.bool_)
_UNIFORM: tuple[set[type], ...] = ({str}, {int}, {float}, {bool}, {int, float}, {int, bool})
"""Types of values that all have the kind of the first."""


def column_of(
    values: Sequence[Any],
    error: RowError,
    vocab: Vocabulary | None = None,
    kind: str | None = None,
    *,
    name: str = "",
    rows: Ints | None = None,
    count: int | None = None,
    first: FirstValues | None = None,
    cure: str | None = None,
) -> tuple[NDArray[Any], Vocabulary | None]:
    """Convert the values of a column to an array, and to a vocabulary if they are names.

    Kind ``"name"`` reads every value as a name. ``rows`` are those of the values among ``count``
    rows; the others are missing. ``first`` has the kinds of earlier parts of the data.
    """
    count = len(values) if count is None else count
    rows, values = known(np.arange(count) if rows is None else rows, values)
    what: str | None = "names"
    if kind != "name":
        what = _one_kind(name, rows, values, error, {} if first is None else first, cure)
        what = what or ("numbers" if vocab is None else "names")
    if vocab is not None and what != "names":
        raise error(
            f"expected strings in column {name!r}, which has a vocabulary, got {shown(values[0])}",
            int(rows[0]),
        )
    if what == "names":
        vocab = Vocabulary() if vocab is None else vocab
        names = np.full(count, None, object)
        names[rows] = list(map(text_of, values))
        return encode_names(names.tolist(), vocab, error), vocab
    if what == "numbers":
        return _numbers(name, rows, values, count, error), None
    members = [each.detach().cpu() if isinstance(each, Tensor) else each for each in values]
    array = np.stack([np.asarray(each) for each in members])
    if len(rows) < count:
        array, part = np.full((count, *array.shape[1:]), np.nan), array
        array[rows] = part
    return array, None


def columns_of(
    dicts: Sequence[Mapping[Any, Any]],
    error: RowError,
    *,
    vocabs: dict[str, Vocabulary] | None = None,
    names: Collection[str] = (),
    first: FirstValues | None = None,
    without: Collection[tuple[Any, ...]] = (),
    wanted: Collection[str] | None = None,
) -> tuple[dict[str, NDArray[Any]], dict[str, Vocabulary]]:
    """Convert dictionaries to columns, in the order of their first values, and vocabularies.

    Keys of nested dictionaries are joined by dots. A column without values is left out; every value
    of a column in ``names`` is read as a name. New vocabularies are added to ``vocabs``, which
    later parts of the data use again.
    """
    first = {} if first is None else first
    vocabs = {} if vocabs is None else vocabs
    found: dict[str, tuple[tuple[int, ...], NDArray[Any]]] = {}  # each with its place in the data
    pending: list[tuple[tuple[Any, ...], Ints, Sequence[Any]]]
    pending = [((), np.arange(len(dicts)), dicts)]
    while pending:
        above, parent_rows, parents = pending.pop()
        skipped = {path[-1] for path in without if path[:-1] == above}
        for key, (within, values) in _by_key(parents, skipped).items():
            path, rows = (*above, key), parent_rows[within]
            name = ".".join(map(str, path))
            if wanted is not None and not _is_wanted(name, wanted):
                continue
            if name not in names and any(issubclass(t, Mapping) for t in set(map(type, values))):
                _one_kind(name, rows, values, error, first)
                pending.append((path, rows, values))
                continue
            if name in found:
                raise error(
                    f"expected every key once, got {name!r} twice; it may be written as a number, "
                    "or with dots next to an object in an object",
                    int(rows[0]),
                )
            column, vocab = column_of(
                values,
                error,
                vocabs.get(name),
                "name" if name in names else None,
                name=name,
                rows=rows,
                count=len(dicts),
                first=first,
            )
            if vocab is not None:
                vocabs[name] = vocab
            found[name] = (int(rows[0]), *_place_of(dicts[rows[0]], path)), column
    in_order = sorted(found.items(), key=lambda item: item[1][0])
    return {name: column for name, (_, column) in in_order}, {
        name: vocabs[name] for name, _ in in_order if name in vocabs
    }


def columns_of_values(
    values: Mapping[str, Sequence[Any]],
    error: RowError,
    vocabs: Mapping[str, Vocabulary] | None = None,
    names: Collection[str] = (),
    cure: str | None = None,
) -> tuple[dict[str, NDArray[Any]], dict[str, Vocabulary]]:
    """Convert named columns to arrays and vocabularies.

    A column without any value becomes NaN, and a warning names it: its name may be misspelt.
    """
    given = vocabs
    vocabs, columns = dict(vocabs or {}), {}
    for name, column in values.items():
        kind = "name" if name in names else None
        if name not in vocabs and kind is None and all(map(is_missing, column)):
            warnings.warn(f"column {name!r} has no value at any node", stacklevel=4)
        columns[name], vocab = column_of(
            column, error, vocabs.get(name), kind, name=name, cure=cure
        )
        if vocab is not None:
            vocabs[name] = vocab
    freeze_new(vocabs, given)
    return columns, vocabs


def with_numbers(forest: Forest, names: Collection[str] = ()) -> tuple[Forest, list[str]]:
    """Convert columns of strings which are all numbers to numbers, except for ``names``.

    Numbers with leading zeros, such as postcodes, are names, and so are labels, the types of nodes.
    The list has the converted columns.
    """
    columns, vocabs = dict(forest.columns), dict(forest.vocabs)
    for name in [each for each in vocabs if each in columns and each not in (*names, _LABEL)]:
        counts = forest.name_counts(name)
        used = np.flatnonzero(counts)
        texts = vocabs[name].decode(used)
        numbers = None if numbers_of(texts[:1]) is None else numbers_of(texts)
        if numbers is not None:
            del vocabs[name]
            complete = int(counts.sum()) == forest.num_nodes
            table = np.full(counts.size + 1, 0 if complete else np.nan)
            table = table.astype(numbers.dtype) if complete else table
            table[used] = numbers
            columns[name] = table[np.asarray(columns[name])]
    converted = [name for name in forest.vocabs if name not in vocabs]
    return (forest.with_columns(columns, vocabs) if converted else forest), converted


def known(rows: Ints, values: Sequence[Any]) -> Known:
    """Leave out missing values and their rows."""
    if _PLAIN.issuperset(set(map(type, values))):
        return rows, values
    keep = [i for i, value in enumerate(values) if not is_missing(value)]
    return (rows, values) if len(keep) == len(values) else (rows[keep], [values[i] for i in keep])


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or NA of pandas, or an empty list."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (list, tuple)):
        return not value
    return isinstance(value, (float, np.floating, Decimal)) and bool(value != value)


def text_of(value: Any) -> str:
    """Return a value as a name: a string, number or truth value, or otherwise its JSON text."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, _NUMBERS):
        return str(name_of(value))
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def shown(value: Any) -> str:
    """Return a value as text for an error."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError):  # keys that JSON does not have, or a cycle
        text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _is_wanted(name: str, wanted: Collection[str]) -> bool:
    return name in wanted or any(each.startswith(f"{name}.") for each in wanted)


def _by_key(objects: Sequence[Mapping[Any, Any]], skipped: Collection[str]) -> dict[Any, Known]:
    """Return the known values of each key, with the rows that have them."""
    groups: dict[tuple[Any, ...], tuple[list[int], list[Mapping[Any, Any]]]] = {}
    for row, each in enumerate(objects):  # objects with the same keys, of which there are few kinds
        group = groups.setdefault(tuple(each), ([], []))
        group[0].append(row)
        group[1].append(each)
    parts: dict[Any, list[tuple[list[int], tuple[Any, ...]]]] = {}
    for keys, (group_rows, members) in groups.items():
        for key, values in zip(keys, zip(*(each.values() for each in members))):
            if key not in skipped:
                parts.setdefault(key, []).append((group_rows, values))
    columns: dict[Any, Known] = {}
    for key, cells in parts.items():
        rows = np.concatenate([np.array(group) for group, _ in cells])
        column = np.fromiter(chain.from_iterable(values for _, values in cells), object, len(rows))
        if len(cells) > 1:
            order = rows.argsort()
            rows, column = rows[order], column[order]
        some = known(rows, column.tolist())
        if len(some[0]):
            columns[key] = some
    return columns


def _place_of(value: Mapping[Any, Any], path: tuple[Any, ...]) -> list[int]:
    """Return the index of each key of a path among the members of its object."""
    places = []
    for key in path:
        places.append(list(value).index(key))
        value = value[key]
    return places


def _kind_of(value: Any) -> str:
    """Return the kind of a value; empty if no column can hold it."""
    if isinstance(value, str):
        return "names"
    if isinstance(value, _NUMBERS):
        return "numbers"
    if isinstance(value, Mapping):
        return "objects"
    if isinstance(value, (list, tuple)):
        numbers = all(isinstance(each, _NUMBERS) for each in value)
        return f"vectors of {len(value)} numbers" if numbers else "names"
    if isinstance(value, (np.ndarray, Tensor)):
        numbers = isinstance(value, Tensor) or value.dtype.kind in "biuf"
        return f"vectors of {' x '.join(map(str, value.shape))} numbers" if numbers else ""
    return ""


def _one_kind(
    name: str,
    rows: Ints,
    values: Sequence[Any],
    error: RowError,
    first: FirstValues,
    cure: str | None = None,
) -> str | None:
    """Return the kind that all values have, None without values; several kinds are an error."""
    cure = cure or f"name the column in {called('data.categorical_columns')} to read it as strings"
    uniform = set(map(type, values)) in _UNIFORM
    for row, value in zip(rows.tolist(), values[:1] if uniform else values):
        kind = _kind_of(value)
        if not kind:
            raise error(
                f"expected strings, numbers or lists in column {name!r}, got {value!r:.40} "
                f"({type(value).__name__}); convert it, or leave the column out",
                row,
            )
        if name not in first:
            first[name] = kind, value, _place(error, row)
        expected, before, place = first[name]
        if kind != expected:
            raise error(
                f"expected one kind of value in column {name!r}, got {expected} ({shown(before)} "
                f"in {place}) and {shown(value)} in {_place(error, row)}; correct one of them, "
                f"leave a missing value out, or {cure}",
                row,
            )
    return first[name][0] if name in first else None


def _place(error: RowError, row: int) -> str:
    """Return the place of a row as text: its line, or its tree and node."""
    at = error("", row)
    parts = {"line": at.line} if at.line is not None else {"tree": at.tree, "node": at.node}
    return ", ".join(f"{what} {i}" for what, i in parts.items() if i is not None) or f"row {row}"


def _numbers(
    name: str, rows: Ints, values: Sequence[Any], count: int, error: RowError
) -> NDArray[Any]:
    """Convert numbers to an array of ``count`` rows, NaN where one is missing."""
    complete = count > 0 and len(rows) == count
    array = np.array(values) if complete else np.full(count, np.nan)
    exact = array.dtype.kind in "biu" and array.dtype != np.uint64
    if not exact and set(map(type, values)) != {float}:
        for row, value in zip(rows.tolist(), values):
            if isinstance(value, (int, np.integer)) and abs(int(value)) > EXACT:
                raise error(
                    f"expected integers of 64 bits in column {name!r}, or up to 2^53 where others "
                    f"are floats or missing, got {value!s:.30}; write them as strings",
                    row,
                )
    if not complete:
        array[rows] = np.array(values, np.float64)
    return array if array.dtype.kind in "biuf" and array.dtype != np.uint64 else array.astype(float)
