"""The policy network: which operation comes next."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from dgltrees.models.mlp import MLP

__all__ = ["ACTIONS", "Policy", "legal"]

ACTIONS = 3
"""SPLIT, RECUR and MERGE, the operations 1 to 3: action a is operation a + 1."""

ILLEGAL = -1e9
"""The score of what cannot be chosen: its probability is 0 in single precision."""


class Policy(nn.Module):
    r"""Scores of the three operations and the value of the state, from h and the next input.

    Jacob et al. (2018), section 2: :math:`p_\pi(z_t \mid e_t, h_t)` is categorical; a learned value
    is the baseline.

    Arguments:
        state_size: d.
        input_size: m, the size of e.
        hidden: sizes of hidden layers, of scores and value each; none in the paper.
        detach: let no gradient of decisions into the network that reads.
    """

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
        """``(n, 3)`` scores alone; see :meth:`forward`."""
        return self._scores(self._seen(h, e), legal)

    def forward(self, h: Tensor, e: Tensor, legal: Tensor) -> tuple[Tensor, Tensor]:
        """Scores and values.

        Arguments:
            h: ``(n, d)`` the states before a step.
            e: ``(n, m)`` the inputs of the step.
            legal: ``(n, 3)`` bool.

        Returns:
            ``(n, 3)``, very low where not legal, and ``(n,)``.
        """
        seen = self._seen(h, e)
        scores = self._scores(seen, legal)
        values: Tensor = self.values(seen)[:, 0]
        return scores, values.to(scores.dtype)

    def _seen(self, h: Tensor, e: Tensor) -> Tensor:
        seen = torch.cat([h, e], 1)
        return seen.detach() if self.detach else seen

    def _scores(self, seen: Tensor, legal: Tensor) -> Tensor:
        scores: Tensor = self.scores(seen)
        wide = torch.promote_types(scores.dtype, torch.float32)  # half precision has no ILLEGAL
        return scores.to(wide).masked_fill(~legal, ILLEGAL)


def legal(open_trees: Tensor, limit: int) -> Tensor:
    """``(n, 3)`` bool: no split on a full stack, no merge of an empty one.

    Arguments:
        open_trees: ``(n,)`` how many sub-trees are open.
        limit: how many there can be.
    """
    always = torch.ones_like(open_trees, dtype=torch.bool)
    return torch.stack([open_trees < limit, always, open_trees > 0], 1)
