"""What an experiment is: a reader, a model, and what is counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.errors import TreeError
from dgltrees.metrics.accuracy import Outputs, accuracy
from dgltrees.tasks.settings import DataSettings, ModelSettings
from dgltrees.tasks.trees.build import encoder_parameters
from dgltrees.trees import Examples, TreeBatch, Vocabulary
from dgltrees.trees.segments import rows_of

__all__ = ["Reader", "Task"]

# Reads one file; with vocabularies ("target" is that of the classes) it adds no names to them.
Reader = Callable[[Path, DataSettings, Optional[Mapping[str, Vocabulary]]], Examples]


@dataclass(frozen=True)
class Task:
    """An experiment on trees whose model gives each row, an example or a node, a class.

    Arguments:
        name: what ``task:`` in a preset says.
        read: reads one data file.
        build: makes the model from its settings and the vocabularies of the training examples.
        nodes: whether rows are all nodes of the trees (their column ``"target"`` is learned, -1
            is no label) or the examples (their column ``"target"``).
        headline: whether ``accuracy`` is over the roots or over every ``"node"``.
        max_children: L of the task; without it, what the training data have.
        measure: the value of a report by which models are compared.
        by: an example column by whose values accuracy is reported too, and the value from which
            on they are counted together.
        continues: whether a batch goes on where the one before it ended, so that order matters; its
            ids are then those of a :class:`~dgltrees.trees.windows.WindowSampler`.
    """

    name: str
    read: Reader
    build: Callable[[ModelSettings, Mapping[str, Vocabulary]], nn.Module]
    nodes: bool = False
    headline: str = "root"
    max_children: Optional[int] = None
    measure: str = "accuracy"
    by: Optional[tuple[str, int]] = None
    continues: bool = False

    def kind(self, model: ModelSettings) -> str:
        """What a model with these settings is called."""
        return model.kind

    def targets(self, data: Examples) -> NDArray[np.int64]:
        """``(R,)`` the class of every row."""
        columns = data.forest.columns if self.nodes else data.columns
        return np.asarray(columns["target"], dtype=np.int64)

    def rows(self, data: Examples, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of the examples ``ids``, in the order in which the model gives them."""
        return rows_of(data.forest.offsets, ids) if self.nodes else ids

    def batch(self, data: Examples, ids: NDArray[np.int64]) -> tuple[TreeBatch, Tensor]:
        """The trees of the examples ``ids`` and the classes of their rows, int64."""
        batch, columns = data.batch(ids)
        return batch, batch.ndata["target"] if self.nodes else columns["target"]

    def groups(self, data: Examples) -> NDArray[np.int64]:
        """``(E,)`` numbers from 0, equal where examples belong together; each for itself."""
        return np.arange(len(data))

    def meet(self, data: Examples, settings: DataSettings, paths: Sequence[Path]) -> None:
        """Let vocabularies of the training examples ``data`` take names of files yet to be read."""

    def start(self, model: nn.Module, settings: DataSettings, data: Examples) -> None:
        """Give a new model what it begins with of the training examples ``data``."""

    def rollouts(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> Sequence[Any]:
        """What :meth:`losses` takes in place of the batch, one for each update."""
        rollouts: Any = getattr(model, "rollouts", None)
        return [batch] if rollouts is None else list(rollouts(batch, targets))

    def losses(self, model: nn.Module, batch: Any, targets: Tensor) -> Tensor:
        """``(R,)`` what is learned to be small, 0 where a row has no class."""
        losses: Tensor = model(batch, targets)
        return losses

    def share(self, examples: int, rows: int) -> int:
        """What the sum of a batch's losses is divided by: the rows with a class."""
        return rows

    def outputs(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> Tensor:
        """``(3, R)`` float64: loss, likeliest class and its probability of every row."""
        parts = model.outputs(batch, targets)  # type: ignore[operator]
        return torch.stack([part.double() for part in parts])

    def parameters(self, model: nn.Module) -> dict[str, Any]:
        """How many parameters the model has; see :func:`encoder_parameters`."""
        return encoder_parameters(model)

    def predictions(self, data: Examples, outputs: Outputs) -> Iterator[dict[str, Any]]:
        """What is said of each example, one at a time.

        ``example``, ``prediction`` (a class's name) and ``probability``; where rows are nodes,
        ``nodes`` are the names of all nodes' classes, and the others are the root's.
        """
        names = data.targets.decode(outputs.prediction)
        for example, row in enumerate(self._roots(data)):
            found: dict[str, Any] = {
                "example": example,
                "prediction": names[row],
                "probability": round(float(outputs.probability[row]), 6),
            }
            if self.nodes:
                start, stop = data.forest.offsets[example : example + 2]
                found["nodes"] = names[start:stop]
            yield found

    def majority(self, data: Examples) -> dict[str, int]:
        """The most frequent class of ``data``: of examples, and of nodes where nodes are rows."""
        found = {"root": _most(self.targets(data)[self._roots(data)])}
        if self.nodes:
            found["node"] = _most(self.targets(data))
        return found

    def report(
        self, data: Examples, outputs: Outputs, majority: Mapping[str, int]
    ) -> dict[str, Any]:
        """What is reported of ``outputs`` on ``data``.

        ``accuracy`` is over the headline's rows, ``loss`` the mean over all rows with a class,
        ``majority`` the accuracy of always naming training's most frequent class. Where rows are
        nodes, both are given for roots and for all nodes too.

        Raises:
            TreeError: there are no rows with a class to headline.
        """
        targets, roots = self.targets(data), self._roots(data)
        labeled = targets >= 0
        found: dict[str, Any] = {}
        kinds = {"root": roots, "node": np.arange(len(targets))} if self.nodes else {"root": roots}
        for kind, rows in kinds.items():
            if labeled[rows].any():
                found[f"{kind}_accuracy"] = accuracy(outputs.prediction[rows], targets[rows])
                always = np.full(len(rows), majority[kind])
                found[f"{kind}_majority"] = accuracy(always, targets[rows])
        if f"{self.headline}_accuracy" not in found:
            raise TreeError("expected examples with classes, got none; accuracy needs them")
        found = {
            "accuracy": found[f"{self.headline}_accuracy"],
            "loss": float(outputs.loss[labeled].mean()),
            "examples": len(data),
            "majority": found[f"{self.headline}_majority"],
            **({**found, "nodes": int(labeled.sum())} if self.nodes else {}),
        }
        if self.by is not None:
            name, last = self.by
            values = np.minimum(np.asarray(data.columns[name]), last)
            found[f"accuracy_by_{name}"] = {
                f"{v}+" if v == last else f"{v}": accuracy(
                    outputs.prediction[values == v], targets[values == v]
                )
                for v in np.unique(values[labeled])
            }
        return found

    def _roots(self, data: Examples) -> NDArray[np.int64]:
        """The row of each example."""
        return data.forest.roots if self.nodes else np.arange(len(data))


def _most(targets: NDArray[np.int64]) -> int:
    return int(np.bincount(targets[targets >= 0], minlength=1).argmax())
