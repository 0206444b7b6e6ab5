"""Numbers of custom trees, pairs or nodes.

The tasks ``regress``, ``regress-pairs`` and ``regress-nodes``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from torch import nn

from dgltrees.errors import ConfigError, RowError, TreeError, called
from dgltrees.formats.values import is_plain
from dgltrees.metrics.regression import number_metrics
from dgltrees.models.classifier import Classifier
from dgltrees.models.node_targets import NODE_TARGET, NodeNumberTargets
from dgltrees.models.targets import NumberTargets
from dgltrees.settings import Options
from dgltrees.tasks.custom_trees.base import CustomTreesTask, check_any_target, make_model
from dgltrees.tasks.custom_trees.reading import no_column, node_target, target_values
from dgltrees.tasks.custom_trees.settings import (
    CustomTreesData,
    NodeNumbersModel,
    NumbersData,
    NumbersModel,
    PairNumbersModel,
)
from dgltrees.tasks.settings import DataSettings
from dgltrees.tasks.task import LOSS, Columns, Metric
from dgltrees.trees import LabeledTrees, Vocabulary
from dgltrees.trees.schema import Schema

_LARGEST = 1e100
"""The largest size of a target, whose square a sum of squares can hold."""
METRICS = (
    LOSS,
    Metric("r2_log", format=".3f", label="R2 of the log", scale=1.0),
    Metric("q_error_median", higher_is_better=False, format=".3f", label="median q-error", scale=1),
    Metric("r2", format=".3f", label="R2", scale=1.0),
    Metric("mae", higher_is_better=False, format=".4g", label="MAE", scale=1.0),
    Metric("rmse", higher_is_better=False, format=".4g", label="RMSE", scale=1.0),
    Metric("pearson", scale=1.0),
    Metric("spearman", scale=1.0),
    Metric("q_error_95", higher_is_better=False, format=".3f", label="95 % q-error", scale=1.0),
)


@dataclass(frozen=True)
class NumbersTask(CustomTreesTask):
    """A task with a number as target, or with several numbers."""

    def build(self, model: Options, vocabs: Mapping[str, Vocabulary]) -> Classifier:
        """Build the model; see :meth:`Task.build`."""
        schema = cast(Schema, vocabs)
        count, additive = len(schema.targets), model.get("additive", False)
        if schema.node_target is None and model.get("node_target_weight") is not None:
            raise ConfigError(
                f"{called('model.node_target_weight')} has no effect without "
                f"{called('data.node_target')}; leave it out"
            )
        if schema.node_target is not None and additive and count > 1:
            raise ConfigError(
                f"expected one target for {called('model.additive')} with "
                f"{called('data.node_target')}, got {count}; leave one of the two out"
            )
        of_nodes = additive or schema.node_target is not None
        head = NodeNumberTargets if of_nodes else NumberTargets
        return make_model(model, schema, head, count=count)

    def _with_more(
        self, read: LabeledTrees, raw: LabeledTrees, settings: Any, file: Any, labeled: bool
    ) -> LabeledTrees:
        """Add :data:`~dgltrees.models.node_targets.NODE_TARGET` to the nodes."""
        name, wanted = read.node_target, node_target(settings)
        if name != wanted:
            raise ConfigError(
                f"expected {called('data.node_target')} to be {name!r}, as in the last fit, got "
                f"{wanted!r}"
            )
        if name is None or not labeled:
            return read
        error = partial(replace(self, nodes=True)._row_error, raw=raw, file=file)
        values = target_values(raw, name, nodes=True)
        cure = f"name a column of numbers with {called('data.node_target')}"
        if values is None:
            if not read.targets.frozen:  # the training trees
                cure += ", not only None"
                text = no_column(f"a node target {name!r}", name, raw, cure, nodes=True)
                raise TreeError(text, file=file)
            values = np.full(raw.forest.num_nodes, np.nan)
        numbers = read_numbers(values, name, error, "node target", cure)
        columns = {**read.forest.columns, NODE_TARGET: numbers[:, None]}
        return replace(read, forest=read.forest.with_columns(columns))

    def init_from_data(self, model: nn.Module, settings: DataSettings, data: LabeledTrees) -> None:
        """Initialise means and standard deviations of inputs, targets and node targets."""
        super().init_from_data(model, settings, data)
        if isinstance(model.head, NodeNumberTargets):
            targets = data.forest.columns.get(NODE_TARGET)
            if targets is not None and np.isnan(targets).all():
                raise TreeError(
                    f"missing node target {data.node_target!r} at all nodes of the training trees; "
                    f"leave {called('data.node_target')} out"
                )
            model.head.learn_nodes(data.sizes, targets)

    def encode_targets(
        self,
        values: Mapping[str, NDArray[Any]],
        settings: CustomTreesData,
        classes: Vocabulary,
        error: RowError,
    ) -> NDArray[Any]:
        """Return the targets, ``(R, K)``, NaN if missing.

        See :meth:`CustomTreesTask.encode_targets`.
        """
        return np.stack([read_numbers(array, name, error) for name, array in values.items()], 1)

    def predictions(self, data: LabeledTrees, outputs: Columns) -> Iterator[dict[str, Any]]:
        """Yield a dictionary per example: the ``prediction``, or one by the name of each target.

        If rows are nodes, ``nodes`` has the predictions of all nodes, by the name of each target if
        there are several, and ``prediction`` is that of the root. Predictions are in the unit of
        the target.
        """
        names = data.target_names
        keys = ["prediction"] if len(names) == 1 else list(names)
        for example, row in enumerate(self._roots(data)):
            line: dict[str, Any] = {"example": example}
            for k, key in enumerate(keys):
                line[key] = float(outputs[f"prediction_{k}"][row])
            if self.nodes:
                start, stop = data.forest.offsets[example : example + 2]
                every = [outputs[f"prediction_{k}"][start:stop].tolist() for k in range(len(keys))]
                line["nodes"] = every[0] if len(names) == 1 else dict(zip(keys, every))
            yield line

    def majority(self, data: LabeledTrees) -> dict[str, Any]:
        """Return the mean of each target, the baseline of :meth:`report`."""
        means = np.nanmean(self.targets(data), 0)
        return dict(zip(data.target_names, means.tolist()))

    def report(
        self, data: LabeledTrees, outputs: Columns, majority: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the metrics of :func:`~dgltrees.metrics.regression.number_metrics` and the loss.

        ``baseline_mean_mae`` is the mean absolute error of the mean of the training targets. With
        several targets the metrics are means over them, and ``by_target`` has those of each.

        Raises:
            TreeError: no row has a target.
        """
        targets = self.targets(data)
        rows = self.labeled(data)
        check_any_target(data, rows)
        parts: dict[str, dict[str, float]] = {}
        for k, name in enumerate(data.target_names):
            known = ~np.isnan(targets[:, k])
            if known.any():
                y = targets[known, k]
                parts[name] = number_metrics(y, outputs[f"prediction_{k}"][known])
                parts[name]["baseline_mean_mae"] = float(np.abs(y - majority[name]).mean())
        shared = [
            key for key in next(iter(parts.values())) if all(key in p for p in parts.values())
        ]
        report: dict[str, Any] = {
            "loss": self.mean_loss(data, outputs, rows),
            **{key: float(np.mean([part[key] for part in parts.values()])) for key in shared},
            "examples": int(rows.sum()),
        }
        return {**report, "by_target": parts} if len(parts) > 1 else report


