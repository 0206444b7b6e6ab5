"""The kind of a column by its values, and its array."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Callable, Optional

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.errors import TreeError

__all__ = ["KINDS", "kind_of_values", "number_array", "shown"]

Error = Callable[[str, int], TreeError]

KINDS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "truth value": (bool, np.bool_),
    "number": (Real, Decimal),  # those of numpy are Real too
    "vector": (list, tuple, np.ndarray, Tensor),
}
"""The kinds of values and their types; the first that fits counts."""

_EXACT = 2**53
"""Integers up to this are floats without loss."""


def kind_of_values(values: Sequence[Any], error: Error, kind: str = "") -> str:
    """What all of some values are, one of ``KINDS``.

    Arguments:
        values: the values, None where one is missing.
        error: makes the error that is raised from its message and the index of a value.
        kind: the kind that they have to be; by default that of the first value.

    Raises:
        TreeError: a value is of another kind, or of none; or all are missing and there is no
            ``kind``.
    """
    kinds = {value_type: _kind(value_type) for value_type in set(map(type, values)) - {type(None)}}
    expected = f"a {kind}"
    if not kind:
        first = next((value for value in values if value is not None), None)
        if first is None:
            raise error("expected a value at some node, got none at any; correct its name", 0)
        kind = kinds[type(first)]
        expected = f"a {kind} as at the nodes before" if kind else f"a {' or '.join(KINDS)}"
    if not kind or set(kinds.values()) - {kind}:
        row = next(
            row
            for row, value in enumerate(values)
            if value is not None and not (kind and kinds[type(value)] == kind)
        )
        raise error(
            f"expected {expected}, got {shown(values[row])}; give the column a function that makes "
            "one kind of value of every node",
            row,
        )
    return kind


def number_array(values: Sequence[Any], kind: str, error: Error) -> NDArray[Any]:
    """Truth values or numbers as an array ``(N,)``, vectors of one shape as ``(N, ...)``.

    Integers are int64 where none is missing; where one is, they are floats, NaN where missing.

    Arguments:
        values: the values, None where one is missing.
        kind: what they are.
        error: makes the error that is raised from its message and the index of a value.

    Raises:
        TreeError: vectors differ in length or hold something else than numbers, or an integer is
            too large for int64, or for a float without loss where one is needed.
    """
    if kind == "vector":
        if all(value is None for value in values):
            raise error("expected a vector at some node, got none at any", 0)
        return _stack(values, error)
    missing = any(value is None for value in values)
    array = np.array([np.nan if value is None else value for value in values])
    if array.dtype == object or array.dtype == np.uint64:  # fractions, decimals, large integers
        array = array.astype(float)
    if array.dtype.kind == "f":
        for row, value in enumerate(values):
            if isinstance(value, (int, np.integer)) and abs(int(value)) > _EXACT:
                limit = "2^53 beside other numbers that are floats or missing"
                raise error(f"expected integers up to {limit}, got {value}", row)
    return array.astype(float) if missing else array


def _kind(value_type: type) -> str:
    fits = (kind for kind, types in KINDS.items() if issubclass(value_type, types))
    return next(fits, "")


def shown(value: Any) -> str:
    """A value and its type, for the errors."""
    text = repr(value)
    return f"{text[:40]}{'...' * (len(text) > 40)} ({type(value).__name__})"


def _stack(values: Sequence[Any], error: Error) -> NDArray[Any]:
    """The rows ``(N, ...)`` of vectors of one shape."""
    rows: list[Any] = []
    shape: Optional[tuple[int, ...]] = None
    for row, value in enumerate(values):
        try:
            vector = (
                None
                if value is None
                else np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value)
            )
        except ValueError:  # rows of unlike lengths
            vector = np.array(None)
        if vector is not None:
            if vector.dtype.kind not in "biuf":
                raise error(f"expected a vector of numbers, got {shown(value)}", row)
            shape = vector.shape if shape is None else shape
            if vector.shape != shape:
                raise error(
                    f"expected vectors of one length, that is {_size(shape)} as at the nodes "
                    f"before, got {_size(vector.shape)}",
                    row,
                )
        rows.append(vector)
    if any(vector is None for vector in rows):
        empty = np.full(shape or (), np.nan)
        rows = [empty if vector is None else vector for vector in rows]
    return np.stack(rows)


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "a number"
