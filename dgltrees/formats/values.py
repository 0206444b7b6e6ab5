"""Values of files as typed columns: numbers, vectors and names, with one type per file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import TreeError
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.vocabulary import Vocabulary

FileColumn = NDArray[Any]
"""Numbers ``(n,)``, vectors ``(n, k)``, or names as objects, None for a missing one."""

ID = "id"
"""The example column that identifies a tree. Its values stay as they are in the file."""
LineOf = Callable[[int], int]


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
