"""The classification of edges, from the states of a fixed language model.

Zhang, Lu and Lapata, "Top-down Tree Long Short-Term Memory Networks" (NAACL 2016), section 3.4: the
states and output embeddings of a trained language model are the features, and the edges of the
training trees are the targets. ``dgltrees train-edge-classifier`` writes the folders of data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.papers.top_down.models.add_decisions import AddDecisions, decision_nll
from dgltrees.settings import Options
from dgltrees.tasks.settings import DataSettings
from dgltrees.tasks.task import ACCURACY, LOSS, Columns, Names, Task
from dgltrees.trees import Forest, LabeledTrees, TreeBatch, Vocabulary
from dgltrees.trees.kinds import EDGE_TYPES

TYPES = len(EDGE_TYPES)


def decisions_forest(features: NDArray[Any], added: NDArray[np.int8]) -> Forest:
    """Return the data of this task: one tree of one node per deciding training node."""
    nodes = len(features)
    return Forest(
        np.full(nodes, -1, np.int32),
        np.zeros(nodes, np.int32),
        np.arange(nodes + 1),
        {"features": features, "added": added},
    )


@dataclass(frozen=True)
class EdgeClassifierTask(Task):
    """Binary classification of edges: each node has four rows, one per type of edge."""

    has_majority = False  # the report uses the more frequent class of the evaluated examples

    def build(self, model: Options, vocabs: Mapping[str, Vocabulary]) -> AddDecisions:
        """Build the model of these settings."""
        if model["hidden_size"] is None:
            raise ConfigError(
                "expected model.hidden_size, the size of a state of the language model"
            )
        return model.of(AddDecisions)

    def display_name(self, model: Options) -> str:
        """Return the name of the model, with the state that it uses."""
        return f"rectifier networks on the {model['state']} state"

    def targets(self, data: LabeledTrees) -> NDArray[np.int64]:
        """Return the targets, ``(4 N,)``: 1 for an edge, 0 for none, -1 for no decision."""
        return np.asarray(data.forest.columns["added"], dtype=np.int64).reshape(-1)

    def rows(self, data: LabeledTrees, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of the decisions of the nodes ``ids``."""
        return np.asarray((ids[:, None] * TYPES + np.arange(TYPES)).ravel())

    def batch(self, data: LabeledTrees, ids: NDArray[np.int64]) -> tuple[TreeBatch, Tensor]:
        """Return the features of the nodes ``ids``, and their decisions, ``(4 B,)``."""
        batch = data.forest.batch(ids)
        return batch, batch.ndata["added"].reshape(-1)

    def init_from_data(self, model: nn.Module, settings: DataSettings, data: LabeledTrees) -> None:
        """Check that the features have the size that the model expects."""
        expected, width = cast(AddDecisions, model), data.forest.columns["features"].shape[1]
        if width != expected.features:
            raise ConfigError(
                f"expected model.hidden_size and model.embedding (default: model.hidden_size) with "
                f"the sum {width}, the size of the features in the data, got {expected.features}"
            )

    def losses(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> Tensor:
        """Return the negative log-likelihoods, ``(4 B,)``, 0 without a decision."""
        return decision_nll(model(batch.ndata["features"]).reshape(-1), targets)

    def outputs(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> dict[str, Tensor]:
        """Return columns ``(4 B,)``: ``loss``, ``prediction``, ``probability`` of an edge."""
        logits = model(batch.ndata["features"]).reshape(-1).double()
        return {
            "loss": decision_nll(logits, targets),
            "prediction": (logits > 0).long(),
            "probability": torch.sigmoid(logits),
        }

    def report(
        self, data: LabeledTrees, outputs: Columns, majority: Mapping[str, int]
    ) -> dict[str, Any]:
        """Return accuracy and mean loss over all decisions, and ``by_edge_type``.

        ``majority_accuracy`` is that of always predicting the more frequent class of each type.
        """
        targets = self.targets(data).reshape(-1, TYPES)
        correct = outputs["prediction"].reshape(-1, TYPES) == targets
        loss = outputs["loss"].reshape(-1, TYPES)
        by_edge_type = {}
        for kind, name in enumerate(EDGE_TYPES.names):
            rows = np.flatnonzero(targets[:, kind] >= 0)
            if not len(rows):
                continue
            fraction = float(targets[rows, kind].mean())
            by_edge_type[name] = {
                "decisions": len(rows),
                "accuracy": float(correct[rows, kind].mean()),
                "majority_accuracy": max(fraction, 1 - fraction),
                "loss": float(loss[rows, kind].mean()),
            }
        decisions = sum(part["decisions"] for part in by_edge_type.values())
        means = {
            name: sum(part["decisions"] * part[name] for part in by_edge_type.values()) / decisions
            for name in ("accuracy", "loss", "majority_accuracy")
        }
        return {**means, "decisions": decisions, "by_edge_type": by_edge_type}

    def predictions(self, data: LabeledTrees, outputs: Columns) -> Iterator[dict[str, Any]]:
        """Yield for each node ``example`` and the probability of each edge by type."""
        targets = self.targets(data).reshape(-1, TYPES)
        for example, row in enumerate(outputs["probability"].reshape(-1, TYPES)):
            possible = zip(EDGE_TYPES.names, row.tolist(), targets[example] >= 0)
            edges = {name: round(p, 6) for name, p, decides in possible if decides}
            yield {"example": example, "probability": edges}


def _read(
    path: PathLike, settings: DataSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[LabeledTrees]:
    forest = Forest.load(path)
    if not {"features", "added"} <= {*forest.columns} or forest.sizes.max(initial=0) > 1:
        raise TreeError(
            "expected a folder that dgltrees train-edge-classifier wrote, single nodes with the "
            f"columns features and added, got {forest}",
            file=path,
        )
    yield LabeledTrees(forest)


EDGE_CLASSIFIER = EdgeClassifierTask(
    "edge-classifier",
    DataSettings,
    AddDecisions,
    {"forest": _read},
    metrics=(ACCURACY, LOSS),
    reads="a folder that dgltrees train-edge-classifier writes",
)
