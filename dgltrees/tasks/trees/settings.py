"""The settings of models over given trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from dgltrees.cells import CELLS
from dgltrees.options import Count, Fraction
from dgltrees.tasks.settings import DataSettings, OperatorSettings, PretrainedSettings

__all__ = [
    "ListOpsModel",
    "LogicModel",
    "LogicSettings",
    "NodesModel",
    "OperatorNodesModel",
    "SSTSettings",
    "SupervisedSettings",
    "TreeModel",
    "TreesModel",
    "WordNodesModel",
]


@dataclass(frozen=True)
class LogicSettings(OperatorSettings):
    """The data of logical relations."""

    max_operators: Count | None = None
    """Train on pairs with at most this many operators; by default on all."""


@dataclass(frozen=True)
class SupervisedSettings(DataSettings):
    """The data of trees whose nodes all have labels."""

    supervise: Literal["nodes", "root"] = "nodes"
    """Learn from the labels of all nodes, or of the root alone."""


@dataclass(frozen=True)
class SSTSettings(SupervisedSettings, PretrainedSettings):
    """The data of the Stanford Sentiment Treebank."""

    binary: bool = False
    """Learn positive against negative, without neutral trees and nodes; by default five classes."""


@dataclass(frozen=True)
class TreeModel:
    """An encoder of trees: a cell that runs from the leaves to the root."""

    parts: ClassVar[Mapping[str, Any]] = {"cell": CELLS}
    hidden: ClassVar[tuple[str, ...]] = ("input_size", "operators")

    cell: str = "lstm"
    """Cell that makes a node's state from those of its children."""
    hidden_size: Count = 50
    """Size c of a node's state."""
    init: Literal["kaiming", "xavier", "uniform"] = "kaiming"
    """Initial weights: kaiming (normal), xavier (uniform), or uniform in U(-0.1, 0.1)."""
    bidirectional: bool = False
    """Run a second cell from the root down too, over the states of the first, and read both."""
    checkpoint: bool = False
    """Compute levels again in the backward pass, which takes longer and less memory."""

    @property
    def display_name(self) -> str:
        """The cell's name; see :meth:`dgltrees.tasks.trees.base.TreeTask.display_name`."""
        return self.cell


@dataclass(frozen=True)
class OperatorModel(TreeModel):
    """An encoder of trees whose nodes with children are operators."""

    operator_labels: Literal["parameters", "one_hot"] = "parameters"
    """What an operator is to the cell: the choice of a set of parameters, or a one-hot label, which
    a full tensor or hosvd takes as one more mode (tensor Tree-LSTM paper, section V.A)."""

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """Cells with a set of parameters per operator have no label at operators."""
        sets = values["operator_labels"] == "parameters"
        return {"label": "with model.operator_labels parameters"} if sets else {}


@dataclass(frozen=True)
class HeadSettings:
    """The layers between a state and the classes."""

    head: list[Count] = field(default_factory=list)
    """Sizes of the hidden layers between a state and the classes."""
    head_dropout: Fraction = 0.0
    """Probability of dropout before every layer of the head."""


@dataclass(frozen=True)
class ReadoutSettings(HeadSettings):
    """From the states of a tree's nodes to its classes."""

    readout: Literal["root", "mean", "attention"] = "root"
    """Vector of a tree: the root's state, the mean over its nodes, or a learned weighted mean."""


@dataclass(frozen=True)
class ListOpsModel(ReadoutSettings, OperatorModel):
    """A classifier of trees over digits."""

    digits: Literal["thermometer", "one_hot"] = "thermometer"
    """Input vector of a leaf's digit d: d + 1 ones, then zeros (thermometer), or a single one."""


@dataclass(frozen=True)
class LogicModel(OperatorModel):
    """A classifier of pairs of trees."""

    comparison: Count | None = None
    """Width of the layer that compares two trees; by default the number of classes."""


@dataclass(frozen=True)
class NodesModel(HeadSettings, TreeModel):
    """A classifier of all nodes."""


@dataclass(frozen=True)
class OperatorNodesModel(HeadSettings, OperatorModel):
    """A classifier of all nodes, some of which are operators."""


@dataclass(frozen=True)
class TreesModel(ReadoutSettings, TreeModel):
    """A classifier of trees."""


@dataclass(frozen=True)
class WordNodesModel(NodesModel):
    """A classifier of all nodes, with a vector per word."""

    words: Literal["table", "pretrained"] = "table"
    """Word vectors: a table that is learned, or those of ``data.pretrained``."""
    embedding: Count = 100
    """Size of a word's vector."""
