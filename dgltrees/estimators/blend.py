"""Blends: networks, and boosting and extra trees on flat features, by weights.

The weights are those with the lowest loss of predictions for trees that the models have not seen,
as in stacking (Breiman, "Stacked regressions", Machine Learning 1996). They are the mean over
resamples of the trees, and are shrunk towards equal weights where the resamples disagree.
"""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
from numpy.typing import NDArray
from sklearn.base import clone

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.estimators.flat import FlatFeatures
from dgltrees.formats.records import is_records, trees_of_records
from dgltrees.settings.layers import Settings
from dgltrees.tasks.task import Columns
from dgltrees.training.files import checking, read_tensors, write_tensors
from dgltrees.training.rundir import BLEND
from dgltrees.training.trained import TrainedModel
from dgltrees.trees import LabeledTrees

MODELS = ("networks", "boosting", "extra_trees")
"""The models of a blend, in the order of their weights."""

_FLAT = "(flat)"  # the example column of flat features
_STEPS = 30  # weights are multiples of 1 / 30 on each resample
_RESAMPLES = 200
_CHECKED = 100  # rows whose predictions are compared after loading

_PREDICTS = threading.Lock()


@dataclass
class FlatModels:
    """Boosting and extra trees, fitted on the flat features of trees.

    Arguments:
        features: the fitted transformer.
        table: ``(n, F)`` the features of the training trees.
        targets: ``(n,)`` their classes or numbers.
        weights: ``(n,)`` their weights.
        classes: the number of classes; 0 for numbers.
        logarithms: learn the logarithms of numbers; 0 counts as half the smallest positive one.
        seed: the seed of the models.
    """

    features: FlatFeatures
    table: NDArray[np.float32]
    targets: NDArray[Any]
    weights: NDArray[np.float64]
    classes: int
    logarithms: bool
    seed: int
    models: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        from sklearn.ensemble import (
            ExtraTreesClassifier,
            ExtraTreesRegressor,
            HistGradientBoostingClassifier,
            HistGradientBoostingRegressor,
        )

        y, seed = self.targets, self.seed
        if self.logarithms:
            y = np.log(np.where(y == 0, y[y > 0].min() / 2, y))
        boosting, extra_trees = (
            (HistGradientBoostingClassifier, ExtraTreesClassifier)
            if self.classes
            else (HistGradientBoostingRegressor, ExtraTreesRegressor)
        )
        # early stopping would divide the trees by class, which a class of one tree forbids
        options = {"early_stopping": False} if self.classes else {}
        self.models = boosting(random_state=seed, **options), extra_trees(random_state=seed)
        weights = None if np.ptp(self.weights) == 0 else self.weights
        for model in self.models:
            model.fit(self.table, y, weights)

    def outputs(self, table: NDArray[np.float32]) -> list[Columns]:
        """Return the output columns of each model, named as those of a network."""
        with _PREDICTS:  # extra trees of scikit-learn change the filters of warnings
            method = "predict_proba" if self.classes else "predict"
            found = [getattr(model, method)(table) for model in self.models]
        if not self.classes:
            return [{"prediction_0": np.exp(n) if self.logarithms else n} for n in found]
        columns: list[Columns] = []
        for model, known in zip(self.models, found):
            p = np.zeros((len(table), self.classes))
            p[:, model.classes_] = known
            columns.append({f"probability_{k}": p[:, k] for k in range(self.classes)})
        return columns


