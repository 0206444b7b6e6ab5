"""The parts of a model that the settings choose, the same in every task."""

from __future__ import annotations

from typing import Any, Union

from torch import nn

from dgltrees.cells import BaseCell, cell_options, count_parameters, make_cell
from dgltrees.errors import ConfigError
from dgltrees.models import (
    MLP,
    Attention,
    BidirectionalEncoder,
    Head,
    Mean,
    NodeInput,
    OneHot,
    Root,
    Thermometer,
    TreeEncoder,
)

__all__ = [
    "digits_input",
    "encoder_parameters",
    "make_encoder",
    "make_head",
    "make_readout",
    "settings_cell",
]

Encoder = Union[TreeEncoder, BidirectionalEncoder]


def digits_input(settings: Any, size: int) -> NodeInput:
    """The code of the digits in the column ``"value"``, ``(N, size)``."""
    codes = {"thermometer": Thermometer, "one_hot": OneHot}
    made: NodeInput = codes[settings.digits]("value", size)
    return made


def make_encoder(settings: Any, inputs: NodeInput, operators: int = 0) -> Encoder:
    """The encoder the settings describe.

    Arguments:
        settings: the model's settings, ``max_children`` among them.
        inputs: gives every node its input.
        operators: how many sets of parameters the node field ``"op"`` chooses from; 0: one set.

    Raises:
        ConfigError: gate, aggregator, rank and operators do not go together.
    """
    cell = settings_cell(settings, inputs.size, operators)
    up = TreeEncoder(inputs, cell, backend=settings.backend, checkpoint=settings.checkpoint)
    if not settings.bidirectional:
        return up
    return BidirectionalEncoder(up, settings_cell(settings, up.size))


def settings_cell(settings: Any, input_size: int, operators: int = 0, **more: Any) -> BaseCell:
    """The cell the settings describe.

    Arguments:
        settings: the model's settings.
        input_size: of a node's input.
        operators: see :func:`make_encoder`.
        more: what is wanted instead of the settings, or besides; a cell takes what it knows.

    Raises:
        ConfigError: gate, aggregator, rank and operators do not go together.
    """
    wanted = {
        "input_size": input_size,
        "hidden_size": settings.hidden_size,
        "max_children": settings.max_children,
        "aggregator": settings.aggregator,
        "operators": operators,
        "rank": settings.rank,
        "dropout": settings.dropout,
        "layer_norm": settings.layer_norm,
        "init": settings.init,
        **more,
    }
    known = cell_options(settings.gate)
    if operators and "operators" not in known:
        raise ConfigError(
            f"model.gate {settings.gate} has no parameters of their own for operators, which this "
            "task has; choose lstm, gru or rnn"
        )
    if settings.rank is not None and "rank" not in known:
        raise ConfigError(f"model.gate {settings.gate} has no rank, got model.rank {settings.rank}")
    return make_cell(settings.gate, **{k: v for k, v in wanted.items() if k in known})


def make_readout(settings: Any, encoder: Encoder) -> nn.Module:
    """What makes one vector a tree, ``(N, c)`` to ``(T, c)``."""
    if settings.readout == "attention":
        return Attention(encoder.size)
    readouts: dict[str, type[nn.Module]] = {"root": Root, "mean": Mean}
    return readouts[settings.readout]()


def make_head(settings: Any, encoder: Encoder, classes: int) -> Head:
    """The layers between a state and the classes, ``(..., c)`` to ``(..., classes)``."""
    return MLP(
        encoder.size, classes, settings.head, dropout=settings.head_dropout, init=settings.init
    )


def encoder_parameters(model: nn.Module) -> dict[str, Any]:
    """How many parameters a task's model has.

    Returns:
        ``table``: of one aggregation of its cell, as the tables of the tensor Tree-LSTM paper
        count them (None for cells that are not in them); ``cell``: of that cell, which of a
        bidirectional encoder is the one that reads up; ``model``: of everything.
    """
    encoder: Any = model.encoder
    counted = count_parameters(encoder.cell)
    total = sum(p.numel() for p in model.parameters())
    return {"table": counted["table"], "cell": counted["true"], "model": total}
