"""From a batch of trees to a state for every node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Union

import torch
from torch import Tensor, nn

from dgltrees.cells.base import BaseCell
from dgltrees.errors import ConfigError
from dgltrees.models.inputs import Concat, NodeInput
from dgltrees.traversal import IndexedRows, accepts_indexed, traverse
from dgltrees.trees.batch import TreeBatch

__all__ = ["BidirectionalEncoder", "TreeEncoder"]


class TreeEncoder(nn.Module):
    """Runs a cell from the leaves to the root.

    Arguments:
        inputs: gives every node its input.
        cell: the cell, made for inputs of that size.
        backend: ``"levels"`` or ``"dgl"``.
        fused: let the cell take a way of its own through all levels, if it has one; False where a
            second derivative is wanted (gradient penalties), which such a way does not have.
        checkpoint: compute levels again in the backward pass, for batches whose memory would not
            suffice (see :func:`dgltrees.traverse`).

    Attributes:
        size: c, the size of a node's encoding.

    Raises:
        ConfigError: the cell takes inputs of another size, or the backend has no checkpoints.
    """

    def __init__(
        self,
        inputs: Union[NodeInput, Concat],
        cell: BaseCell,
        *,
        backend: str = "levels",
        fused: bool = True,
        checkpoint: bool = False,
    ) -> None:
        super().__init__()
        if checkpoint and backend != "levels":
            raise ConfigError(f"expected backend levels with checkpoint, got {backend}")
        if inputs.size != cell.input_size:
            raise ConfigError(
                f"expected a cell with input_size={inputs.size}, the size of the input, got "
                f"{cell.input_size}"
            )
        self.input, self.cell, self.size = inputs, cell, cell.hidden_size
        self.backend, self.fused, self.checkpoint = backend, fused, checkpoint

    def forward(self, batch: TreeBatch) -> Tensor:
        """``(N, c)`` encodings of all nodes, in the order of the batch's nodes."""
        ndata: dict[str, Union[Tensor, IndexedRows]] = {"x": self._inputs(batch)}
        if self.cell.group_by in batch.ndata:
            ndata[self.cell.group_by] = batch.ndata[self.cell.group_by]
        return self.states(self.cell, batch, ndata)

    def _inputs(self, batch: TreeBatch) -> Union[Tensor, IndexedRows]:
        if accepts_indexed(self.cell) and isinstance(self.input, NodeInput):
            return self.input.indexed(batch)
        made: Tensor = self.input(batch)
        return made

    def states(
        self, cell: BaseCell, batch: TreeBatch, ndata: Mapping[str, Union[Tensor, IndexedRows]]
    ) -> Tensor:
        """``(N, c)`` states ``h`` of a traversal with this encoder's options."""
        return traverse(
            cell,
            batch,
            ndata,
            backend=self.backend,
            outputs=["h"],
            fused=self.fused,
            checkpoint=self.checkpoint,
        )["h"]


class BidirectionalEncoder(nn.Module):
    """Up, then down: what is below a node, then with it what is around the node.

    The second pass runs over the turned edges, from the root to the leaves. Its input is the state
    of the first pass, its only message that of the parent, which stands at the node's own position
    among its siblings, so that a cell with positions knows which child it goes down to.

    Arguments:
        up: the encoder of the first pass; its ``backend``, ``fused`` and ``checkpoint`` hold
            for both.
        down: the cell of the second, without operators, ``input_size`` the size of ``up``.

    Attributes:
        size: the sizes of both states together.

    Raises:
        ConfigError: the second cell takes inputs of another size, or has operators.
    """

    def __init__(self, up: TreeEncoder, down: BaseCell) -> None:
        super().__init__()
        if down.input_size != up.size:
            raise ConfigError(
                f"expected a cell with input_size={up.size} for the way down, got {down.input_size}"
            )
        if down.group_by is not None:
            raise ConfigError(
                "expected a cell without operators for the way down, where leaves receive too"
            )
        self.up, self.down = up, down
        self.size = up.size + down.hidden_size

    def forward(self, batch: TreeBatch) -> Tensor:
        """``(N, c_up + c_down)`` encodings of all nodes, in the order of the batch's nodes."""
        up = self.up(batch)
        down = self.up.states(self.down, batch.reversed(), {"x": up})
        return torch.cat([up, down], 1)