class Blend(TrainedModel):
    """A trained network whose predictions are averaged with those of models on flat features.

    Arguments:
        run: the network.
        flat: the other models.
        shares: the weight of each model in the order of :data:`MODELS`, with sum 1.
    """

    def __init__(self, run: TrainedModel, flat: FlatModels, shares: Sequence[float]) -> None:
        self.flat, self.shares = flat, [*shares]
        super().__init__(
            run.settings, run.vocabularies, run.model, run.fabric, run.metadata, run._directory
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "flat": self.flat, "shares": self.shares}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.flat, self.shares = state["flat"], state["shares"]
        super().__setstate__(state)

    def examples(self, trees: Any, *, labeled: bool = True) -> LabeledTrees:
        """Return trees encoded for the network, with a column of their flat features."""
        if is_records(trees):
            inputs = self.vocabularies.inputs
            trees, _ = trees_of_records(trees, self.settings.data, inputs=inputs)
        data = super().examples(trees, labeled=labeled)
        table = _table(self.flat.features, trees)
        return replace(data, columns={**data.columns, _FLAT: table})

    def outputs(self, data: LabeledTrees) -> Columns:
        """Return the weighted means of the output columns; the loss is that of the network."""
        if _FLAT not in data.columns:
            raise ConfigError(
                "expected trees in memory for a blend, got a file; read it with dgltrees.read, and "
                "call predict of the estimator"
            )
        of_network = super().outputs(_without_table(data))
        return mean_outputs(
            [of_network, *self.flat.outputs(data.columns[_FLAT])],
            logarithms=predicts_logarithms(self.settings),
            weights=self.shares,
        )

    def report(self, data: LabeledTrees) -> dict[str, Any]:
        """Return the metrics of the predictions, without the loss."""
        return without_loss(super().report(data))

    def explain(self, source: Any, example: int = 0, **options: Any) -> Any:
        """Explain the prediction of the network, without the other models."""
        data = _without_table(source) if isinstance(source, LabeledTrees) else source
        return replace(super().explain(data, example, **options), share=self.shares[0])

    def save(
        self, path: PathLike, history: list[dict[str, Any]], result: Mapping[str, Any]
    ) -> None:
        """Write a run directory, and the table and targets that the other models learn from."""
        super().save(path, history, result)
        flat = self.flat
        texts = {
            **flat.features._to_dict(),
            "classes": flat.classes,
            "logarithms": flat.logarithms,
            "seed": flat.seed,
            "shares": self.shares,
            "scikit-learn": sklearn.__version__,
        }
        arrays = {"table": flat.table, "targets": flat.targets, "weights": flat.weights}
        arrays["predictions"] = _first_predictions(flat)
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        write_tensors(Path(path) / BLEND, tensors, {"values": json.dumps(texts)})


def with_flat_models(run: TrainedModel, folder: PathLike) -> TrainedModel:
    """Return a loaded run as the blend that was saved with it; the run itself if there was none.

    Boosting and extra trees are fitted again, since scikit-learn has no format for them without
    pickle.
    """
    path = Path(folder) / BLEND
    if not path.exists():
        return run
    tensors, texts = read_tensors(path)
    with checking(path):
        values = json.loads(texts["values"])
        features = FlatFeatures._from_dict(values)
        arrays: dict[str, Any] = {name: tensor.numpy() for name, tensor in tensors.items()}
        expected, shares = arrays.pop("predictions"), values["shares"]
        version = values["scikit-learn"]
        more = {name: values[name] for name in ("classes", "logarithms", "seed")}
        flat = FlatModels(features, **arrays, **more)
    # exp and log of another processor may differ in the last digits
    if not np.allclose(_first_predictions(flat), expected, rtol=1e-6):
        raise ConfigError(
            f"{path} was fitted with scikit-learn {version}, and scikit-learn "
            f"{sklearn.__version__} learns another model; install scikit-learn=={version}, or "
            "train again"
        )
    return Blend(run, flat, shares)


def _first_predictions(flat: FlatModels) -> NDArray[np.float64]:
    """Return predictions for some training trees, which models that are fitted again repeat."""
    return np.stack(
        [array for each in flat.outputs(flat.table[:_CHECKED]) for array in each.values()]
    )


def _without_table(data: LabeledTrees) -> LabeledTrees:
    """Return examples as the network reads them."""
    return replace(data, columns={n: c for n, c in data.columns.items() if n != _FLAT})


def _table(features: FlatFeatures, trees: Any) -> NDArray[np.float32]:
    # the network warns of unknown names and absent columns; catch_warnings is not for threads
    schema = features.schema_
    schema.reported |= {"unknown", "range", *(f"absent {each.name}" for each in schema.inputs)}
    return features.transform(trees).astype(np.float32)


def blend_members(
    members: Sequence[Any],
    folds: NDArray[np.int64],
    trees: LabeledTrees,
    data: LabeledTrees,
    random: np.random.RandomState,
) -> None:
    """Add boosting and extra trees to each member of an ensemble, fitted on the same trees."""
    settings, task = members[0].run_.settings, members[0].run_.task
    y, weights = np.ravel(data.columns["target"]), task.weights(data)
    weights = np.ones(len(y)) if weights is None else weights
    features = FlatFeatures(features=_kinds(trees, data))
    more: dict[str, Any] = {
        "classes": len(data.targets),
        "logarithms": predicts_logarithms(settings),
    }
    flats, of_folds = [], []
    for k, member in enumerate(members):
        rows, others = np.flatnonzero(folds != k), trees.select(np.flatnonzero(folds == k))
        mine = clone(features)
        seed = int(random.randint(2**31 - 1))
        with warnings.catch_warnings():  # which are about new trees of users, or given before
            warnings.simplefilter("ignore")
            table = mine.fit_transform(trees.select(rows)).astype(np.float32)
            encoded = member.run_.examples(others, labeled=False)
        flats.append(FlatModels(mine, table, y[rows], weights[rows], seed=seed, **more))
        each = [member.run_.outputs(encoded), *flats[-1].outputs(_table(mine, others))]
        of_folds.append(np.stack([_answers(columns, y[folds == k]) for columns in each], 1))
    order = np.concatenate([np.flatnonzero(folds == k) for k in range(len(members))])
    predictions = np.concatenate(of_folds)
    chosen = blend_weights(
        predictions, y[order], weights[order], task.groups(data)[order], random, **more
    )
    for member, flat in zip(members, flats):
        member.run_ = Blend(member.run_, flat, chosen)


