"""Common parts of tasks on given trees: encoders, heads, and supervised nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch import nn

from dgltrees.cells import CELLS, BaseCell, count_parameters
from dgltrees.cells.initial import Init
from dgltrees.models.encoder import BidirectionalEncoder, TreeEncoder
from dgltrees.models.heads import MLP
from dgltrees.models.inputs import Input
from dgltrees.settings import Count, Fraction, Options, Part, chosen
from dgltrees.tasks.task import Task


@dataclass(frozen=True)
class TreeModel:
    """Settings of an encoder of trees: a cell that runs from the leaves to the root."""

    parts: ClassVar[Mapping[str, Any]] = {"cell": CELLS}
    hidden: ClassVar[tuple[str, ...]] = ("input_size", "operators")

    cell: Part[BaseCell] = chosen("lstm")
    """Cell, which computes the state of a node from those of its children."""
    hidden_size: Count = 50
    """Size c of the state of a node."""
    init: Init = "kaiming"
    """Initial weights: kaiming (normal), xavier (uniform), or uniform in U(-0.1, 0.1)."""
    bidirectional: bool = False
    """Add a second cell that runs from the root to the leaves over the states of the first, and use
    both states."""
    activation_checkpointing: bool = False
    """Save memory: recompute the levels of the trees in the backward pass, which is slower."""

    def encoder(self, inputs: Input, **cell: Any) -> TreeEncoder | BidirectionalEncoder:
        """Return the encoder of trees."""
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
    """Settings of the layers between a vector and the output."""

    head_hidden_sizes: list[Count] = field(default_factory=list)
    """Sizes of the hidden layers between the vector of a tree or node and the output."""
    head_dropout: Fraction = 0.0
    """Probability of dropout before every layer of the head."""

    def mlp(self, size: int, outputs: int, init: Init) -> MLP:
        """Return the head: vectors ``(..., size)`` to logits ``(..., outputs)``."""
        return MLP(size, outputs, self.head_hidden_sizes, dropout=self.head_dropout, init=init)


@dataclass(frozen=True)
class TreeTask(Task):
    """A task whose model has a :class:`~dgltrees.models.TreeEncoder`."""

    def display_name(self, model: Options) -> str:
        """Return the cell's name, with that of its aggregator if it has one."""
        return cell_name(model)

    def parameters(self, model: nn.Module) -> dict[str, Any]:
        """Return the numbers of parameters.

        ``aggregator`` counts one aggregation of the cell, as in the tables of the tensor Tree-LSTM
        paper (None for cells that are not in them). ``cell`` counts the cell (of a bidirectional
        encoder, the upward one), ``model`` the whole model.
        """
        encoder: Any = model.encoder
        counts = count_parameters(encoder.cell)
        total = sum(p.numel() for p in model.parameters())
        return {"aggregator": counts["paper"], "cell": counts["total"], "model": total}


def cell_name(model: Options) -> str:
    """Return ``"hosvd lstm"``: the cell of these settings, with its aggregator if it has one."""
    return " ".join(filter(None, (model.get("aggregator"), model["cell"])))
