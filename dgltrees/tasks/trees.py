"""What tasks on given trees share: encoders, readouts, heads, and which labels are learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from torch import nn

from dgltrees.cells import CELLS, BaseCell, count_parameters
from dgltrees.cells.initial import Init
from dgltrees.models.encoder import BidirectionalEncoder, TreeEncoder
from dgltrees.models.heads import MLP
from dgltrees.models.inputs import Input
from dgltrees.models.readout import Attention, Mean, Root
from dgltrees.settings import Count, Fraction, Options, Part, chosen
from dgltrees.tasks.settings import DataSettings
from dgltrees.tasks.task import Task
from dgltrees.trees import LabeledTrees


@dataclass(frozen=True)
class TreeModel:
    """An encoder of trees: a cell that runs from the leaves to the root."""

    parts: ClassVar[Mapping[str, Any]] = {"cell": CELLS}
    hidden: ClassVar[tuple[str, ...]] = ("input_size", "operators")

    cell: Part[BaseCell] = chosen("lstm")
    """Cell that makes a node's state from those of its children."""
    hidden_size: Count = 50
    """Size c of a node's state."""
    init: Init = "kaiming"
    """Initial weights: kaiming (normal), xavier (uniform), or uniform in U(-0.1, 0.1)."""
    bidirectional: bool = False
    """Run a second cell from the root down too, over the states of the first, and read both."""
    activation_checkpointing: bool = False
    """Save memory: compute the levels of the trees again in the backward pass, which is slower."""

    def encoder(self, inputs: Input, **cell: Any) -> TreeEncoder | BidirectionalEncoder:
        """The encoder of trees.

        Arguments:
            inputs: maps every node to its input.
            cell: more arguments of the cell, such as ``operators``.
        """
        up = TreeEncoder(
            inputs,
            self.cell(input_size=inputs.size, **cell),
            activation_checkpointing=self.activation_checkpointing,
        )
        if not self.bidirectional:
            return up
        return BidirectionalEncoder(up, self.cell(input_size=up.size))


@dataclass(frozen=True)
class HeadSettings:
    """The layers between a state and the classes."""

    head_hidden_sizes: list[Count] = field(default_factory=list)
    """Sizes of the hidden layers between the vector of a tree or node and the output."""
    head_dropout: Fraction = 0.0
    """Probability of dropout before every layer of the head."""

    def mlp(self, size: int, outputs: int, init: Init) -> MLP:
        """The head: vectors ``(..., size)`` to logits ``(..., outputs)``."""
        return MLP(size, outputs, self.head_hidden_sizes, dropout=self.head_dropout, init=init)


@dataclass(frozen=True)
class ReadoutSettings(HeadSettings):
    """From the states of a tree's nodes to its classes."""

    readout: Literal["root", "mean", "attention"] = "root"
    """Vector of a tree: the root's state, the mean over its nodes, or a learned weighted mean."""

    def tree_vectors(self, size: int) -> nn.Module:
        """The readout: node states ``(N, size)`` to tree vectors ``(T, size)``."""
        return (
            {"root": Root, "mean": Mean}[self.readout]()
            if self.readout != "attention"
            else (Attention(size))
        )


@dataclass(frozen=True)
class TreeTask(Task):
    """A task whose model has a :class:`~dgltrees.models.TreeEncoder`."""

    def display_name(self, model: Options) -> str:
        """The cell's name, with that of its aggregator where it has one."""
        return cell_name(model)

    def parameters(self, model: nn.Module) -> dict[str, Any]:
        """The numbers of parameters.

        ``aggregator`` is that of one aggregation of the cell, as counted in the tables of the
        tensor Tree-LSTM paper (None for cells that are not in them); ``cell`` that of the cell (of
        a bidirectional encoder, the upward one); ``model`` that of the whole model.
        """
        encoder: Any = model.encoder
        counts = count_parameters(encoder.cell)
        total = sum(p.numel() for p in model.parameters())
        return {"aggregator": counts["paper"], "cell": counts["total"], "model": total}


def cell_name(model: Options) -> str:
    """``"hosvd lstm"``: the cell of these settings, with its aggregator where it has one."""
    return " ".join(filter(None, (model.get("aggregator"), model["cell"])))


@dataclass(frozen=True)
class SupervisedSettings(DataSettings):
    """The data of trees whose nodes all have labels."""

    supervise: Literal["nodes", "root"] = "nodes"
    """Learn from the labels of all nodes, or of the root alone."""


def root_labels(data: LabeledTrees) -> LabeledTrees:
    """Keep only the roots' classes (node column ``"target"``); other nodes get -1."""
    forest = data.forest
    target = np.where(forest.parent < 0, forest.columns["target"], -1)
    return replace(data, forest=forest.with_columns({**forest.columns, "target": target}))
