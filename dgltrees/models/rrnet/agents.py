"""How a policy learns from rewards: policy gradients, clipped ones, and Q-learning.

One interface: an agent chooses operations while it is trained, and says what of its decisions is to
become small. Decided in evaluation is always the highest score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Optional, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from dgltrees.models.rrnet.credit import advantages
from dgltrees.models.rrnet.policy import ILLEGAL
from dgltrees.trees.segments import lasts

__all__ = ["PPO", "Agent", "Decisions", "PolicyGradient", "QLearning"]


class Decisions(NamedTuple):
    """The decisions of some sequences, one after the other.

    Attributes:
        scores: ``(S, 3)`` of each step.
        values: ``(S,)`` of the state before it.
        actions: ``(S,)`` int64, what was done: operation less 1.
        sizes: ``(T,)`` int64 on the CPU, the steps of each sequence.
        then: scores and values when the actions were chosen, where that was before other updates.
        beyond: ``(T, 3)`` scores and ``(T,)`` values of the state after each sequence's last step,
            where it goes on; without them the last step ends it.
    """

    scores: Tensor
    values: Tensor
    actions: Tensor
    sizes: Tensor
    then: Optional[tuple[Tensor, Tensor]] = None
    beyond: Optional[tuple[Tensor, Tensor]] = None


class Agent(Protocol):
    """A way to learn decisions."""

    @property
    def updates(self) -> int:
        """How often the network learns from one round of decisions."""
        ...

    def choose(self, scores: Tensor) -> Tensor:
        """``(n, 3)`` scores to ``(n,)`` actions, as they are tried in training."""
        ...

    def losses(self, made: Decisions, rewards: Tensor) -> Tensor:
        """``(S,)`` what is learned to be small.

        Arguments:
            made: the decisions.
            rewards: ``(S,)`` what came right after each.
        """
        ...


@dataclass(frozen=True)
class PolicyGradient:
    r"""REINFORCE with a learned baseline, and advantage actor-critic.

    Williams, "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement
    Learning" (Machine Learning, 1992); with an advantage A of each step,

    .. math:: -A_t \log \pi(z_t) - \beta H(\pi) + v \, (V_t - (A_t + V_t))^2

    in which A and the target of V are constants.

    Attributes:
        discount: gamma, of later rewards.
        trace: lambda of the advantage; with 1 that is REINFORCE, below it an actor-critic that
            learns from its own values.
        entropy: beta, weight of the entropy bonus.
        value: v, weight of the values' squared error.
    """

    discount: float = 0.99
    trace: float = 1.0
    entropy: float = 0.02
    value: float = 0.5
    updates: int = 1

    def choose(self, scores: Tensor) -> Tensor:
        """Drawn from the policy."""
        waiting = torch.empty_like(scores).exponential_()
        waiting.clamp_(min=torch.finfo(scores.dtype).tiny)
        return (scores - waiting.log_()).argmax(1)  # the first to come, at rates exp(scores)

    def losses(self, made: Decisions, rewards: Tensor) -> Tensor:
        """See the class."""
        gained = self.advantages(made, rewards, made.values.detach())
        losses = -gained * _log_p(made.scores, made.actions)
        return losses + self.others(made, gained + made.values.detach())

    def advantages(self, made: Decisions, rewards: Tensor, values: Tensor) -> Tensor:
        """``(S,)`` against the given values."""
        beyond = None if made.beyond is None else made.beyond[1]
        rates = {"discount": self.discount, "trace": self.trace}
        return advantages(rewards, values, made.sizes, beyond=beyond, **rates)

    def others(self, made: Decisions, targets: Tensor) -> Tensor:
        """``(S,)`` entropy bonus and the values' error."""
        log_p = torch.log_softmax(made.scores, 1)
        entropy = -(log_p.exp() * log_p).sum(1)
        error = F.mse_loss(made.values, targets, reduction="none")
        return self.value * error - self.entropy * entropy


@dataclass(frozen=True)
class PPO(PolicyGradient):
    r"""Proximal policy optimisation: several updates a round, the ratio of probabilities clipped.

    Schulman et al., "Proximal Policy Optimization Algorithms" (2017), equation (7):
    :math:`-\min(\rho_t A_t, \mathrm{clip}(\rho_t, 1 - \epsilon, 1 + \epsilon) A_t)` with
    :math:`\rho_t = \pi(z_t) / \pi_{then}(z_t)`; advantages have mean 0 and deviation 1 over the
    batch.

    Attributes:
        clip: epsilon.
        updates: updates a round.
    """

    trace: float = 0.95
    clip: float = 0.2
    updates: int = 4

    def losses(self, made: Decisions, rewards: Tensor) -> Tensor:
        """See the class."""
        scores, values = made.then or (made.scores.detach(), made.values.detach())
        gained = self.advantages(made, rewards, values)
        normal = (gained - gained.mean()) / (gained.std(correction=0) + 1e-8)
        ratio = (_log_p(made.scores, made.actions) - _log_p(scores, made.actions)).exp()
        clipped = ratio.clamp(1.0 - self.clip, 1.0 + self.clip)
        losses = -torch.minimum(ratio * normal, clipped * normal)
        return losses + self.others(made, gained + values)


@dataclass(frozen=True)
class QLearning:
    r"""Deep Q-learning: scores are the values Q of the operations.

    Mnih et al., "Playing Atari with Deep Reinforcement Learning" (2013), equation (2): the loss is
    :math:`(r_t + \gamma \max_{z'} Q_{t+1}(z') - Q_t(z_t))^2`, the first two terms a constant. With
    probability epsilon a legal operation is tried at random. Its replay memory is
    :class:`~dgltrees.models.rrnet.Replay`.

    Attributes:
        discount: gamma.
        explore: epsilon.
    """

    discount: float = 0.99
    explore: float = 0.1
    updates: int = 1

    def choose(self, scores: Tensor) -> Tensor:
        """The highest score, or at random."""
        possible = (scores > ILLEGAL / 2).to(scores.dtype)
        drawn = torch.multinomial(possible, 1)[:, 0]
        explores = torch.rand_like(scores[:, 0]) < self.explore
        return torch.where(explores, drawn, scores.argmax(1))

    def losses(self, made: Decisions, rewards: Tensor) -> Tensor:
        """See the class."""
        best = made.scores.detach().max(1).values
        ends = lasts(made.sizes).to(best.device)
        after = best.new_zeros(len(ends)) if made.beyond is None else made.beyond[0].max(1).values
        following = torch.cat([best[1:], best[:1]]).index_copy(0, ends, after)
        value = made.scores.gather(1, made.actions[:, None])[:, 0]
        targets = rewards + self.discount * following
        return F.mse_loss(value, targets, reduction="none")


def _log_p(scores: Tensor, actions: Tensor) -> Tensor:
    """``(S,)`` the log-probabilities of actions."""
    return torch.log_softmax(scores, 1).gather(1, actions[:, None])[:, 0]
