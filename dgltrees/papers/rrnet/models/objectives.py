"""The objective of a policy that learns from rewards: REINFORCE.

In training, the objective chooses the operations from the scores; in evaluation, the operation with
the highest score is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from dgltrees.papers.rrnet.models.policy import Decisions
from dgltrees.settings import NonNegative, Share
from dgltrees.trees.segments import mask_of


@dataclass(frozen=True)
class Reinforce:
    r"""REINFORCE with a learned value as its baseline.

    Williams, "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement
    Learning" (Machine Learning, 1992). The loss of step t is

    .. math:: -A_t \log \pi(z_t) - \beta H(\pi) + v \, (V_t - (A_t + V_t))^2

    where the advantage A is the discounted return minus the value V. A and the target of V are
    constants. Baseline, entropy and discount are those of public code by an author; the text of
    Jacob et al. (2018) names none of them.

    Arguments:
        discount: factor gamma of a reward for each earlier step.
        entropy: weight beta of the policy's entropy, which is maximised.
        value: weight v of the squared error of the learned values.
    """

    discount: Share = 0.99
    entropy: NonNegative = 0.02
    value: NonNegative = 0.5

    def choose(self, scores: Tensor) -> Tensor:
        """Sample actions, ``(n,)``, from the policy with the scores ``(n, 3)``."""
        waiting = torch.empty_like(scores).exponential_()
        waiting.clamp_(min=torch.finfo(scores.dtype).tiny)
        return (scores - waiting.log_()).argmax(1)  # the first event, at rates exp(scores)

    def losses(self, decisions: Decisions, rewards: Tensor) -> Tensor:
        """Compute the loss of each step, ``(S,)``."""
        values, end = decisions.values.detach(), decisions.bootstrap
        after_end = None if end is None else end.values
        advantage = advantages(rewards, values, decisions.sizes, self.discount, after_end)
        nll = F.cross_entropy(decisions.scores, decisions.actions, reduction="none")
        log_p = torch.log_softmax(decisions.scores, 1)
        entropy = -(log_p.exp() * log_p).sum(1)
        error = F.mse_loss(decisions.values, advantage + values, reduction="none")
        return advantage * nll + (self.value * error - self.entropy * entropy)


def advantages(
    rewards: Tensor, values: Tensor, sizes: Tensor, discount: float, after_end: Tensor | None = None
) -> Tensor:
    r"""Compute the advantage of each step, its discounted return minus its value, ``(S,)``.

    It is summed backwards from the errors of one step, :math:`A_t = \delta_t + \gamma A_{t+1}` with
    :math:`\delta_t = r_t + \gamma V_{t+1} - V_t`.
    """
    counts = sizes.tolist()
    r, v = (pad_sequence(list(each.split_with_sizes(counts))) for each in (rewards, values))
    v_next = torch.cat([v[1:], torch.zeros_like(v[:1])])  # (L, T); 0 after the last step
    if after_end is not None:
        ends = (sizes - 1).to(v.device), torch.arange(len(sizes), device=v.device)
        v_next = v_next.index_put(ends, after_end)
    errors = r + discount * v_next - v
    advantage = torch.zeros_like(errors[0])
    reversed_rows = []
    for error in reversed(errors.unbind(0)):  # padded steps have error 0
        advantage = error + discount * advantage
        reversed_rows.append(advantage)
    table = torch.stack(reversed_rows[::-1])  # (L, T)
    return table.t()[mask_of(sizes, len(table)).to(table.device)]
