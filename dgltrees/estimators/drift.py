r"""Whether new trees differ from those of training: categories, sizes, numbers and vectors.

A tree is rare if it has an unknown category, a size, a number or a share of missing values outside
the range of training, or a vector far from those of training. If all n training trees and m new
trees are from one distribution, their order is random. Then the number of rare new trees is k or
more with the probability of Fisher's exact test,

.. math:: P(X \ge k), \quad X \sim \mathrm{Hypergeometric}(n + m,\ k + r,\ m)

where r is the number of training trees that would be as rare without their group. A difference is
named if the probability is below :data:`LEVEL`, divided by the number of tests (Bonferroni). For a
ranker, n, m, k and r count groups instead of trees.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin_min

from dgltrees.tasks.custom_trees.ranks import RankTask
from dgltrees.tasks.splits import Splits
from dgltrees.training.trained import TrainedModel
from dgltrees.trees import LabeledTrees, Vocabulary
from dgltrees.trees.schema import NUMBERS, alone, by_chance
from dgltrees.trees.segments import offsets_of

LEVEL = 0.01
"""The probability of a warning if the trees are from the distribution of training."""

_VECTORS = 200  # of training trees that are kept, and of validation trees
_FAR = 0.9  # the share of validation trees that are nearer than a tree that is far

Statistics = Mapping[str, NDArray[Any]]
Test = tuple[NDArray[np.bool_], NDArray[np.int64] | int, int, Sequence[str]]
"""Whether each tree is rare, ``(T, tests)``, r and n, and the end of the reason of each test."""


def training_statistics(run: TrainedModel, splits: Splits) -> Statistics:
    """Return the statistics of training trees with which new trees are compared."""
    data, valid, columns = splits.train, splits.valid, splits.train.forest.columns
    units, (_, low, high) = _units(run, data), _quantities(run, data)
    nodes, least = np.diff(data.forest.offsets[:: data.arity]), run.settings.data.min_freq
    owners = np.stack([units, run.task.groups(data)]).repeat(nodes, axis=1)
    unknown = []
    for name, vocab in _categories(run):
        ids = np.asarray(columns[name])
        (trees, groups), ids = owners[:, ids >= 0], ids[ids >= 0]
        unknown.append(alone(ids, trees, groups, least, _unknown_id(vocab)))
    statistics = {
        "count": np.array([units.max() + 1]),
        "unknown": np.array(unknown, np.int64),
        "range": np.stack([np.fmin.reduce(low), np.fmax.reduce(high)]),
    }
    if valid is not None and not isinstance(run.task, RankTask):
        random = np.random.default_rng(0)
        vectors, held_out = (
            run.encode(part.select(random.permutation(len(part))[:_VECTORS]))
            for part in (data, valid)
        )
        statistics["vectors"] = vectors
        statistics["distances"] = np.sort(_distances(held_out, vectors))
    return {name: array for name, array in statistics.items() if array.size}


def joined(before: Statistics, now: Statistics) -> Statistics:
    """Return the statistics of the trees of a fit and of one that continued it.

    Counts are the larger ones, since both may have the same trees. Vectors are left out: those of
    the first trees have changed.
    """
    (low, high), (lowest, highest) = before["range"], now["range"]
    counts = {n: np.maximum(before[n], now[n]) for n in ("count", "unknown") if n in now}
    return {**counts, "range": np.stack([np.fmin(low, lowest), np.fmax(high, highest)])}


@contextmanager
def compared(statistics: Statistics, run: TrainedModel, data: LabeledTrees) -> Iterator[None]:
    """Warn if trees, whose outputs the body computes, differ from those of training."""
    roots: list[NDArray[Any]] = []
    thread = threading.get_ident()

    def keep(module: Any, inputs: Any, encoding: Any) -> None:
        if threading.get_ident() == thread:  # others predict other trees
            roots.append(encoding.roots.detach().float().cpu().numpy())

    # one tree beyond all V distances has the probability 1 / (V + 1), which is no reason
    several = len(data) > 1 and "vectors" in statistics
    handle = run.encoder.register_forward_hook(keep) if several else None
    try:
        yield
    finally:
        if handle is not None:
            handle.remove()
    vectors = np.concatenate(roots).reshape(len(data), -1) if roots else None
    if found := "; ".join(reasons(statistics, run, data, vectors)):
        warnings.warn(
            "the trees differ from the training trees, so that predictions may be less accurate: "
            f"{found}",
            stacklevel=6,
        )


def reasons(
    statistics: Statistics, run: TrainedModel, data: LabeledTrees, vectors: NDArray[Any] | None
) -> Iterator[str]:
    """Yield each difference of trees from the training trees that is not by chance."""
    units = _units(run, data)
    m = int(units.max()) + 1
    what = "trees" if m == len(data) else "groups"
    tests = [*_tests(statistics, run, data, vectors)]
    for rare, r, n, texts in tests:
        if not rare.any():
            continue
        k = np.array([len(np.unique(units[column])) for column in rare.T])
        p = by_chance(k, m, r, n)
        for test in np.flatnonzero(p < LEVEL / len(tests) / len(k)).tolist():
            yield f"{k[test]} of {m} {what} {texts[test]}"


def _tests(
    statistics: Statistics, run: TrainedModel, data: LabeledTrees, vectors: NDArray[Any] | None
) -> Iterator[Test]:
    """Yield the tests of categories, of ranges, and of vectors."""
    columns, n = data.forest.columns, int(statistics["count"][0])
    if categories := dict(_categories(run)):
        ids = np.stack([np.asarray(columns[name]) for name in categories], 1)
        unknown = ids == [_unknown_id(vocab) for vocab in categories.values()]
        rare = np.logical_or.reduceat(unknown, data.forest.offsets[: -1 : data.arity])
        texts = [f"have unknown categories in {name}" for name in categories]
        yield rare, statistics["unknown"], n, texts
    (names, low, high), (lowest, highest) = _quantities(run, data), statistics["range"]
    texts = [f"have {name} {side} its range" for side in ("below", "above") for name in names]
    yield np.concatenate([low < lowest, high > highest], 1), 0, n, texts
    if vectors is not None:
        distances = statistics["distances"]
        nearer = int(np.ceil(_FAR * len(distances)))
        far = _distances(vectors, statistics["vectors"]) > distances[nearer - 1]
        text = f"have vectors farther from those of training than {100 * _FAR:g} % of them"
        yield far[:, None], len(distances) - nearer, len(distances), [text]


def _units(run: TrainedModel, data: LabeledTrees) -> NDArray[np.int64]:
    """Return what is counted: the group of each tree for a ranker, otherwise each by itself."""
    return run.task.groups(data) if isinstance(run.task, RankTask) else np.arange(len(data))


def _quantities(
    run: TrainedModel, data: LabeledTrees
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Return the names of Q quantities, and the smallest and the largest in each tree, ``(T, Q)``.

    They are the size of the tree, the share of its nodes where an input is missing, and the
    numbers. A number that a tree does not have is NaN.
    """
    columns, first = data.forest.columns, data.forest.offsets[: -1 : data.arity]
    numbers: NDArray[Any] = columns.get(NUMBERS, np.empty((data.forest.num_nodes, 0)))
    numeric, named = run.vocabularies.numbers, [e for e in run.vocabularies.inputs if e.named]
    # The vector of an empty text does not differ from that of a missing one, so it is left out.
    ids = [np.asarray(columns[each.name]).reshape(len(numbers), -1)[:, :1] for each in named]
    starts = offsets_of([each.size for each in numeric])[:-1]
    missing = np.concatenate([np.isnan(numbers[:, starts]), *(each < 0 for each in ids)], 1)
    nodes = np.diff(data.forest.offsets[:: data.arity])[:, None]
    shares = np.add.reduceat(missing, first, dtype=np.float64) / nodes
    names = ["size", *(f"the share of nodes without {each.name}" for each in (*numeric, *named))]
    names += [each.name for each in numeric for _ in range(each.size)]
    low, high = (
        np.concatenate([data.sizes[:, None], shares, ends.reduceat(numbers, first)], 1)
        for ends in (np.fmin, np.fmax)
    )
    return names, low, high


def _categories(run: TrainedModel) -> Iterator[tuple[str, Vocabulary]]:
    """Yield the columns of categories that may be unknown, with their vocabularies."""
    schema = run.vocabularies
    for each in schema.inputs:
        if each.kind == "category" and schema[each.name].unknown is not None:
            yield each.name, schema[each.name]


def _unknown_id(vocab: Vocabulary) -> int:
    return int(vocab.encode([vocab.unknown])[0])


def _distances(vectors: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """Return the distance of each vector to the nearest of others, ``(T,)``."""
    return np.asarray(pairwise_distances_argmin_min(vectors, others)[1])
