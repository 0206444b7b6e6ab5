"""Conversion of the values of a column to an array, by their types."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.errors import RowError, TreeError
from dgltrees.trees.columns import EXACT
from dgltrees.trees.vocabulary import Vocabulary, encode_names, freeze_new, vocabs_for

KINDS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "truth value": (bool, np.bool_),
    "number": (Real, Decimal),  # those of numpy are Real too
    "vector": (list, tuple, np.ndarray, Tensor),
}
"""Kinds of values and their types; the first that fits is used."""


@cache
def kind_of(value_type: type) -> str:
    """Return the kind of the values of a type: one of :data:`KINDS`, or ``""``."""
    return next((kind for kind, types in KINDS.items() if issubclass(value_type, types)), "")


def typed_columns(
    values: Mapping[str, Sequence[Any]],
    error: RowError,
    vocabs: Mapping[str, Vocabulary] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> tuple[dict[str, NDArray[Any]], dict[str, Vocabulary]]:
    """Convert columns to arrays by the types of their values.

    A column without any value becomes NaN, and a warning names it: its name may be misspelt.
    """
    vocabs, kinds = vocabs or {}, kinds or {}
    columns: dict[str, NDArray[Any]] = {}
    names: dict[str, Sequence[str | None]] = {}
    for key, column in values.items():

        def column_error(message: str, row: int, key: str = key) -> TreeError:
            return error(f"column {key!r}: {message}", row)

        kind = "name" if key in vocabs else kinds.get(key, "")
        kind = _kind_of_values(column, column_error, kind)
        if not kind:  # one plan may well have no index
            warnings.warn(f"column {key!r} has no value at any node", stacklevel=4)
            columns[key] = np.full(len(column), np.nan)
        elif kind == "name":
            names[key] = column
            if set(map(type, column)) - {str, type(None)}:  # strings that are more than their text
                names[key] = [None if text is None else str.__str__(text) for text in column]
        else:
            columns[key] = _number_array(column, kind, column_error)
    vocabularies = vocabs_for(vocabs, *names)
    columns.update((k, encode_names(names[k], vocabularies[k], error)) for k in names)
    freeze_new(vocabularies, vocabs)
    return {key: columns[key] for key in values}, vocabularies


def _kind_of_values(values: Sequence[Any], error: RowError, kind: str = "") -> str:
    """Return the kind of all values, one of ``KINDS``: ``kind``, or else that of the first value.

    It is ``""`` if all are missing; a value of another kind is an error.
    """
    kinds = {each: kind_of(each) for each in set(map(type, values)) - {type(None)}}
    expected = f"a {kind}"
    if not kind:
        first = next((value for value in values if value is not None), None)
        if first is None:
            return ""
        kind = kinds[type(first)]
        expected = f"a {kind} as at the nodes before" if kind else f"a {' or '.join(KINDS)}"
    others = {each for each, its in kinds.items() if its != kind or not its}
    if others:
        row = next(row for row, value in enumerate(values) if type(value) in others)
        raise error(
            f"expected {expected}, got {shown(values[row])}; give the column a function that makes "
            "one kind of value of every node",
            row,
        )
    return kind


def _number_array(values: Sequence[Any], kind: str, error: RowError) -> NDArray[Any]:
    """Convert booleans or numbers to an array ``(N,)``, vectors of one shape to ``(N, ...)``.

    Integers are int64 if none is missing, otherwise floats with NaN. An integer that is too large
    for int64, or not exact as a float if one is needed, is an error; so are those of
    :func:`_stack`.
    """
    if kind == "vector":
        if all(value is None for value in values):
            raise error("expected a vector at one node or more, got none", 0)
        return _stack(values, error)
    types = set(map(type, values))
    missing = type(None) in types
    array = np.array([np.nan if v is None else v for v in values] if missing else values)
    if array.dtype == object or array.dtype == np.uint64:  # fractions, decimals, large integers
        array = array.astype(float)
    if array.dtype.kind == "f" and types - {float, type(None)}:
        for row, value in enumerate(values):
            if isinstance(value, (int, np.integer)) and abs(int(value)) > EXACT:
                limit = "2^53 next to other numbers that are floats or missing"
                raise error(f"expected integers up to {limit}, got {value}", row)
    return array.astype(float) if missing else array


def shown(value: Any) -> str:
    """Return a value and its type as text, for the errors."""
    text = repr(value)
    return f"{text[:40]}{'...' * (len(text) > 40)} ({type(value).__name__})"


def _stack(values: Sequence[Any], error: RowError) -> NDArray[Any]:
    """Stack vectors as rows ``(N, ...)``; different shapes and other values are errors."""
    rows: list[Any] = []
    shape: tuple[int, ...] | None = None
    for row, value in enumerate(values):
        if value is None:
            rows.append(None)
            continue
        try:
            vector = np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value)
        except ValueError:  # rows of unlike lengths
            vector = np.array(None)
        if vector.dtype.kind not in "biuf":
            raise error(f"expected a vector of numbers, got {shown(value)}", row)
        shape = vector.shape if shape is None else shape
        if vector.shape != shape:
            raise error(
                f"expected vectors of one length, {_size(shape)} as at earlier nodes, got "
                f"{_size(vector.shape)}",
                row,
            )
        rows.append(vector)
    empty = np.full(shape or (), np.nan)
    return np.stack([empty if vector is None else vector for vector in rows])


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "a number"
