"""What is in columns and trees: counts, names, ranges, shapes, and what looks wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.trees.columns import infer_kind
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary
from dgltrees.trees.words import is_number

_ENOUGH = 20  # values, before their being all different or mostly numbers says something


@dataclass(frozen=True)
class ColumnSummary:
    """What a column holds.

    Attributes:
        name: of the column.
        kind: ``category``, ``number``, ``log``, ``vector`` or ``text``, see
            :func:`~dgltrees.trees.columns.infer_columns`.
        count: the number of values.
        missing: the number of rows without one.
        distinct: the number of different values; of vectors not counted, 0.
        frequent: the most frequent names, each with its number of rows; none for numbers.
        range: the smallest number, the median, the largest; None for names or where there is none.
        size: entries of a vector; 1 otherwise.
        warnings: what looks wrong.
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
        """Names with their shares, or the range of numbers, in a line."""
        if self.range is not None:
            low, median, high = (f"{number:.6g}" for number in self.range)
            vector = f"vectors of {self.size}, " if self.kind == "vector" else ""
            return f"{vector}{low} to {high}, median {median}"
        if not self.count:
            return "no value"
        shares = (f"{name:.24} {n / self.count:.0%}" for name, n in self.frequent)
        more = ", ..." if self.distinct > len(self.frequent) else ""
        return f"{self.distinct} name{'s' * (self.distinct != 1)}: {', '.join(shares)}{more}"


def summarize_column(
    name: str,
    values: NDArray[Any],
    vocab: Vocabulary | None = None,
    *,
    kind: str | None = None,
    most: int = 4,
) -> ColumnSummary:
    """The summary of a column.

    Arguments:
        name: of the column.
        values: ``(n,)`` numbers, texts, or ids of names, -1 for none; or vectors ``(n, k)``.
        vocab: the names of ids.
        kind: what the column holds; by default as inferred.
        most: the number of frequent names to count.
    """
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
        warnings.append("has the same name everywhere and tells nothing")
    elif kind == "category" and count >= _ENOUGH and distinct > 0.9 * count:
        warnings.append(
            f"has {distinct} different names in {count} values: an identifier tells a model nothing"
        )
    numeric = sum(int(n) for n, text in zip(counts, vocab.names) if n and is_number(text))
    if count > numeric > count / 2:
        warnings.append(
            f"holds names of which {numeric / count:.0%} look like numbers; if it should hold "
            "numbers, correct the others or make them empty"
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
        warnings.append(f"is {low:g} everywhere and tells nothing")
    if np.isinf(numbers).any():
        warnings.append("has infinite numbers, which no model reads; correct them")
    if count >= _ENOUGH and distinct == count == high - low + 1:
        warnings.append("counts its rows: an identifier tells a model nothing")
    limits = low, float(np.median(finite)), high
    return ColumnSummary(name, kind, count, missing, distinct, (), limits, size, tuple(warnings))


@dataclass(frozen=True)
class ShapeSummary:
    """The shapes of some trees; each triple is smallest, median and largest.

    Attributes:
        trees, nodes: their numbers.
        size: nodes of a tree.
        depth: edges from the root of a tree to its deepest node.
        arity: children of a node that has some; zeros where none has.
    """

    trees: int
    nodes: int
    size: tuple[int, int, int]
    depth: tuple[int, int, int]
    arity: tuple[int, int, int]


def summarize_shapes(forest: Forest) -> ShapeSummary:
    """The shapes of the trees of a forest."""
    degree = forest.degree[forest.degree > 0]
    triples = (_triple(values) for values in (forest.sizes, forest.depths, degree))
    return ShapeSummary(len(forest), forest.num_nodes, *triples)


def _triple(values: NDArray[Any]) -> tuple[int, int, int]:
    if not len(values):
        return 0, 0, 0
    middle = np.sort(values)[len(values) // 2]
    return int(values.min()), int(middle), int(values.max())
