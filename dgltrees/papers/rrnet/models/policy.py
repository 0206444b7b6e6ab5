"""The policy network, which scores the next operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from dgltrees.models.heads import MLP, wide
from dgltrees.papers.rrnet.graphs import Operation
from dgltrees.papers.rrnet.models.decisions import PolicyOutput
from dgltrees.settings import checked

__all__ = ["ACTIONS", "Policy", "legal", "legal_between_words"]

ACTIONS = 3
"""SPLIT, RECUR and MERGE, the operations 1 to 3: action a is operation a + 1."""

ILLEGAL = -1e9
"""The score of an illegal operation: its probability is 0 in single precision."""


@checked
class Policy(nn.Module):
    r"""Scores of the three operations and the value of the state, from h and the next input.

    Jacob et al. (2018), section 2: :math:`p_\pi(z_t \mid e_t, h_t)` is categorical; a learned value
    is the baseline.

    Arguments:
        state_size: d.
        input_size: m, the size of e.
        hidden: sizes of the hidden layers of scores and of values; none in the paper.
        detach: stop the gradient of scores and values at h and e.
    """

    __call__: Callable[..., PolicyOutput]

    def __init__(
        self,
        state_size: int,
        input_size: int,
        hidden: Sequence[int] = (),
        *,
        detach: bool = False,
    ) -> None:
        super().__init__()
        self.scores = MLP(state_size + input_size, ACTIONS, hidden, init="xavier")
        self.values = MLP(state_size + input_size, 1, hidden, init="xavier")
        self.detach = detach

    def score(self, h: Tensor, e: Tensor, legal: Tensor) -> Tensor:
        """Only the scores, ``(n, 3)``; see :meth:`forward`."""
        return self._scores(self._features(h, e), legal)

    def forward(self, h: Tensor, e: Tensor, legal: Tensor) -> PolicyOutput:
        """Compute scores and values.

        Arguments:
            h: ``(n, d)`` the states before a step.
            e: ``(n, m)`` the inputs of the step.
            legal: ``(n, 3)`` bool.
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
    """Which operations are legal, ``(n, 3)`` bool: no split if full, no merge if empty.

    Arguments:
        open_trees: ``(n,)``, the number of open sub-trees.
        max_open: the most sub-trees that can be open at a time.
    """
    always = torch.ones_like(open_trees, dtype=torch.bool)
    return torch.stack([open_trees < max_open, always, open_trees > 0], 1)


def legal_between_words(open_trees: Tensor, max_open: int, last: Tensor, left: Tensor) -> Tensor:
    """Which operations are legal where RECUR alone consumes a token, ``(n, 3)`` bool.

    No sub-tree is without a token, so that there is no end of operations: none ends right after its
    split, and none begins after the last token, where the open ones have to end.

    Arguments:
        open_trees, max_open: see :func:`legal`.
        last: ``(n,)`` the operations before.
        left: ``(n,)`` bool, whether there is a token to consume.
    """
    split, recur, merge = legal(open_trees, max_open).unbind(1)
    return torch.stack([split & left, recur & left, merge & (last != Operation.SPLIT)], 1)
