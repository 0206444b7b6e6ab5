"""Operations that nobody decides on: the controls of the paper's section 3.1."""

from __future__ import annotations

from typing import Optional

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.errors import TreeError
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.operations import Operation
from dgltrees.trees.segments import starts

__all__ = ["FixedOperations", "OnlyRecur", "made_legal"]


class OnlyRecur(nn.Module):
    """A recur for every token, which makes the network an LSTM.

    Jacob et al. (2018), section 3.1, so describe their LSTM. Split and merge have parameters that
    are not used.
    """

    def forward(self, batch: TreeBatch, limit: int, opened: Optional[Tensor] = None) -> Tensor:
        """``(S,)`` recur; the arguments are those of :class:`FixedOperations`."""
        recurs = torch.full((batch.num_nodes,), int(Operation.RECUR))
        return recurs.to(batch.device)


class FixedOperations(nn.Module):
    """A split, recur or merge for each token, drawn once; one that is not legal becomes a recur.

    Jacob et al. (2018), section 3.1, call it a random deterministic policy.

    Arguments:
        column: the node column of token ids.
        rows: number of ids.
        seed: of the draw.
    """

    operation: Tensor

    def __init__(self, column: str, rows: int, seed: int = 0) -> None:
        super().__init__()
        self.column = column
        drawn = np.random.default_rng(seed).integers(Operation.SPLIT, Operation.MERGE + 1, rows)
        self.register_buffer("operation", torch.from_numpy(drawn))

    def forward(self, batch: TreeBatch, limit: int, opened: Optional[Tensor] = None) -> Tensor:
        """``(S,)`` the operation of each token.

        Arguments:
            batch, limit, opened: the tokens, and see :func:`made_legal`.

        Raises:
            TreeError: a token has no id of the table.
        """
        ids = batch.on_host(batch.ndata[self.column]).long()
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < len(self.operation):
            raise TreeError(
                f"expected ids of column {self.column!r} to be 0 to {len(self.operation) - 1}, got "
                f"{int(ids.min())} to {int(ids.max())}"
            )
        wanted = self.operation.cpu()[ids]
        return made_legal(wanted, batch.sizes, limit, opened).to(batch.device)


def made_legal(
    operations: Tensor, sizes: Tensor, limit: int, opened: Optional[Tensor] = None
) -> Tensor:
    """``(S,)`` the operations, with a recur for what finds the stack empty or full.

    Arguments:
        operations: ``(S,)`` wanted, sequence after sequence.
        sizes: ``(T,)`` the steps of each sequence.
        limit: how many sub-trees can be open.
        opened: ``(T,)`` how many are open before the first step; without it none.
    """
    made = operations.numpy().copy()
    lengths = sizes.numpy()
    begins = starts(lengths)
    open_trees = np.zeros(len(lengths), np.int64) if opened is None else opened.numpy().copy()
    for step in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > step)
        at = begins[rows] + step
        op, size = made[at], open_trees[rows]
        empty = (op == Operation.MERGE) & (size == 0)
        full = (op == Operation.SPLIT) & (size == limit)
        op = np.where(empty | full, Operation.RECUR, op)
        made[at] = op
        open_trees[rows] += (op == Operation.SPLIT).astype(np.int64) - (op == Operation.MERGE)
    return torch.from_numpy(made)
