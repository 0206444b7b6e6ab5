"""The models of the benchmark: scikit-learn and LightGBM on flat features, and our estimators."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from dgltrees import FlatFeatures, TreeClassifier, TreeRegressor
from tests.benchmarks.custom_trees.data import Rows, Task
from tests.benchmarks.custom_trees.report import losses

FLAT = ("linear", "boosting", "lightgbm", "extra_trees")
"""The models on flat features."""
OURS = ("default", "best")
"""Our estimator as it is, and with ``ensemble=5, blend=True``."""
_INNER = 3  # folds that choose a flat model


def fit_predict(
    model: str, task: Task, train: Rows, test: Rows
) -> tuple[NDArray[np.float64], float | None]:
    """Fit a model; return its predictions and, of a flat model, its loss on inner folds.

    Predictions are numbers, or a probability for each of the sorted classes of the task.
    """
    if model in OURS:
        options: dict[str, Any] = {"ensemble": 5, "blend": True} if model == "best" else {}
        if task.kind == "classes":
            ours: Any = TreeClassifier(**options)
        else:
            ours = TreeRegressor(log_target=True if task.kind == "logs" else None, **options)
        if model == "best" and task.groups is not None:
            options = {"groups": task.groups[train]}
        else:
            options = {}
        ours.fit(task.trees[train], task.y[train], **options)
        return _predictions(ours, task, task.trees[test]), None
    flat = FlatFeatures()
    table, others = flat.fit_transform(task.trees[train]), flat.transform(task.trees[test])
    y, groups = task.y[train], None if task.groups is None else task.groups[train]
    splitter: Any = KFold(_INNER, shuffle=True, random_state=0)
    if groups is not None:
        splitter = GroupKFold(_INNER, shuffle=True, random_state=0)
    elif task.kind == "classes":
        splitter = StratifiedKFold(_INNER, shuffle=True, random_state=0)
    inner = []
    for rows, held in splitter.split(table, y, groups):
        fitted = _fit_flat(model, task, table[rows], y[rows])
        inner.append(losses(task, y[held], _predictions(fitted, task, table[held])))
    fitted = _fit_flat(model, task, table, y)
    return _predictions(fitted, task, others), float(np.concatenate(inner).mean())


def _fit_flat(model: str, task: Task, table: NDArray[np.float64], y: NDArray[Any]) -> Any:
    """Fit a flat model, with its library's defaults, to a table."""
    classes, made = task.kind == "classes", None
    if model == "linear":
        # A feature of a new kind of tree may be far outside the range of training.
        clip = FunctionTransformer(np.clip, kw_args={"a_min": -5.0, "a_max": 5.0})
        last = LogisticRegression(max_iter=1000) if classes else RidgeCV(np.logspace(-3, 5, 17))
        made = make_pipeline(StandardScaler(), clip, last)
    elif model == "boosting":
        boosting = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
        made = boosting(random_state=0)
    elif model == "extra_trees":
        forest = ExtraTreesClassifier if classes else ExtraTreesRegressor
        made = forest(200, min_samples_leaf=1 if classes else 2, random_state=0)
    else:
        import lightgbm

        kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        made = kind(n_estimators=200, num_leaves=15, random_state=0, verbose=-1, n_jobs=1)
    return made.fit(table, np.log(y) if task.kind == "logs" else y)


def _predictions(model: Any, task: Task, X: Any) -> NDArray[np.float64]:
    if task.kind != "classes":
        predicted = np.asarray(model.predict(X), np.float64)
        of_logs = task.kind == "logs" and not isinstance(model, TreeRegressor)
        return np.exp(predicted) if of_logs else predicted
    classes = np.unique(task.y)
    p = np.zeros((len(X), len(classes)))
    p[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X)
    return p
