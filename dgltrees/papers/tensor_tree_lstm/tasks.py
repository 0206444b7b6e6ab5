"""The tasks of tensor Tree-LSTMs: ListOps and logical relations.

ListOps is section V.C of the paper: each operator has separate parameters, digits have thermometer
codes, and a network with two hidden layers classifies the root's state. Logical relations are
section V.B, after Bowman et al. (2015): one of seven relations holds between two propositional
sentences. One encoder with separate parameters for each operator reads both, variables are one-hot
codes, and a bilinear layer compares the two roots. Accuracy is also reported by the larger number
of operators, 12 or more together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dgltrees.cells import CELLS
from dgltrees.errors import ConfigError
from dgltrees.formats import FORMATS
from dgltrees.formats.lrt import stream_lrt
from dgltrees.models.classifier import Classifier
from dgltrees.models.encoder import BidirectionalEncoder, TreeEncoder
from dgltrees.models.heads import ComparisonHead
from dgltrees.models.inputs import Concat, Input, OneHot, Thermometer
from dgltrees.models.readout import Root, make_readout
from dgltrees.papers.tensor_tree_lstm.data.listops import stream_listops
from dgltrees.settings import Count, options_of
from dgltrees.tasks.settings import DataSettings, OperatorSettings
from dgltrees.tasks.task import reader_of
from dgltrees.tasks.trees import HeadSettings, TreeModel, TreeTask
from dgltrees.trees import Vocabulary


@dataclass(frozen=True)
class OperatorModel(TreeModel):
    """The settings of a model of trees whose inner nodes are operators."""

    operator_labels: Literal["parameters", "one_hot"] = "parameters"
    """How the cell uses an operator: to select a set of parameters (parameters), or as a one-hot
    label (one_hot), one more mode of a full tensor or hosvd (tensor Tree-LSTM paper, section
    V.A)."""

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """Return the settings without effect: sets of parameters per operator have no label."""
        sets = values["operator_labels"] == "parameters"
        return {"label": "with model.operator_labels parameters"} if sets else {}

    def operator_encoder(self, leaves: Input, operators: int) -> TreeEncoder | BidirectionalEncoder:
        """Construct the encoder of trees whose inner nodes are operators."""
        if self.operator_labels == "one_hot":
            return self.encoder(Concat([leaves, OneHot("op", operators)]))
        if "operators" not in options_of(self.cell.source):
            able = [each for each in CELLS if "operators" in options_of(CELLS[each])]
            raise ConfigError(
                f"model.cell {self.cell.name} has no argument 'operators', a set of parameters per "
                f"operator, which this task needs; choose one of {', '.join(able)}, or "
                "model.operator_labels one_hot"
            )
        return self.encoder(leaves, operators=operators)


@dataclass(frozen=True)
class ListOpsModel(HeadSettings, OperatorModel):
    """The settings of a classifier of trees over digits."""

    readout: Literal["root", "mean", "attention"] = "root"
    """Vector of a tree: the state of its root (root), or the mean or a learned weighted mean
    (attention) over its nodes."""
    digits: Literal["thermometer", "one_hot"] = "thermometer"
    """Input vector of a leaf's digit d: d + 1 ones, then zeros (thermometer), or a single one."""

    def build(self, vocabs: Mapping[str, Vocabulary]) -> Classifier:
        """Construct the model."""
        leaves = {"thermometer": Thermometer, "one_hot": OneHot}[self.digits]("value", 10)
        encoder = self.operator_encoder(leaves, len(vocabs["op"]))
        head = self.mlp(encoder.size, len(vocabs["target"]), self.init)
        return Classifier(encoder, make_readout(self.readout, encoder.size), head)


LISTOPS = TreeTask(
    "listops",
    DataSettings,
    ListOpsModel,
    {"listops": reader_of(stream_listops)},
    max_children=5,
    reads=FORMATS["listops"].description,
)


@dataclass(frozen=True)
class LRTSettings(OperatorSettings):
    """The data settings of logical relations."""

    max_operators: Count | None = None
    """Train on pairs with at most this many operators; default: all pairs."""


@dataclass(frozen=True)
class LRTModel(OperatorModel):
    """The settings of a classifier of pairs of trees."""

    comparison: Count | None = None
    """Width of the layer that compares two trees; default: the number of classes."""

    def build(self, vocabs: Mapping[str, Vocabulary]) -> Classifier:
        """Construct the model."""
        encoder = self.operator_encoder(OneHot("value", _VARIABLES), len(vocabs["op"]))
        classes = len(vocabs["target"])
        head = ComparisonHead(encoder.size, classes, comparison=self.comparison, init=self.init)
        return Classifier(encoder, Root(), head)


_VARIABLES = 6


LRT = TreeTask(
    "lrt",
    LRTSettings,
    LRTModel,
    {"lrt": reader_of(stream_lrt)},
    max_children=2,
    breakdown=("operators", 12),
    reads=FORMATS["lrt"].description,
)
