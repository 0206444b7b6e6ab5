"""Operations that no policy decides: the controls of the paper's section 3.1."""

from __future__ import annotations

from typing import Optional

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.errors import TreeError
from dgltrees.options import Seed, checked
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.operations import Operation
from dgltrees.trees.segments import starts

__all__ = ["FixedOperations", "OnlyRecur", "legalized"]


class OnlyRecur(nn.Module):
    """A recur at every token, which makes the network an LSTM: Jacob et al. (2018), section 3.1.

    The parameters of split and merge are not used.
    """

    def forward(self, batch: TreeBatch, max_open: int, opened: Optional[Tensor] = None) -> Tensor:
        """``(S,)`` recur; for the arguments see :class:`FixedOperations`."""
        recurs = torch.full((batch.num_nodes,), int(Operation.RECUR))
        return recurs.to(batch.device)


@checked
class FixedOperations(nn.Module):
    """A split, recur or merge for each id of a token, drawn once; an illegal one becomes a recur.

    Jacob et al. (2018), section 3.1, call it a random deterministic policy.

    Arguments:
        column: the node column of token ids.
        rows: the number of ids.
        seed: of the draw.
    """

    operation: Tensor

    def __init__(self, column: str, rows: int, seed: Seed = 0) -> None:
        super().__init__()
        self.column = column
        drawn = np.random.default_rng(seed).integers(Operation.SPLIT, Operation.MERGE + 1, rows)
        self.register_buffer("operation", torch.from_numpy(drawn))

    def forward(self, batch: TreeBatch, max_open: int, opened: Optional[Tensor] = None) -> Tensor:
        """``(S,)`` the operation of each token.

        Arguments:
            batch: the sentences.
            max_open, opened: see :func:`legalized`.

        Raises:
            TreeError: a token has no id of the table.
        """
        ids = batch.on_host(batch.ndata[self.column]).long()
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < len(self.operation):
            raise TreeError(
                f"expected ids of column {self.column!r} to be 0 to {len(self.operation) - 1}, got "
                f"{int(ids.min())} to {int(ids.max())}"
            )
        operations = self.operation.cpu()[ids]
        return legalized(operations, batch.sizes, max_open, opened).to(batch.device)


def legalized(
    operations: Tensor, sizes: Tensor, max_open: int, opened: Optional[Tensor] = None
) -> Tensor:
    """``(S,)`` the operations, with a recur for what finds the stack empty or full.

    Arguments:
        operations: ``(S,)``, sequence after sequence.
        sizes: ``(T,)`` the number of steps of each sequence.
        max_open: how many sub-trees can be open.
        opened: ``(T,)`` how many are open before the first step; without it none.
    """
    ops = operations.numpy().copy()
    lengths = sizes.numpy()
    first = starts(lengths)
    open_trees = np.zeros(len(lengths), np.int64) if opened is None else opened.numpy().copy()
    for step in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > step)
        at = first[rows] + step
        op, size = ops[at], open_trees[rows]
        empty = (op == Operation.MERGE) & (size == 0)
        full = (op == Operation.SPLIT) & (size == max_open)
        op = np.where(empty | full, Operation.RECUR, op)
        ops[at] = op
        open_trees[rows] += (op == Operation.SPLIT).astype(np.int64) - (op == Operation.MERGE)
    return torch.from_numpy(ops)
