"""How a policy learns from rewards: policy gradients, PPO and Q-learning.

The fields of the dataclasses are the settings of an objective. In training, the objective chooses
the operations from the scores; in evaluation, the operation with the highest score is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from dgltrees.models.decisions import Decisions
from dgltrees.models.rrnet.advantages import advantages
from dgltrees.models.rrnet.policy import ILLEGAL
from dgltrees.options import Count, NonNegative, NonNegativeInt, Positive, Share, checked
from dgltrees.trees.segments import lasts

__all__ = [
    "OBJECTIVES",
    "PPO",
    "ActorCritic",
    "PolicyObjective",
    "QLearning",
    "Reinforce",
]


class PolicyObjective(Protocol):
    """Chooses operations in training, and computes the loss of the choices."""

    @property
    def updates(self) -> int:
        """The number of parameter updates per rollout."""
        ...

    @property
    def replay(self) -> int:
        """The number of sentences in the replay memory; 0 for none."""
        ...

    def choose(self, scores: Tensor) -> Tensor:
        """Choose actions, ``(n,)``, for scores ``(n, 3)``, with exploration."""
        ...

    def losses(self, decisions: Decisions, rewards: Tensor) -> Tensor:
        """The loss of each step, ``(S,)``.

        Arguments:
            decisions: the decisions of a policy.
            rewards: ``(S,)``, the reward after each step.
        """
        ...


@checked
@dataclass(frozen=True)
class Reinforce:
    r"""REINFORCE with a learned value as its baseline.

    Williams, "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement
    Learning" (Machine Learning, 1992). With the advantage A of each step (:func:`advantages`),

    .. math:: -A_t \log \pi(z_t) - \beta H(\pi) + v \, (V_t - (A_t + V_t))^2

    in which A and the target of V are constants.

    Arguments:
        discount: factor gamma by which a reward counts less, a step earlier.
        entropy: weight beta of the policy's entropy, which is maximised.
        value: weight v of the squared error of the learned values.
    """

    discount: Share = 0.99
    entropy: NonNegative = 0.02
    value: NonNegative = 0.5

    @property
    def updates(self) -> int:
        """The number of parameter updates per rollout: 1."""
        return 1

    @property
    def replay(self) -> int:
        """The number of sentences in the replay memory: 0, there is none."""
        return 0

    @property
    def gae_lambda(self) -> float:
        """Lambda of the advantage: 1, the whole return."""
        return 1.0

    def choose(self, scores: Tensor) -> Tensor:
        """Sample actions, ``(n,)``, from the policy with the scores ``(n, 3)``."""
        waiting = torch.empty_like(scores).exponential_()
        waiting.clamp_(min=torch.finfo(scores.dtype).tiny)
        return (scores - waiting.log_()).argmax(1)  # the first event, at rates exp(scores)

    def losses(self, decisions: Decisions, rewards: Tensor) -> Tensor:
        """The loss of each step, ``(S,)``; see :class:`PolicyObjective`."""
        values = decisions.values.detach()
        advantage = self.advantages(decisions, rewards, values)
        losses = -advantage * _log_p(decisions.scores, decisions.actions)
        return losses + self.regularization(decisions, advantage + values)

    def advantages(self, decisions: Decisions, rewards: Tensor, values: Tensor) -> Tensor:
        """The advantage of each step, ``(S,)``, given the values ``(S,)``."""
        end = decisions.bootstrap
        return advantages(
            rewards,
            values,
            decisions.sizes,
            discount=self.discount,
            gae_lambda=self.gae_lambda,
            bootstrap_value=None if end is None else end.values,
        )

    def regularization(self, decisions: Decisions, targets: Tensor) -> Tensor:
        """The weighted entropy plus the weighted squared error of the values, ``(S,)``."""
        log_p = torch.log_softmax(decisions.scores, 1)
        entropy = -(log_p.exp() * log_p).sum(1)
        error = F.mse_loss(decisions.values, targets, reduction="none")
        return self.value * error - self.entropy * entropy


@checked
@dataclass(frozen=True)
class ActorCritic(Reinforce):
    """Advantage actor-critic: :class:`Reinforce` whose advantage uses the learned values too.

    Arguments:
        gae_lambda: lambda of generalised advantage estimation: at 1 an advantage is the whole
            return, at 0 the error of one step.
    """

    gae_lambda: Share = 0.95


@checked
@dataclass(frozen=True)
class PPO(ActorCritic):
    r"""Proximal policy optimisation: several updates per rollout, with clipped ratios.

    Schulman et al., "Proximal Policy Optimization Algorithms" (2017), equation (7):
    :math:`-\min(\rho_t A_t, \mathrm{clip}(\rho_t, 1 - \epsilon, 1 + \epsilon) A_t)` with
    :math:`\rho_t = \pi(z_t) / \pi_{behavior}(z_t)`; advantages are standardised over the batch.

    Arguments:
        clip: how far the ratio of probabilities may move from 1, the paper's epsilon.
        updates: parameter updates per rollout.
    """

    clip: Positive = 0.2
    updates: Count = 4

    def losses(self, decisions: Decisions, rewards: Tensor) -> Tensor:
        """The loss of each step, ``(S,)``; see :class:`PolicyObjective`."""
        scores, values = decisions.behavior or (
            decisions.scores.detach(),
            decisions.values.detach(),
        )
        advantage = self.advantages(decisions, rewards, values)
        normal = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)
        ratio = (
            _log_p(decisions.scores, decisions.actions) - _log_p(scores, decisions.actions)
        ).exp()
        clipped = ratio.clamp(1.0 - self.clip, 1.0 + self.clip)
        losses = -torch.minimum(ratio * normal, clipped * normal)
        return losses + self.regularization(decisions, advantage + values)


@checked
@dataclass(frozen=True)
class QLearning:
    r"""Deep Q-learning: the scores are the values Q of the operations.

    Mnih et al., "Playing Atari with Deep Reinforcement Learning" (2013), equation (2): the loss is
    :math:`(r_t + \gamma \max_{z'} Q_{t+1}(z') - Q_t(z_t))^2`, in which the first two terms are
    constants. Sentences in the replay memory (:class:`Replay`) are used again.

    Arguments:
        discount: factor gamma by which a reward counts less, a step earlier.
        epsilon: probability that an operation is drawn evenly from the legal ones.
        replay: sentences in the replay memory; 0 for none.
    """

    discount: Share = 0.99
    epsilon: Share = 0.1
    replay: NonNegativeInt = 10_000

    @property
    def updates(self) -> int:
        """The number of parameter updates per rollout: 1."""
        return 1

    def choose(self, scores: Tensor) -> Tensor:
        """Choose actions, ``(n,)``: the highest score, or with ``epsilon`` a random one."""
        is_legal = (scores > ILLEGAL / 2).to(scores.dtype)
        random = torch.multinomial(is_legal, 1)[:, 0]
        explores = torch.rand_like(scores[:, 0]) < self.epsilon
        return torch.where(explores, random, scores.argmax(1))

    def losses(self, decisions: Decisions, rewards: Tensor) -> Tensor:
        """The loss of each step, ``(S,)``; see :class:`PolicyObjective`."""
        best = decisions.scores.detach().max(1).values
        ends = lasts(decisions.sizes).to(best.device)
        end = decisions.bootstrap
        after_end = best.new_zeros(len(ends)) if end is None else end.scores.max(1).values
        best_next = torch.cat([best[1:], best[:1]]).index_copy(0, ends, after_end)
        q = decisions.scores.gather(1, decisions.actions[:, None])[:, 0]
        return F.mse_loss(q, rewards + self.discount * best_next, reduction="none")


OBJECTIVES: Mapping[str, type[PolicyObjective]] = {
    "reinforce": Reinforce,
    "a2c": ActorCritic,
    "ppo": PPO,
    "dqn": QLearning,
}
"""The objectives by name."""


def _log_p(scores: Tensor, actions: Tensor) -> Tensor:
    """The log-probabilities of actions, ``(S,)``."""
    return torch.log_softmax(scores, 1).gather(1, actions[:, None])[:, 0]
