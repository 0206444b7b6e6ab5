"""The base of tasks on trees: encoders, readouts and heads from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from dgltrees.cells import CELLS, BaseCell, count_parameters
from dgltrees.errors import ConfigError
from dgltrees.models.encoder import BidirectionalEncoder, TreeEncoder
from dgltrees.models.heads import MLP, Head
from dgltrees.models.inputs import Input
from dgltrees.models.readout import Attention, Mean, Root
from dgltrees.options import Options, options_of
from dgltrees.tasks.task import Task
from dgltrees.trees import Vocabulary

__all__ = [
    "TreeTask",
    "cell_name",
    "make_cell_of",
    "make_encoder",
    "make_head",
    "make_readout",
]

Encoder = TreeEncoder | BidirectionalEncoder


@dataclass(frozen=True)
class TreeTask(Task):
    """A task whose model has a :class:`~dgltrees.models.TreeEncoder`."""

    def display_name(self, model: Options) -> str:
        """The cell's name, with that of its aggregator where it has one."""
        return cell_name(model)

    def parameters(self, model: nn.Module) -> dict[str, Any]:
        """The numbers of parameters.

        ``table`` is that of one aggregation of the cell, as counted in the tables of the tensor
        Tree-LSTM paper (None for cells that are not in them); ``cell`` that of the cell (of a
        bidirectional encoder, the upward one); ``model`` that of the whole model.
        """
        encoder: Any = model.encoder
        counts = count_parameters(encoder.cell)
        total = sum(p.numel() for p in model.parameters())
        return {"table": counts["paper"], "cell": counts["total"], "model": total}


def cell_name(model: Options) -> str:
    """``"hosvd lstm"``: the cell of these settings, with its aggregator where it has one."""
    return " ".join(filter(None, (model.get("aggregator"), model["cell"])))


def make_encoder(model: Options, inputs: Input, operators: int = 0) -> Encoder:
    """The encoder that the settings describe.

    Arguments:
        model: the model's settings, including ``max_children``.
        inputs: maps every node to its input.
        operators: the number of sets of parameters that the node field ``"op"`` selects from; 0 for
            a single set.

    Raises:
        ConfigError: the cell has no parameters per operator.
    """
    cell = make_cell_of(model, inputs.size, operators)
    up = TreeEncoder(inputs, cell, checkpoint=model["checkpoint"])
    if not model["bidirectional"]:
        return up
    return BidirectionalEncoder(up, make_cell_of(model, up.size))


def make_cell_of(model: Options, input_size: int, operators: int = 0, **arguments: Any) -> BaseCell:
    """Make the cell of the settings.

    Arguments:
        model: the model's settings.
        input_size: size of a node's input.
        operators: see :func:`make_encoder`.
        arguments: arguments of the cell that take precedence over the settings.

    Raises:
        ConfigError: the cell has no parameters per operator.
    """
    name = model["cell"]
    if operators:
        if "operators" not in options_of(CELLS[name]):
            able = [each for each in CELLS if "operators" in options_of(CELLS[each])]
            raise ConfigError(
                f"model.cell {name} has no argument 'operators', a set of parameters per operator, "
                f"which this task needs; choose one of {', '.join(able)}, or "
                "model.operator_labels one_hot"
            )
        arguments["operators"] = operators
    return model.of(CELLS[name], input_size=input_size, **arguments)


def make_readout(model: Options, encoder: Encoder) -> nn.Module:
    """Make the readout of the settings: node states ``(N, c)`` to tree vectors ``(T, c)``."""
    if model["readout"] == "attention":
        return Attention(encoder.size)
    readouts: dict[str, type[nn.Module]] = {"root": Root, "mean": Mean}
    return readouts[model["readout"]]()


def make_head(model: Options, encoder: Encoder, vocabs: Mapping[str, Vocabulary]) -> Head:
    """Make the head of the settings: vectors ``(..., c)`` to logits ``(..., classes)``."""
    classes = len(vocabs["target"])
    dropout = model["head_dropout"]
    return MLP(encoder.size, classes, model["head"], dropout=dropout, init=model["init"])
