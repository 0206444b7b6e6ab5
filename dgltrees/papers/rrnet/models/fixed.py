"""Fixed operations in place of a policy: the controls of the paper's section 3.1."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.errors import TreeError
from dgltrees.papers.rrnet.graphs import Operation
from dgltrees.papers.rrnet.graphs.words import each_step
from dgltrees.settings import Seed, checked
from dgltrees.trees.batch import TreeBatch

__all__ = ["FixedOperations", "OnlyRecur", "legalized"]


class OnlyRecur(nn.Module):
    """A recur at every token, which makes the network an LSTM: Jacob et al. (2018), section 3.1.

    The parameters of split and merge are not used.
    """

    def forward(self, batch: TreeBatch, max_open: int, opened: Tensor | None = None) -> Tensor:
        """RECUR for every token, ``(S,)``; for the arguments see :class:`FixedOperations`."""
        recurs = torch.full((batch.num_nodes,), int(Operation.RECUR))
        return recurs.to(batch.device)


@checked
class FixedOperations(nn.Module):
    """A random but fixed operation for each token id; illegal ones become RECUR.

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
        table = np.random.default_rng(seed).integers(Operation.SPLIT, Operation.MERGE + 1, rows)
        self.register_buffer("operation", torch.from_numpy(table))

    def forward(self, batch: TreeBatch, max_open: int, opened: Tensor | None = None) -> Tensor:
        """The operation of each token, ``(S,)``.

        Arguments:
            batch: the sentences.
            max_open, opened: see :func:`legalized`.

        Raises:
            TreeError: the id of a token is out of range.
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
    operations: Tensor, sizes: Tensor, max_open: int, opened: Tensor | None = None
) -> Tensor:
    """Replace merges with an empty stack and splits with a full one by RECUR, ``(S,)``.

    Arguments:
        operations: ``(S,)``, sequence after sequence.
        sizes: ``(T,)`` the number of steps of each sequence.
        max_open: the most sub-trees that can be open at a time.
        opened: ``(T,)``, the number that is open before the first step; None for 0.
    """
    ops = operations.numpy().copy()
    open_trees = np.zeros(len(sizes), np.int64) if opened is None else opened.numpy().copy()
    for rows, at in each_step(sizes.numpy()):
        op, size = ops[at], open_trees[rows]
        empty = (op == Operation.MERGE) & (size == 0)
        full = (op == Operation.SPLIT) & (size == max_open)
        op = np.where(empty | full, Operation.RECUR, op)
        ops[at] = op
        open_trees[rows] += (op == Operation.SPLIT).astype(np.int64) - (op == Operation.MERGE)
    return torch.from_numpy(ops)
