"""Input columns that leak the target, by their names and by their values at the roots."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import called
from dgltrees.tasks.custom_trees.reading import node_values
from dgltrees.trees import Forest, LabeledTrees
from dgltrees.trees.columns import Column, name_of

_ENOUGH = 20  # smallest number of trees for a correlation
_EQUAL = 0.99  # smallest correlation of nearly equal columns
_SOME = 5  # smallest number of trees in a class that a threshold separates

_MEASURED = re.compile(
    r"""(?ix) (?:^|\.) (?:
    actual\ | rows\ removed\ by | workers$ | workers\ launched
    | cache\ (?:hits|misses|evictions|overflows)
    | (?:original\ )?hash(?:agg)?\ (?:buckets|batches) | peak\ memory | disk\ usage
    | sort\ (?:method|space) | (?:exact|lossy)\ heap\ blocks | heap\ fetches | wal\ | [^.]*i/o\b
    | (?:shared|local|temp)\ [^.]*blocks | (?:full-sort|pre-sorted)\ groups
    | (?:operator_)?(?:timing|cardinality|rows_scanned)$ | row_groups_scanned | intermediate_
    | result_set_size | cpu_time | cumulative_ | blocked_thread
    )"""
)
"""Names of measurements in EXPLAIN ANALYZE of PostgreSQL and DuckDB."""


WARNING = "the columns .* (look measured with|are nearly equal to) the target"
"""A regular expression of the warnings, for filters."""


def warn_of_leaks(
    raw: LabeledTrees,
    inputs: Sequence[Column],
    values: Mapping[str, NDArray[Any] | None],
    targets: Sequence[str],
    features: Any,
) -> None:
    """Warn of input columns that are measured with the target, or nearly equal to it."""
    columns = [each.name for each in inputs]
    answers = {name: each for name, each in values.items() if each is not None}
    cure = f"name the inputs with {called('data.features')}"
    if features is not None:
        cure = f"leave them out of {called('data.features')}, or ignore this if new trees have them"
    for names, what in (
        (
            measured(raw.forest, columns, targets),
            "look measured with the target, so new trees do not have them",
        ),
        (
            equal_to(answers, raw, columns),
            "are nearly equal to the target at the roots, or thresholds of them are",
        ),
    ):
        if names:
            text = f"the columns {', '.join(names)} {what}; {cure}"
            warnings.warn(text, stacklevel=3)


def measured(forest: Forest, names: Sequence[str], targets: Sequence[str]) -> list[str]:
    """Return the names of columns that are measured with the target, such as ``Actual Rows``.

    They have such a name, or nearly all their numbers are those of such a column, or of a target,
    in the same tree, as the times of children are.
    """
    by_name = [n for n in names if any(map(_MEASURED.search, (n, n.replace("_", " "))))]
    numbers = {
        name: np.asarray(forest.columns[name])
        for name in dict.fromkeys([*names, *targets])
        if name in forest.columns and _is_numeric(forest, name)
    }
    sources = [numbers[name] for name in (*by_name, *targets) if name in numbers]
    others = [n for n in names if n in numbers and n not in by_name and n not in targets]
    trees = forest.tree_of_node
    return by_name + [n for n in others if sources and _repeats(numbers[n], sources, trees)]


def _is_numeric(forest: Forest, name: str) -> bool:
    values = forest.columns[name]
    return name not in forest.vocabs and values.dtype.kind in "iuf" and values.ndim == 1


def _repeats(
    values: NDArray[Any], sources: Sequence[NDArray[Any]], trees: NDArray[np.int64]
) -> bool:
    """Return whether nearly all numbers of nodes, but 0, are in the same tree in a source."""
    rows = np.isfinite(values) & (values != 0)
    if len(np.unique(values[rows])) < _ENOUGH:
        return False
    numbers, codes = np.unique(np.concatenate([values, *sources]), return_inverse=True)
    keys = np.tile(trees, 1 + len(sources)) * len(numbers) + codes
    return bool(np.isin(keys[: len(values)][rows], keys[len(values) :]).mean() > _EQUAL)


def equal_to(
    answers: Mapping[str, NDArray[Any]], raw: LabeledTrees, names: Sequence[str]
) -> list[str]:
    """Return the names of columns that are nearly equal to a target at the roots.

    Their correlation, or that of their ranks, is above .99 or below -.99; or thresholds
    separate the classes. Vectors are left out.
    """
    codes = [_codes(values) for values in answers.values()]
    found = []
    for name in names:
        if np.ndim(raw.forest.columns[name]) == 1:
            values = node_values(raw.forest, name, raw.forest.roots[:: raw.arity])
            at_roots = _codes(cast("NDArray[Any]", values))
            found += [name] if any(_nearly_equal(at_roots, each) for each in codes) else []
    return found


def _codes(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers unchanged, and names as their alphabetical ranks; NaN if missing."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    names = list(map(name_of, values.tolist()))
    ranks = {name: rank for rank, name in enumerate(sorted(filter(None, {*names})))}
    return np.array([ranks.get(name or "", np.nan) for name in names])


def _nearly_equal(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Return whether the correlation of two columns, or of their ranks, is nearly 1 or -1."""
    from scipy.stats import pearsonr, spearmanr

    known = np.isfinite(one) & np.isfinite(other)
    x, y = one[known], other[known]
    if len(x) < _ENOUGH or np.ptp(x) == 0 or np.ptp(y) == 0:
        return False
    correlations = pearsonr(x, y)[0], spearmanr(x, y)[0]
    return bool(np.abs(correlations).max() > _EQUAL) or _thresholds_separate(x, y)


def _thresholds_separate(x: NDArray[np.float64], y: NDArray[np.float64]) -> bool:
    """Return whether thresholds of ``x`` separate the values of ``y``, which are few classes.

    By chance this hardly occurs with five trees in each class and twenty in all.
    """
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if counts.min() < _SOME:
        return False
    low, high = np.full(len(classes), np.inf), np.full(len(classes), -np.inf)
    np.minimum.at(low, codes, x)
    np.maximum.at(high, codes, x)
    order = low.argsort()
    return bool((high[order][:-1] < low[order][1:]).all())
