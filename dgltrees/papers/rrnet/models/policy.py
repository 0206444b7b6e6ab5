"""Policies: a network that scores the next operation, random operations, or only recur."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.errors import TreeError
from dgltrees.models.heads import MLP, wide
from dgltrees.papers.rrnet.graphs import each_step
from dgltrees.settings import Seed
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.kinds import Operation


class PolicyOutput(NamedTuple):
    """The output of a policy for n states.

    Attributes:
        scores: ``(n, 3)``, the scores of the operations; those of illegal ones are very low.
        values: ``(n,)``, the values of the states.
    """

    scores: Tensor
    values: Tensor


class Decisions(NamedTuple):
    """The decisions of a policy on the S steps of T sequences, one sequence after the other.

    Attributes:
        scores: ``(S, 3)``, the scores of the operations.
        values: ``(S,)``, the values of the states before each step.
        actions: ``(S,)`` int64, the chosen operations minus 1.
        sizes: ``(T,)`` int64 on the CPU, the number of steps of each sequence.
        bootstrap: the policy's output for the ``T`` states after the last steps, if the sequences
            continue; None if they end.
    """

    scores: Tensor
    values: Tensor
    actions: Tensor
    sizes: Tensor
    bootstrap: PolicyOutput | None = None


ACTIONS = 3
"""SPLIT, RECUR and MERGE, the operations 1 to 3: action a is operation a + 1."""

ILLEGAL = -1e9
"""The score of an illegal operation: its probability is 0 in single precision."""


class Policy(nn.Module):
    r"""A network that scores the three operations, and estimates the value of the state.

    Jacob et al. (2018), section 2: :math:`p_\pi(z_t \mid e_t, h_t)` is categorical, where h is the
    state and e the next input; a learned value is the baseline.

    Arguments:
        state_size: d, the size of h.
        input_size: m, the size of e.
        hidden: sizes of the hidden layers of scores and of values; none in the paper.
        detach: stop the gradient of scores and values at h and e.
    """

    __call__: Callable[..., PolicyOutput]

    def __init__(
        self, state_size: int, input_size: int, hidden: Sequence[int] = (), *, detach: bool = False
    ) -> None:
        super().__init__()
        self.scores = MLP(state_size + input_size, ACTIONS, hidden, init="xavier")
        self.values = MLP(state_size + input_size, 1, hidden, init="xavier")
        self.detach = detach

    def score(self, h: Tensor, e: Tensor, legal: Tensor) -> Tensor:
        """Compute only the scores, ``(n, 3)``; see :meth:`forward`."""
        return self._scores(self._features(h, e), legal)

    def forward(self, h: Tensor, e: Tensor, legal: Tensor) -> PolicyOutput:
        """Compute scores and values.

        Arguments:
            h: ``(n, d)`` the states before a step.
            e: ``(n, m)`` the inputs of the step.
            legal: ``(n, 3)`` bool, True for legal operations.

        Returns:
            scores, ``(n, 3)``, and values, ``(n,)``.
        """
        features = self._features(h, e)
        scores = self._scores(features, legal)
        values: Tensor = self.values(features)[:, 0]
        return PolicyOutput(scores, values.to(scores.dtype))

    def _features(self, h: Tensor, e: Tensor) -> Tensor:
        features = torch.cat([h, e], 1)
        return features.detach() if self.detach else features

    def _scores(self, features: Tensor, legal: Tensor) -> Tensor:
        scores: Tensor = self.scores(features)
        return wide(scores).masked_fill(~legal, ILLEGAL)  # half floats have no ILLEGAL


def legal(open_trees: Tensor, max_open: int) -> Tensor:
    """Return a mask of the legal operations: no split of a full stack, no merge of an empty one."""
    always = torch.ones_like(open_trees, dtype=torch.bool)
    return torch.stack([open_trees < max_open, always, open_trees > 0], 1)


def legal_between_words(open_trees: Tensor, max_open: int, last: Tensor, left: Tensor) -> Tensor:
    """Return a mask of the legal operations if only RECUR consumes a token.

    Every subtree has a token, so that the number of operations is finite: none ends right after its
    split, and none begins after the last token, where the open ones must end.
    """
    split, recur, merge = legal(open_trees, max_open).unbind(1)
    return torch.stack([split & left, recur & left, merge & (last != Operation.SPLIT)], 1)


class OnlyRecur(nn.Module):
    """A recur at every token, which makes the network an LSTM: Jacob et al. (2018), section 3.1.

    The parameters of split and merge are not used.
    """

    def forward(self, batch: TreeBatch, max_open: int, opened: Tensor | None = None) -> Tensor:
        """Return RECUR for every token, ``(S,)``; arguments as of :class:`RandomOperations`."""
        recurs = torch.full((batch.num_nodes,), int(Operation.RECUR))
        return recurs.to(batch.device)


class RandomOperations(nn.Module):
    """One random operation for each token id, drawn once; illegal ones become RECUR.

    Jacob et al. (2018), section 3.1, call it a random deterministic policy.

    Arguments:
        column: the node column of token ids.
        rows: the number of ids.
        seed: the seed of the operations.
    """

    operation: Tensor

    def __init__(self, column: str, rows: int, seed: Seed = 0) -> None:
        super().__init__()
        self.column = column
        table = np.random.default_rng(seed).integers(Operation.SPLIT, Operation.MERGE + 1, rows)
        self.register_buffer("operation", torch.from_numpy(table))

    def forward(self, batch: TreeBatch, max_open: int, opened: Tensor | None = None) -> Tensor:
        """Return the operation of each token, ``(S,)``."""
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
    """Replace merges with an empty stack and splits with a full one by RECUR, ``(S,)``."""
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
