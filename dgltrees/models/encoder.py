"""Encoders of trees: the base class and its result, and cells that run up and down the trees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dgltrees.cells.base import BaseCell
from dgltrees.errors import ConfigError
from dgltrees.models.inputs import Input
from dgltrees.traversal import IndexedRows, run_cell
from dgltrees.trees.batch import TreeBatch


@dataclass(frozen=True)
class Encoding:
    """The states that an encoder computes for ``T`` trees or sentences.

    All encoders return ``batch``, ``states`` and ``roots``; other attributes are None if an encoder
    does not compute them. An encoder with further results returns a subclass.

    Attributes:
        batch: the graph of the ``N`` nodes that have a state: the encoded trees, or the graph that
            the encoder built over sentences.
        states: ``(N, c)``, the states of all nodes.
        vectors: ``(T, c)``, the vector of each tree, unless it is the state of its root.
        token_nodes: ``(S,)`` int64, the node of each encoded token, if the encoder built the graph.
        final: the recurrent state after the last token of each sentence, from which another
            sentence can continue; its type depends on the encoder.
    """

    batch: TreeBatch
    states: Tensor
    vectors: Tensor | None = None
    token_nodes: Tensor | None = None
    final: Any | None = None

    @property
    def roots(self) -> Tensor:
        """The vector of each tree, ``(T, c)``: ``vectors``, or else the state of its root."""
        if self.vectors is not None:
            return self.vectors
        return self.states.index_select(0, self.batch.roots.to(self.states.device))

    @property
    def tokens(self) -> Tensor:
        """The states of the encoded tokens, ``(S, c)``; for trees, those of all nodes."""
        if self.token_nodes is None:
            return self.states
        return self.states.index_select(0, self.token_nodes.to(self.states.device))


class Encoder(nn.Module, ABC):
    """Base class of modules that map a batch to its :class:`Encoding`.

    Attributes:
        input: maps each node or token to its vector.
        size: c, the size of a state.
    """

    hidden: ClassVar[tuple[str, ...]] = ("inputs",)
    """The arguments that are not settings."""
    input: Input
    size: int
    __call__: Callable[..., Encoding]

    @abstractmethod
    def forward(self, batch: Any) -> Encoding:
        """Return the encoding of a batch."""


class TreeEncoder(Encoder):
    """An encoder that runs a cell from the leaves to the root.

    Arguments:
        inputs: maps every node to its input.
        cell: the cell, for inputs of this size.
        compile: run the cell as compiled code where possible; use False for second derivatives
            (gradient penalties), which compiled code does not support.
        activation_checkpointing: recompute levels in the backward pass, to save memory (see
            :func:`dgltrees.run_cell`).

    Attributes:
        size: c, the size of a state.

    Raises:
        ConfigError: the cell expects inputs of another size.

    Example:
        >>> from dgltrees.cells import ChildSumTreeLSTM
        >>> from dgltrees.models import WordEmbedding
        >>> from dgltrees.trees.builders import from_nested
        >>> batch = from_nested(("+", "1", "2"), "3", form="head").batch()
        >>> encoding = TreeEncoder(WordEmbedding("label", 4, 8), ChildSumTreeLSTM(8, 16))(batch)
        >>> encoding.states.shape, encoding.roots.shape
        (torch.Size([4, 16]), torch.Size([2, 16]))
    """

    input: Input

    def __init__(
        self,
        inputs: Input,
        cell: BaseCell,
        *,
        compile: bool = True,
        activation_checkpointing: bool = False,
    ) -> None:
        super().__init__()
        if inputs.size != cell.input_size:
            raise ConfigError(
                f"expected a cell with input_size={inputs.size}, the size of the input, got "
                f"{cell.input_size}"
            )
        self.input, self.cell, self.size = inputs, cell, cell.hidden_size
        self.compiled, self.activation_checkpointing = compile, activation_checkpointing

    def forward(self, batch: TreeBatch) -> Encoding:
        """Return the states of all nodes, ``(N, c)``."""
        ndata: dict[str, Tensor | IndexedRows] = {"x": self.input.indexed(batch)}
        if self.cell.group_by in batch.ndata:
            ndata[self.cell.group_by] = batch.ndata[self.cell.group_by]
        return Encoding(batch, self.run_cell(self.cell, batch, ndata))

    def run_cell(
        self, cell: BaseCell, batch: TreeBatch, ndata: Mapping[str, Tensor | IndexedRows]
    ) -> Tensor:
        """Run a traversal with this encoder's options and return the states ``h``, ``(N, c)``."""
        return run_cell(
            cell,
            batch,
            ndata,
            outputs=["h"],
            compile=self.compiled,
            activation_checkpointing=self.activation_checkpointing,
        )["h"]


class BidirectionalEncoder(Encoder):
    """An encoder that runs a cell from the leaves to the root and another one back.

    The input of the second cell is the state of the first cell, and its only message is from the
    parent. The message has the position of the node among its siblings, so that a cell with
    positions can distinguish the children of a node.

    Arguments:
        up: the encoder from the leaves to the root; its ``compile`` and
            ``activation_checkpointing`` apply to both directions.
        down: the cell from the root to the leaves, without operators, whose ``input_size`` is the
            size of ``up``.

    Attributes:
        size: the sum of the sizes of both states.

    Raises:
        ConfigError: the second cell expects inputs of another size, or has operators.
    """

    def __init__(self, up: TreeEncoder, down: BaseCell) -> None:
        super().__init__()
        if down.input_size != up.size:
            raise ConfigError(
                f"expected a downward cell with input_size={up.size}, got {down.input_size}"
            )
        if down.group_by is not None:
            raise ConfigError("expected a downward cell without operators, got one with operators")
        self.up, self.down = up, down
        self.size = up.size + down.hidden_size

    @property
    def input(self) -> Input:  # type: ignore[override]
        """The input module of the nodes."""
        return self.up.input

    @property
    def cell(self) -> BaseCell:
        """The cell from the leaves to the root."""
        return self.up.cell

    def forward(self, batch: TreeBatch) -> Encoding:
        """Return the states of all nodes, ``(N, c_up + c_down)``."""
        up = self.up(batch).states
        down = self.up.run_cell(self.down, batch.reversed(), {"x": up})
        return Encoding(batch, torch.cat([up, down], 1))
