"""Summaries of columns and trees: counts, names, ranges, shapes, and warnings."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.trees.columns import infer_kind
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary
from dgltrees.trees.words import is_number

_ENOUGH = 20  # the fewest values for a warning that they are all different
_CODES = 10  # at most this many different numbers may be names
AS_TEXT = "holds numbers as text"


@dataclass(frozen=True)
class ColumnSummary:
    """Summary of the values of a column.

    Attributes:
        name: the name of the column.
        kind: ``category``, ``number``, ``log``, ``vector`` or ``text``, see
            :func:`~dgltrees.trees.columns.infer_columns`.
        count: the number of values.
        missing: the number of rows without a value.
        distinct: the number of different values; 0 for vectors, which are not compared.
        frequent: the most frequent names, each with its number of rows; empty for numbers.
        range: the smallest number, the median and the largest; None for names, or without values.
        size: the entries of a vector; otherwise 1.
        warnings: sentences on what may be wrong, without the name of the column.
    """

    name: str
    kind: str
    count: int
    missing: int
    distinct: int
    frequent: tuple[tuple[str, int], ...] = ()
    range: tuple[float, float, float] | None = None
    size: int = 1
    warnings: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """One line of text: the names with their shares, or the range of the numbers."""
        if self.range is not None:
            low, median, high = (f"{number:.6g}" for number in self.range)
            vector = f"vectors of {self.size}, " if self.kind == "vector" else ""
            return f"{vector}{low} to {high}, median {median}"
        if not self.count:
            return "no value"
        shares = (f"{name:.24} {n / self.count:.0%}" for name, n in self.frequent)
        more = ", ..." if self.distinct > len(self.frequent) else ""
        return f"{self.distinct} name{'s' * (self.distinct != 1)}: {', '.join(shares)}{more}"


def equal_trees(forest: Forest) -> NDArray[np.int64]:
    """Return a number per tree, ``(T,)``, which equal trees share: ``groups`` of scikit-learn.

    Trees are equal if they have the same shape and the same values in all columns.
    """
    arrays: list[NDArray[Any]] = [np.asarray(forest.parent), np.asarray(forest.pos)]
    for values in map(np.asarray, forest.columns.values()):
        arrays.append(values if values.dtype != object else _ids(values))
    numbers: dict[bytes, int] = {}
    keys = (
        b"".join(array[start:stop].tobytes() for array in arrays)
        for start, stop in pairwise(forest.offsets.tolist())
    )
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def _ids(names: NDArray[Any]) -> NDArray[np.int32]:
    """Return a number per string, -1 for None."""
    vocabulary = Vocabulary()
    return vocabulary.encode([None if name is None else str(name) for name in names.tolist()])


def summarize_column(
    name: str,
    values: NDArray[Any],
    vocab: Vocabulary | None = None,
    *,
    kind: str | None = None,
    most: int = 4,
) -> ColumnSummary:
    """Summarize the values of a column."""
    values = np.asarray(values)
    if vocab is None and values.dtype.kind in "OUS":
        vocab = Vocabulary()
        values = vocab.encode([None if text is None else str(text) for text in values.tolist()])
    kind = kind or infer_kind(values, vocab)
    if vocab is None:
        return _numbers(name, values, kind)
    counts = np.bincount(values[values >= 0], minlength=len(vocab))
    order = np.argsort(-counts, kind="stable")[:most]
    frequent = tuple((vocab.names[i], int(counts[i])) for i in order.tolist() if counts[i])
    count, distinct = int(counts.sum()), int((counts > 0).sum())
    warnings = []
    if distinct == 1 and count == len(values):
        warnings.append("has the same name in all rows, so it carries no information")
    elif kind == "category" and count >= _ENOUGH and distinct > 0.9 * count:
        warnings.append(
            f"has {distinct} different names in {count} values, so it may be an identifier, which "
            "does not help a model"
        )
    numeric = sum(int(n) for n, text in zip(counts, vocab.names) if n and is_number(text))
    if numeric == count and distinct > _CODES:
        warnings.append(
            f"{AS_TEXT}, each of which is a name of its own; if it is measured, write it without "
            "quotes"
        )
    elif count > numeric > count / 2:
        warnings.append(
            f"holds names, but {numeric / count:.0%} of them look like numbers; if it should hold "
            "numbers, correct the others or leave them empty"
        )
    missing = len(values) - count
    return ColumnSummary(name, kind, count, missing, distinct, frequent, warnings=tuple(warnings))


def _numbers(name: str, values: NDArray[Any], kind: str) -> ColumnSummary:
    numbers = np.asarray(values, np.float64)
    size = 1 if numbers.ndim == 1 else numbers.shape[1]
    missing = int(np.isnan(numbers.reshape(len(numbers), -1)).all(1).sum())
    finite = numbers[np.isfinite(numbers)]
    count = len(numbers) - missing
    if not len(finite):
        return ColumnSummary(name, kind, count, missing, 0, size=size)
    low, high = float(finite.min()), float(finite.max())
    distinct = 0 if numbers.ndim > 1 else len(np.unique(finite))
    warnings = []
    if not np.isinf(numbers).any() and not missing and low == high:
        warnings.append(f"is {low:g} in all rows, so it carries no information")
    if np.isinf(numbers).any():
        warnings.append("has infinite numbers, which models reject; correct them")
    if count >= _ENOUGH and distinct == count == high - low + 1:
        warnings.append("numbers its rows, so it is an identifier, which does not help a model")
    limits = low, float(np.median(finite)), high
    return ColumnSummary(name, kind, count, missing, distinct, (), limits, size, tuple(warnings))


@dataclass(frozen=True)
class ShapeSummary:
    """Summary of the shapes of trees; each triple is minimum, median and maximum.

    Attributes:
        trees, nodes: the numbers of trees and nodes.
        size: nodes of a tree.
        depth: edges from the root of a tree to its deepest node.
        arity: children of a node that has children; zeros if no node has any.
    """

    trees: int
    nodes: int
    size: tuple[int, int, int]
    depth: tuple[int, int, int]
    arity: tuple[int, int, int]


def summarize_shapes(forest: Forest) -> ShapeSummary:
    """Summarize the shapes of the trees of a forest."""
    degree = forest.degree[forest.degree > 0]
    triples = (_triple(values) for values in (forest.sizes, forest.depths, degree))
    return ShapeSummary(len(forest), forest.num_nodes, *triples)


def _triple(values: NDArray[Any]) -> tuple[int, int, int]:
    if not len(values):
        return 0, 0, 0
    middle = np.sort(values)[len(values) // 2]
    return int(values.min()), int(middle), int(values.max())
