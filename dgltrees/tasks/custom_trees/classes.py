"""Classes and binary targets of custom trees, pairs or nodes.

The tasks ``classify``, ``classify-pairs`` and ``classify-nodes``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dgltrees.errors import ConfigError, RowError, TreeError, called
from dgltrees.metrics.classes import class_metrics, flag_metrics
from dgltrees.models.classifier import Classifier
from dgltrees.models.targets import ClassTarget, FlagTargets
from dgltrees.settings import Options
from dgltrees.tasks.custom_trees.base import CustomTreesTask, check_any_target, make_model
from dgltrees.tasks.custom_trees.settings import (
    ClassesData,
    ClassesModel,
    NodeClassesModel,
    PairClassesModel,
)
from dgltrees.tasks.task import ACCURACY, LOSS, Columns, Metric
from dgltrees.trees import LabeledTrees, Vocabulary
from dgltrees.trees.columns import name_of, names_of
from dgltrees.trees.schema import Schema

METRICS = (
    ACCURACY,
    Metric("macro_f1", label="macro F1"),
    Metric("auroc", label="AUROC"),
    Metric("average_precision"),
    LOSS,
)
_NO, _YES = ("0", "false", "no"), ("1", "true", "yes")


@dataclass(frozen=True)
class ClassesTask(CustomTreesTask):
    """A task with one of several classes or, with several target columns, binary targets."""

    calibrates: ClassVar[bool] = True

    def build(self, model: Options, vocabs: Mapping[str, Vocabulary]) -> Classifier:
        """Build the model; see :meth:`Task.build`.

        Raises:
            TreeError: the target has fewer than two classes.
        """
        schema = cast(Schema, vocabs)
        if len(schema.targets) > 1:
            if model["objective"] != "cross_entropy":
                raise ConfigError(
                    f"expected {called('model.objective')} to be cross_entropy with several "
                    f"targets, which are binary, got {model['objective']!r}"
                )
            return make_model(model, schema, FlagTargets, count=len(schema.targets))
        if len(schema["target"]) < 2:
            only = [f"one class, {name}" for name in schema["target"].names]
            raise TreeError(
                f"expected at least two classes in the target {schema.targets[0]!r}, got "
                f"{'none' if not only else only[0]}"
            )
        return make_model(model, schema, ClassTarget, count=len(schema["target"]))

    def encode_targets(
        self,
        values: Mapping[str, NDArray[Any]],
        settings: ClassesData,
        classes: Vocabulary,
        error: RowError,
    ) -> NDArray[Any]:
        """Return ids of classes, ``(R,)``, or binary targets, ``(R, K)``; -1 if missing.

        See :meth:`CustomTreesTask.encode_targets`.
        """
        names = {column: names_of(array, column, error) for column, array in values.items()}
        if len(names) > 1:
            if settings.classes:
                raise ConfigError(
                    f"{called('data.classes')} has no effect with several targets, which are binary"
                )
            return np.stack([_flags(listed, c, error) for c, listed in names.items()], 1)
        ((column, listed),) = names.items()
        present = {name for name in listed if name is not None}
        if not classes.frozen:
            if not settings.classes:
                self._check_no_measure(values[column], column, len(present), error)
            in_order: list[str] = settings.classes or sorted(present, key=_order)
            classes.encode(in_order)
        if classes.frozen or settings.classes:
            others = present - set(classes.names)
            if others:
                row = next(row for row, name in enumerate(listed) if name in others)
                shown = ", ".join(classes.names[:20])
                raise error(f"expected a class ({shown}), got {listed[row]!r}", row)
        return classes.encode(listed).astype(np.int64)

    def _check_no_measure(
        self, values: NDArray[Any], column: str, classes: int, error: RowError
    ) -> None:
        """Check that a target is not a measured number, as most numbers with fractions are."""
        known = [v for v in values.tolist() if name_of(v) is not None]
        fraction = next((v for v in known if isinstance(v, float) and v % 1), None)
        if fraction is not None and 2 * classes > len(known):
            task = "regress-nodes" if self.nodes else self.name.replace("classify", "regress")
            raise error(
                f"expected a class as the target {column!r}, got {fraction!r} and {classes:,} "
                f"different values in {len(known):,} rows; for numbers use the task {task}",
                values.tolist().index(fraction),
            )

    def in_class_order(self, data: LabeledTrees, settings: ClassesData) -> LabeledTrees:
        """Return the training examples with sorted classes, unless the settings order them."""
        names = sorted(data.targets.names, key=_order)
        if settings.classes or names == [*data.targets.names]:
            return data
        classes = Vocabulary(names)
        table = classes.encode(data.targets.names)
        if self.nodes:
            forest = data.forest.renamed({"target": table}, data.forest.vocabs)
            return replace(data, forest=forest, targets=classes)
        targets = self.targets(data)
        columns = {**data.columns, "target": np.where(targets < 0, -1, table[targets])}
        return replace(data, columns=columns, targets=classes)

    def calibrate(self, model: nn.Module, data: LabeledTrees, outputs: Columns) -> None:
        """Set the temperature of the classes; see :class:`~dgltrees.models.ClassTarget`."""
        head, rows = cast(Classifier, model).head, self.labeled(data)
        if not isinstance(head, ClassTarget) or not head.temperature_scaling or not rows.any():
            return
        p = np.stack([outputs[f"probability_{k}"] for k in range(head.classes)], 1)[rows]
        head.fit_temperature(torch.from_numpy(p), torch.from_numpy(self.targets(data)[rows]))

    def predictions(self, data: LabeledTrees, outputs: Columns) -> Iterator[dict[str, Any]]:
        """Yield a dictionary per example, see :meth:`Task.predictions`.

        With several targets it has ``prediction`` and ``probability`` by the name of each, and so
        the predictions of ``nodes``.
        """
        if len(data.target_names) == 1:
            yield from super().predictions(data, outputs)
            return
        for example, row in enumerate(self._roots(data)):
            line: dict[str, Any] = {"example": example}
            for k, name in enumerate(data.target_names):
                probability = float(outputs[f"probability_{k}"][row])
                line[name] = {"prediction": probability > 0.5, "probability": probability}
            if self.nodes:
                start, stop = data.forest.offsets[example : example + 2]
                line["nodes"] = {
                    name: (outputs[f"probability_{k}"][start:stop] > 0.5).tolist()
                    for k, name in enumerate(data.target_names)
                }
            yield line

    def majority(self, data: LabeledTrees) -> dict[str, int]:
        """Return the most frequent class, or the most frequent value of each binary target."""
        targets = self.targets(data)
        if targets.ndim == 1:
            return super().majority(data)
        return {
            name: int(np.mean(targets[targets[:, k] >= 0, k]) > 0.5)
            for k, name in enumerate(data.target_names)
        }

    def report(
        self, data: LabeledTrees, outputs: Columns, majority: Mapping[str, int]
    ) -> dict[str, Any]:
        """Return accuracy, macro F1, AUROC, average precision and loss.

        ``majority_accuracy`` is the accuracy of the most frequent class of the training examples.

        Raises:
            TreeError: no row has a target.
        """
        targets, rows = self.targets(data), self.labeled(data)
        check_any_target(data, rows)
        loss, count = self.mean_loss(data, outputs, rows), int(rows.sum())
        if targets.ndim > 1:
            p = np.stack([outputs[f"probability_{k}"] for k in range(targets.shape[1])], 1)
            flags = targets[rows]
            most = np.array([majority[name] for name in data.target_names])
            always = float((flags == most)[flags >= 0].mean())
            report = flag_metrics(flags, p[rows])
        else:
            p = np.stack([outputs[f"probability_{k}"] for k in range(len(data.targets))], 1)
            most_frequent = majority["node" if self.nodes else "root"]
            always = float((targets[rows] == most_frequent).mean())
            report = class_metrics(targets[rows], outputs["prediction"][rows], p[rows])
        return {**report, "loss": loss, "examples": count, "majority_accuracy": always}


def _order(name: str) -> tuple[int, float, str]:
    """Return a sort key that puts numbers in their order before other names."""
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name


def _flags(names: list[str | None], column: str, error: RowError) -> NDArray[np.int64]:
    flags = np.full(len(names), -1, np.int64)
    for row, name in enumerate(names):
        if name is None:
            continue
        if name.lower() not in _NO + _YES:
            raise error(
                f"expected 0, 1, false, true, no or yes in the target {column!r} (several targets "
                f"are binary), got {name!r}; for classes name one {called('data.target')}",
                row,
            )
        flags[row] = name.lower() in _YES
    return flags


CLASSIFY = ClassesTask("classify", ClassesData, ClassesModel, {}, metrics=METRICS)
"""The task ``classify``: the class of a tree."""
CLASSIFY_PAIRS = ClassesTask(
    "classify-pairs", ClassesData, PairClassesModel, {}, metrics=METRICS, arity=2
)
CLASSIFY_NODES = ClassesTask(
    "classify-nodes",
    ClassesData,
    NodeClassesModel,
    {},
    nodes=True,
    accuracy_over="node",
    metrics=METRICS,
)