def _kinds(trees: LabeledTrees, data: LabeledTrees) -> dict[str, str]:
    """Return the kinds of the columns that the networks read, and ``none`` for the others."""
    kinds = {each.name: each.kind for each in data.inputs}
    return {**dict.fromkeys(trees.forest.columns.keys() - kinds.keys(), "none"), **kinds}


def _answers(columns: Columns, y: NDArray[Any]) -> NDArray[np.float64]:
    """Return the probability of the class of each tree, or the predicted numbers, ``(n,)``."""
    if "prediction_0" in columns:
        return np.asarray(columns["prediction_0"], np.float64)
    p = np.stack([columns[f"probability_{k}"] for k in range(int(y.max()) + 1)], 1)
    return np.asarray(p[np.arange(len(y)), y], np.float64)


def blend_weights(
    predictions: NDArray[np.float64],
    y: NDArray[Any],
    weights: NDArray[np.float64],
    groups: NDArray[np.int64],
    random: np.random.RandomState,
    *,
    classes: int = 0,
    logarithms: bool = False,
) -> list[float]:
    """Return the weights of models from predictions for trees that they have not seen.

    The loss is the absolute error of numbers, or of their logarithms, or minus the logarithm of the
    mean probability of the class. On each of 200 resamples of the groups the best weights are those
    with the lowest loss among the multiples of 1/30. Their mean is moved towards equal weights, by
    the share of the variance over resamples in the mean square of their distance from equal weights
    (the shrinkage of James and Stein, 1961).
    """
    count = predictions.shape[1]
    steps = np.stack(np.meshgrid(*[np.arange(_STEPS + 1)] * count), -1).reshape(-1, count)
    grid = steps[steps.sum(1) == _STEPS] / _STEPS  # (G, M)
    grid = grid[np.square(grid - 1 / count).sum(1).argsort()]  # of equal losses the first is taken
    if classes:
        losses = -np.log(np.maximum(predictions @ grid.T, 1e-15))
    elif logarithms:
        floor = y[y > 0].min() / 2
        losses = np.abs(np.log(predictions) @ grid.T - np.log(np.maximum(y, floor))[:, None])
    else:
        losses = np.abs(predictions @ grid.T - y[:, None])
    _, groups = np.unique(groups, return_inverse=True)
    units = np.zeros((int(groups.max()) + 1, len(grid)))
    np.add.at(units, groups, weights[:, None] * losses)
    drawn = random.multinomial(len(units), np.full(len(units), 1 / len(units)), size=_RESAMPLES)
    best = grid[(drawn @ units).argmin(1)]  # (resamples, M)
    mean, equal = best.mean(0), np.full(count, 1 / count)
    variance, distance = best.var(0).sum(), np.square(mean - equal).sum()
    share = variance / max(variance + distance, 1e-12)
    return list((mean + share * (equal - mean)).tolist())


def predicts_logarithms(settings: Settings) -> bool:
    """Return whether a model predicts the logarithms of its targets."""
    return bool(settings.model.get("log_target"))


def without_loss(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return metrics without the loss, which a single network has, and a mean of models has not."""
    return {name: value for name, value in report.items() if name != "loss"}


def mean_outputs(
    of_members: Sequence[Columns], *, logarithms: bool, weights: Sequence[float] | None = None
) -> dict[str, NDArray[Any]]:
    """Return the weighted mean of the output columns of several models."""
    mixed = {name: np.asarray(values) for name, values in of_members[0].items()}
    for name in set.intersection(*(set(each) for each in of_members)):
        values = np.stack([np.asarray(each[name], np.float64) for each in of_members])
        logs = logarithms and name.startswith("prediction")
        mean = np.average(np.log(values) if logs else values, 0, weights)
        mixed[name] = np.exp(mean) if logs else mean
    if "probability" in mixed:  # of one of several classes
        p = np.stack([mixed[name] for name in mixed if name.startswith("probability_")], 1)
        mixed.update(prediction=p.argmax(1), probability=p.max(1))
    for name in mixed:
        if (of_flag := name.replace("prediction_", "probability_")) in mixed and of_flag != name:
            mixed[name] = (mixed[of_flag] > 0.5).astype(np.int64)
    return mixed
