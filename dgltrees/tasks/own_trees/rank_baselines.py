"""What orders trees without looking at their edges: chance, and models over bags of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.metrics.order import order_metrics
from dgltrees.metrics.ranking import rank_within
from dgltrees.tasks.own_trees.baselines import bag_features, frequent_names
from dgltrees.trees import Examples

__all__ = ["rank_baselines"]

_ORDERS = 20  # orders at random, over which chance is the mean


def rank_baselines(
    task: Any, train: Examples, parts: Mapping[str, Examples | None]
) -> dict[str, dict[str, Any]]:
    """Metrics of ``chance``, ``linear`` and ``boosting``.

    Chance orders at random. The others are scikit-learn's ridge regression and gradient boosting of
    histograms, with its defaults. They predict where in its group a tree ranks, from 0 to 1, by the
    :func:`bag features <dgltrees.tasks.own_trees.baselines.bag_features>` of the tree and what they
    are above the mean of its group.

    Arguments:
        task: the task.
        train: training examples.
        parts: examples to measure on, by name; None for a part that there is not.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    names = frequent_names(train)
    x, y, groups = _features(task, train, names)
    place = _places(y, groups)
    models: dict[str, Any] = {
        "linear": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 5, 9))),
        "boosting": HistGradientBoostingRegressor(random_state=0),
    }
    fitted = {name: model.fit(x, place) for name, model in models.items()}
    report: dict[str, dict[str, Any]] = {name: {} for name in ("chance", *fitted)}
    for part, data in parts.items():
        if data is None or not task.labeled(data).any():
            continue
        x, y, groups = _features(task, data, names)
        rng = np.random.default_rng(0)
        drawn = [order_metrics(y, rng.random(len(y)), groups) for _ in range(_ORDERS)]
        chance = {name: float(np.mean([each[name] for each in drawn])) for name in drawn[0]}
        report["chance"][part] = {**chance, "groups": drawn[0]["groups"]}
        for name, model in fitted.items():
            report[name][part] = order_metrics(y, model.predict(x), groups)
    return report


def _features(
    task: Any, data: Examples, names: Mapping[str, NDArray[np.int64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Features, targets and groups of the trees that have an order to be learned."""
    rows = task.labeled(data)
    each = bag_features(data, names, nodes=False)[rows]
    _, groups = np.unique(task.groups(data)[rows], return_inverse=True)
    sums = np.zeros((int(groups.max()) + 1, each.shape[1]))
    np.add.at(sums, groups, each)
    means = sums / np.bincount(groups)[:, None]
    return np.concatenate([each, each - means[groups]], 1), task.targets(data)[rows], groups


def _places(y: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Where in its group each target stands, 0 the lowest, 1 the highest; equal ones alike."""
    up = rank_within(-y, groups, np.zeros(len(y), np.int64)) - 1.0
    _, same = np.unique(np.stack([groups, y]), axis=1, return_inverse=True)
    same = same.ravel()
    mean = np.bincount(same, up)[same] / np.bincount(same)[same]
    return np.asarray(mean / (np.bincount(groups)[groups] - 1))
