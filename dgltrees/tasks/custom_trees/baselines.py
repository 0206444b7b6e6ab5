"""Baselines without trees: random order, and scikit-learn's models over flat features."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.metrics.classes import class_metrics
from dgltrees.metrics.ranks import order_metrics
from dgltrees.metrics.regression import number_metrics
from dgltrees.tasks.custom_trees.flat import flat_features, frequent_names
from dgltrees.trees import LabeledTrees
from dgltrees.trees.saved import is_on_disk
from dgltrees.trees.segments import starts

_MOST_EXAMPLES = 20_000  # of those on disk
_ORDERS = 20  # number of random orders


def some_examples(task: Any, data: LabeledTrees | None) -> LabeledTrees | None:
    """Return the examples, or at most 20,000 random ones of those on disk."""
    if data is None or not is_on_disk(data.forest) or len(data) <= _MOST_EXAMPLES:
        return data
    groups = task.groups(data)
    order = np.random.Generator(np.random.PCG64(0)).permutation(int(groups.max()) + 1)
    chosen = order[np.bincount(groups)[order].cumsum() <= _MOST_EXAMPLES]
    warnings.warn(
        f"baselines are of {_MOST_EXAMPLES:,} of the {len(data):,} examples on disk", stacklevel=2
    )
    return data.select(np.flatnonzero(np.isin(groups, chosen)))


def bag_baselines(
    task: Any, train: LabeledTrees, parts: Mapping[str, LabeledTrees | None]
) -> dict[str, dict[str, Any]]:
    """Return metrics of two models over flat features: ``linear`` and ``boosting``.

    They are scikit-learn's RidgeCV or LogisticRegression over standardised features, and its
    histogram gradient boosting. They learn logarithms if all training targets are positive and the
    largest is more than 100 times their median.
    """
    targets = task.targets(train)
    if targets.ndim > 1 and targets.shape[1] > 1:
        return {}
    names = frequent_names(train)

    def table(data: LabeledTrees) -> tuple[NDArray[np.float64], NDArray[Any]]:
        rows = task.labeled(data)
        y = task.targets(data).reshape(len(rows), -1)[rows, 0]
        return flat_features(data, names, nodes=task.nodes)[1][rows], y

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
    relative rank of a tree in its group, from 0 to 1, from its flat features and their differences
    from the mean of the group.
    """
    names = frequent_names(train)

    def table(
        data: LabeledTrees,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return features, targets and groups of the trees in groups with different targets."""
        rows = task.labeled(data)
        each = flat_features(data, names)[1][rows]
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
    there = {name: data for name, data in parts.items() if data is not None}
    return {name: data for name, data in there.items() if task.labeled(data).any()}


def _report(
    models: Mapping[str, Any],
    x: NDArray[np.float64],
    y: NDArray[Any],
    parts: Mapping[str, LabeledTrees],
    measure: Callable[[Any, LabeledTrees], dict[str, Any]],
) -> dict[str, dict[str, Any]]:
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

    if len(y) < 2:
        return {}
    if y.dtype.kind == "i":
        if len(np.unique(y)) < 2:
            return {}
        linear: Any = LogisticRegression(max_iter=1000)
        # early stopping would divide the rows by class, which a class of one row forbids
        boosting: Any = HistGradientBoostingClassifier(random_state=0, early_stopping=False)
    else:
        linear = RidgeCV(np.logspace(-3, 5, 9))
        boosting = HistGradientBoostingRegressor(random_state=0)
        if logarithms and (y > 0).all() and y.max() > 100 * np.median(y):
            pair = {"func": np.log, "inverse_func": np.exp}
            linear, boosting = (TransformedTargetRegressor(m, **pair) for m in (linear, boosting))
    return {"linear": make_pipeline(StandardScaler(), linear), "boosting": boosting}


def _of_chance(y: NDArray[np.float64], groups: NDArray[np.int64]) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    drawn = [order_metrics(y, rng.random(len(y)), groups) for _ in range(_ORDERS)]
    means = {name: float(np.mean([each[name] for each in drawn])) for name in drawn[0]}
    return {**means, "groups": drawn[0]["groups"]}


def _places(y: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the relative rank of each target in its group, 0 the lowest; ties have their mean."""
    from scipy.stats import rankdata

    _, order = np.unique(np.stack([groups, y]), axis=1, return_inverse=True)
    sizes = np.bincount(groups)
    rank = rankdata(order) - 1 - starts(sizes)[groups]
    return np.asarray(rank / (sizes[groups] - 1))