def read_numbers(
    values: NDArray[Any],
    column: str,
    error: RowError,
    what: str = "target",
    cure: str = "for classes use the task classify",
) -> NDArray[np.float64]:
    """Return the values of a target column as numbers."""
    if values.ndim == 1 and values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
    else:
        numbers = np.full(len(values), np.nan)
        for row, value in enumerate(values.tolist()):
            if value is None:
                continue
            is_text = isinstance(value, str)
            try:
                numbers[row] = float("" if is_text and not is_plain(value) else value)
            except OverflowError:
                numbers[row] = np.inf
            except (TypeError, ValueError):
                raise error(
                    f"expected a number as the {what} {column!r}, got {value!r:.40}; {cure}", row
                ) from None
    if (wrong := abs(numbers) > _LARGEST).any():
        row = int(wrong.argmax())
        raise error(
            f"expected a finite number of at most {_LARGEST:g} as the {what} {column!r}, got "
            f"{values.tolist()[row]!r:.40}; correct it, or leave it out",
            row,
        )
    return numbers


REGRESS = NumbersTask("regress", NumbersData, NumbersModel, {}, metrics=METRICS)
"""The task ``regress``: a number per tree, or several."""
REGRESS_PAIRS = NumbersTask(
    "regress-pairs", CustomTreesData, PairNumbersModel, {}, metrics=METRICS, arity=2
)
REGRESS_NODES = NumbersTask(
    "regress-nodes", CustomTreesData, NodeNumbersModel, {}, nodes=True, metrics=METRICS
)
