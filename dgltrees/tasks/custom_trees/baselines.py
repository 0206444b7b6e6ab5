"""What a result would be without the trees: chance, and scikit-learn's models of bags of nodes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.metrics.classes import class_metrics
from dgltrees.metrics.ranks import order_metrics, rank_within
from dgltrees.metrics.regression import number_metrics
from dgltrees.trees import LabeledTrees
from dgltrees.trees.on_disk import DiskForest
from dgltrees.trees.schema import NUMBERS
from dgltrees.trees.segments import owner

_MOST_EXAMPLES = 20_000  # of those on disk
_ORDERS = 20  # orders at random, over which chance is the mean
_MOST_NAMES = 256  # counted per column; rarer ones are left out


def some_examples(task: Any, data: LabeledTrees | None) -> LabeledTrees | None:
    """The examples in memory: all of them, or where they are on disk 20,000 drawn at random."""
    if data is None or not isinstance(data.forest, DiskForest) or len(data) <= _MOST_EXAMPLES:
        return data
    groups = task.groups(data)
    order = np.random.Generator(np.random.PCG64(0)).permutation(int(groups.max()) + 1)
    chosen = order[np.bincount(groups)[order].cumsum() <= _MOST_EXAMPLES]
    warnings.warn(
        f"baselines are of {_MOST_EXAMPLES:,} of the {len(data):,} examples on disk", stacklevel=2
    )
    return data.select(np.flatnonzero(np.isin(groups, chosen)))


def frequent_names(train: LabeledTrees) -> dict[str, NDArray[np.int64]]:
    """The ids of the names of each column that are counted: the 256 most frequent in training."""
    forest, frequent = train.forest, {}
    for name in forest.vocabs:
        frequent[name] = np.argsort(-forest.name_counts(name), kind="stable")[:_MOST_NAMES]
    return frequent


def bag_features(
    data: LabeledTrees, names: Mapping[str, NDArray[np.int64]], *, nodes: bool
) -> NDArray[np.float64]:
    """``(R, F)`` the columns of a tree's nodes without their order and edges, for each row.

    Of names the counts, of numbers the sum, mean and largest value over the nodes of the tree (0
    where all are missing), of the vectors of texts the mean, with the numbers of nodes and levels.
    Of two trees with a and b both, |a - b| and a * b, as a model of pairs reads its vectors. Where
    rows are nodes, the columns of the node alone.

    Arguments:
        data: examples with inputs as a schema has read them.
        names: the ids to count in each column of names; see :func:`frequent_names`.
        nodes: whether rows are nodes; else trees or pairs.
    """
    forest = data.forest
    rows = forest.num_nodes if nodes else len(forest)
    row_of_node = np.arange(rows) if nodes else owner(forest.sizes)
    features: list[NDArray[Any]] = []
    for name, vocab in forest.vocabs.items():
        place = np.full(len(vocab) + 1, -1)  # the last is that of a missing name, -1
        place[names[name]] = np.arange(len(names[name]))
        places = place[forest.columns[name].reshape(forest.num_nodes, -1)]
        counts = np.zeros((rows, len(names[name])))
        node, slot = np.nonzero(places >= 0)
        np.add.at(counts, (row_of_node[node], places[node, slot]), 1)
        features.append(counts)
    if NUMBERS in forest.columns:
        values = np.asarray(forest.columns[NUMBERS], np.float64)
        present = ~np.isnan(values)
        total = np.zeros((rows, values.shape[1]))
        count, largest = np.zeros_like(total), np.full_like(total, -np.inf)
        np.add.at(total, row_of_node, np.where(present, values, 0.0))
        np.add.at(count, row_of_node, present)
        np.maximum.at(largest, row_of_node, np.where(present, values, -np.inf))
        largest = np.where(count > 0, largest, 0.0)
        features += [total, total / np.maximum(count, 1), largest]
        features += [np.sign(f) * np.log1p(np.abs(f)) for f in (total, largest)]
    for column in data.inputs:
        if column.kind == "text" and not column.named:
            means = np.zeros((rows, column.size))
            np.add.at(means, row_of_node, forest.columns[column.name])
            features.append(means / np.bincount(row_of_node, minlength=rows)[:, None])
    shape = (forest.depth, forest.degree) if nodes else (forest.depths, forest.sizes)
    features.append(np.stack(shape, 1).astype(np.float64))
    each = np.concatenate(features, 1)
    if data.arity == 1:
        return each
    a, b = each[0::2], each[1::2]
    return np.concatenate([a, b, np.abs(a - b), a * b], 1)


def bag_baselines(
    task: Any, train: LabeledTrees, parts: Mapping[str, LabeledTrees | None]
) -> dict[str, dict[str, Any]]:
    """Metrics of two models over :func:`bag_features`: ``linear`` and ``boosting``.

    Linear or logistic regression, and gradient boosting of histograms, each with scikit-learn's
    defaults; logarithms are predicted where all training targets are positive and the largest is
    more than 100 times their median. There are none of several targets.

    Arguments:
        task: the task.
        train: training examples.
        parts: examples to measure on, by name; None for a part that there is not.
    """
    targets = task.targets(train)
    if targets.ndim > 1 and targets.shape[1] > 1:
        return {}
    names = frequent_names(train)

    def table(data: LabeledTrees) -> tuple[NDArray[np.float64], NDArray[Any]]:
        rows = task.labeled(data)
        y = task.targets(data).reshape(len(rows), -1)[rows, 0]
        return bag_features(data, names, nodes=task.nodes)[rows], y

    def measure(model: Any, data: LabeledTrees) -> dict[str, float]:
        x, y = table(data)
        predicted = model.predict(x)
        if y.dtype.kind != "i":
            return number_metrics(y, predicted)
        p = np.zeros((len(y), len(data.targets)))
        p[:, model.classes_] = model.predict_proba(x)
        return class_metrics(y, predicted, p)

    x, y = table(train)
    return _report(_models(y), x, y, _measured_parts(task, parts), measure)


def rank_baselines(
    task: Any, train: LabeledTrees, parts: Mapping[str, LabeledTrees | None]
) -> dict[str, dict[str, Any]]:
    """Metrics of ``chance``, ``linear`` and ``boosting``.

    Chance orders at random. The others are scikit-learn's ridge regression and gradient boosting of
    histograms, with its defaults. They predict where in its group a tree ranks, from 0 to 1, by the
    :func:`bag_features` of the tree and what they are above the mean of its group.

    Arguments:
        task: the task.
        train: training examples.
        parts: examples to measure on, by name; None for a part that there is not.
    """
    names = frequent_names(train)

    def table(
        data: LabeledTrees,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Features, targets and groups of the trees that have an order to be learned."""
        rows = task.labeled(data)
        each = bag_features(data, names, nodes=False)[rows]
        _, groups = np.unique(task.groups(data)[rows], return_inverse=True)
        sums = np.zeros((int(groups.max()) + 1, each.shape[1]))
        np.add.at(sums, groups, each)
        means = sums / np.bincount(groups)[:, None]
        return np.concatenate([each, each - means[groups]], 1), task.targets(data)[rows], groups

    def measure(model: Any, data: LabeledTrees) -> dict[str, Any]:
        x, y, groups = table(data)
        return order_metrics(y, model.predict(x), groups)

    x, y, groups = table(train)
    place, measured = _places(y, groups), _measured_parts(task, parts)
    chance = {part: _of_chance(*table(data)[1:]) for part, data in measured.items()}
    return {
        "chance": chance,
        **_report(_models(place, logarithms=False), x, place, measured, measure),
    }


