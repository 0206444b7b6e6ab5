"""Baselines without trees: random order, and scikit-learn's models over bags of nodes."""

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
_ORDERS = 20  # number of random orders
_MOST_NAMES = 256  # counted per column; rarer ones are left out


def some_examples(task: Any, data: LabeledTrees | None) -> LabeledTrees | None:
    """Return the examples, or at most 20,000 random ones of those on disk."""
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
    """Return the ids of the 256 most frequent categories of each column in the training trees."""
    forest, frequent = train.forest, {}
    for name in forest.vocabs:
        frequent[name] = np.argsort(-forest.name_counts(name), kind="stable")[:_MOST_NAMES]
    return frequent


def bag_features(
    data: LabeledTrees, names: Mapping[str, NDArray[np.int64]], *, nodes: bool
) -> NDArray[np.float64]:
    """Return features of the bag of nodes of each tree, which ignore order and edges.

    They are the counts of categories; sum, mean and maximum of numbers (0 if all are missing); the
    mean of the vectors of text; and the numbers of nodes and levels. A pair of trees with features
    a and b has a, b, |a - b| and a * b, as the head of a model of pairs. A node has the features of
    its own columns, its depth and its number of children.

    Arguments:
        data: examples that a schema has encoded.
        names: the ids to count in each column of categories; see :func:`frequent_names`.
        nodes: whether rows are nodes; otherwise trees or pairs.

    Returns:
        ``(R, F)`` features of each row.
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
    """Return metrics of two models over :func:`bag_features`: ``linear`` and ``boosting``.

    They are scikit-learn's RidgeCV or LogisticRegression over standardised features, and its
    histogram gradient boosting. They learn logarithms if all training targets are positive and the
    largest is more than 100 times their median.

    Arguments:
        task: the task.
        train: training examples.
        parts: examples for the metrics, by name; None for a missing part.

    Returns:
        The metrics by model and part; empty if there are several targets.
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
    """Return metrics of ``chance``, ``linear`` and ``boosting``.

    Chance is a random order. The others are the models of :func:`bag_baselines`. They predict the
    relative rank of a tree in its group, from 0 to 1, from its :func:`bag_features` and their
    differences from the mean of the group.

    Arguments:
        task: the task.
        train: training examples.
        parts: examples for the metrics, by name; None for a missing part.

    Returns:
        The metrics by model and part.
    """
    names = frequent_names(train)

    def table(
        data: LabeledTrees,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return features, targets and groups of the trees in groups with different targets."""
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
    """Return the parts with known targets."""
    there = {name: data for name, data in parts.items() if data is not None}
    return {name: data for name, data in there.items() if task.labeled(data).any()}


def _report(
    models: Mapping[str, Any],
    x: NDArray[np.float64],
    y: NDArray[Any],
    parts: Mapping[str, LabeledTrees],
    measure: Callable[[Any, LabeledTrees], dict[str, Any]],
) -> dict[str, dict[str, Any]]:
    """Fit each model and return its metrics on each part."""
    report: dict[str, dict[str, Any]] = {}
    for name, model in models.items():
        fitted = model.fit(x, y)
        report[name] = {part: measure(fitted, data) for part, data in parts.items()}
    return report


def _models(y: NDArray[Any], *, logarithms: bool = True) -> dict[str, Any]:
    """Return models of classes or numbers, or of logarithms of numbers over a wide range."""
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
    """Return the mean metrics of random orders."""
    rng = np.random.default_rng(0)
    drawn = [order_metrics(y, rng.random(len(y)), groups) for _ in range(_ORDERS)]
    means = {name: float(np.mean([each[name] for each in drawn])) for name in drawn[0]}
    return {**means, "groups": drawn[0]["groups"]}


def _places(y: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the relative rank of each target in its group, 0 the lowest; ties have their mean."""
    up = rank_within(-y, groups, np.zeros(len(y), np.int64)) - 1.0
    _, same = np.unique(np.stack([groups, y]), axis=1, return_inverse=True)
    same = same.ravel()
    mean = np.bincount(same, up)[same] / np.bincount(same)[same]
    return np.asarray(mean / (np.bincount(groups)[groups] - 1))