def _measured_parts(task: Any, parts: Mapping[str, LabeledTrees | None]) -> dict[str, LabeledTrees]:
    """The parts that can be measured on."""
    there = {name: data for name, data in parts.items() if data is not None}
    return {name: data for name, data in there.items() if task.labeled(data).any()}


def _report(
    models: Mapping[str, Any],
    x: NDArray[np.float64],
    y: NDArray[Any],
    parts: Mapping[str, LabeledTrees],
    measure: Callable[[Any, LabeledTrees], dict[str, Any]],
) -> dict[str, dict[str, Any]]:
    """The metrics of each model on each part, after it has been fitted."""
    report: dict[str, dict[str, Any]] = {}
    for name, model in models.items():
        fitted = model.fit(x, y)
        report[name] = {part: measure(fitted, data) for part, data in parts.items()}
    return report


def _models(y: NDArray[Any], *, logarithms: bool = True) -> dict[str, Any]:
    """Models to fit to classes or numbers; where these differ much, to their logarithms."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if y.dtype.kind == "i":
        if len(np.unique(y)) < 2:
            return {}
        linear: Any = LogisticRegression(max_iter=1000)
        boosting: Any = HistGradientBoostingClassifier(random_state=0)
    else:
        linear = RidgeCV(np.logspace(-3, 5, 9))
        boosting = HistGradientBoostingRegressor(random_state=0)
        if logarithms and (y > 0).all() and y.max() > 100 * np.median(y):
            pair = {"func": np.log, "inverse_func": np.exp}
            linear, boosting = (TransformedTargetRegressor(m, **pair) for m in (linear, boosting))
    return {"linear": make_pipeline(StandardScaler(), linear), "boosting": boosting}


def _of_chance(y: NDArray[np.float64], groups: NDArray[np.int64]) -> dict[str, Any]:
    """The mean metrics of orders at random."""
    rng = np.random.default_rng(0)
    drawn = [order_metrics(y, rng.random(len(y)), groups) for _ in range(_ORDERS)]
    means = {name: float(np.mean([each[name] for each in drawn])) for name in drawn[0]}
    return {**means, "groups": drawn[0]["groups"]}


def _places(y: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Where in its group each target stands, 0 the lowest, 1 the highest; equal ones alike."""
    up = rank_within(-y, groups, np.zeros(len(y), np.int64)) - 1.0
    _, same = np.unique(np.stack([groups, y]), axis=1, return_inverse=True)
    same = same.ravel()
    mean = np.bincount(same, up)[same] / np.bincount(same)[same]
    return np.asarray(mean / (np.bincount(groups)[groups] - 1))
