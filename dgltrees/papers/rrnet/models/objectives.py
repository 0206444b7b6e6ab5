"""The objectives of a policy that learns from rewards: REINFORCE and Q-learning.

The fields of the dataclasses are the settings of an objective. In training, the objective chooses
the operations from the scores; in evaluation, the operation with the highest score is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from dgltrees.papers.rrnet.models.policy import ILLEGAL, Decisions
from dgltrees.settings import Count, NonNegative, NonNegativeInt, Share, checked
from dgltrees.trees.segments import lasts, mask_of


class PolicyObjective(Protocol):
    """An objective of a policy: it chooses operations in training and computes their loss."""

    @property
    def replay(self) -> int:
        """Return the number of sentences in the replay memory; 0 for none."""
        ...

    def choose(self, scores: Tensor) -> Tensor:
        """Choose actions, ``(n,)``, for scores ``(n, 3)``, with exploration."""
        ...

    def losses(self, decisions: Decisions, rewards: Tensor) -> Tensor:
        """Compute the loss of each step, ``(S,)``.

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

    @property
    def replay(self) -> int:
        """Return 0; there is no replay memory."""
        return 0

    def choose(self, scores: Tensor) -> Tensor:
        """Sample actions, ``(n,)``, from the policy with the scores ``(n, 3)``."""
        waiting = torch.empty_like(scores).exponential_()
        waiting.clamp_(min=torch.finfo(scores.dtype).tiny)
        return (scores - waiting.log_()).argmax(1)  # the first event, at rates exp(scores)

    def losses(self, decisions: Decisions, rewards: Tensor) -> Tensor:
        """Compute the loss of each step, ``(S,)``; see :class:`PolicyObjective`."""
        values, end = decisions.values.detach(), decisions.bootstrap
        after_end = None if end is None else end.values
        advantage = advantages(rewards, values, decisions.sizes, self.discount, after_end)
        nll = F.cross_entropy(decisions.scores, decisions.actions, reduction="none")
        log_p = torch.log_softmax(decisions.scores, 1)
        entropy = -(log_p.exp() * log_p).sum(1)
        error = F.mse_loss(decisions.values, advantage + values, reduction="none")
        return advantage * nll + (self.value * error - self.entropy * entropy)


@checked
@dataclass(frozen=True)
class QLearning:
    r"""Deep Q-learning, where the scores are the values Q of the operations.

    Mnih et al., "Playing Atari with Deep Reinforcement Learning" (2013), equation (2): the loss is
    :math:`(r_t + \gamma \max_{z'} Q_{t+1}(z') - Q_t(z_t))^2`, in which the first two terms are
    constants. Sentences in the replay memory (:class:`Replay`) are used again.

    Arguments:
        discount: factor gamma of a reward for each earlier step.
        epsilon: probability that an operation is drawn uniformly from the legal ones.
        replay: sentences in the replay memory; 0 for none.
    """

    discount: Share = 0.99
    epsilon: Share = 0.1
    replay: NonNegativeInt = 10_000

    def choose(self, scores: Tensor) -> Tensor:
        """Choose actions, ``(n,)``: the highest score, or with ``epsilon`` a random one."""
        is_legal = (scores > ILLEGAL / 2).to(scores.dtype)
        random = torch.multinomial(is_legal, 1)[:, 0]
        explores = torch.rand_like(scores[:, 0]) < self.epsilon
        return torch.where(explores, random, scores.argmax(1))

    def losses(self, decisions: Decisions, rewards: Tensor) -> Tensor:
        """Compute the loss of each step, ``(S,)``; see :class:`PolicyObjective`."""
        best = decisions.scores.detach().max(1).values
        ends = lasts(decisions.sizes).to(best.device)
        end = decisions.bootstrap
        after_end = best.new_zeros(len(ends)) if end is None else end.scores.max(1).values
        best_next = torch.cat([best[1:], best[:1]]).index_copy(0, ends, after_end)
        q = decisions.scores.gather(1, decisions.actions[:, None])[:, 0]
        return F.mse_loss(q, rewards + self.discount * best_next, reduction="none")


OBJECTIVES: Mapping[str, type[PolicyObjective]] = {"reinforce": Reinforce, "dqn": QLearning}
"""The objectives by name."""


def advantages(
    rewards: Tensor, values: Tensor, sizes: Tensor, discount: float, after_end: Tensor | None = None
) -> Tensor:
    r"""Compute the advantage of each step, its discounted return minus its value, ``(S,)``.

    It is summed backwards from the errors of one step, :math:`A_t = \delta_t + \gamma A_{t+1}` with
    :math:`\delta_t = r_t + \gamma V_{t+1} - V_t`.

    Arguments:
        rewards, values: ``(S,)``, sequence after sequence.
        sizes: ``(T,)`` int64 on the CPU, the number of steps of each sequence, at least 1.
        discount: the factor gamma.
        after_end: ``(T,)`` the value of the state after the last step of each sequence; without it,
            sequences end with their last step, and the value after it is 0.
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


class Trajectories(NamedTuple):
    """The operations and rewards of T sentences, one sentence after the other.

    Attributes:
        tokens: ``(S,)``, the ids of the tokens.
        operations: ``(S,)``, the operation at each token.
        rewards: ``(S,)``, the reward after each operation.
        sizes: ``(T,)`` int64 on the CPU, the number of tokens of each sentence.
    """

    tokens: Tensor
    operations: Tensor
    rewards: Tensor
    sizes: Tensor


@checked
class Replay(nn.Module):
    """A replay memory of the trajectories of the last sentences.

    Mnih et al., "Playing Atari with Deep Reinforcement Learning" (2013), section 4. They are part
    of the module's state, so that a resumed run keeps them.

    Arguments:
        capacity: the number of sentences; older ones are dropped.

    Raises:
        ConfigError: the capacity is not positive.
    """

    def __init__(self, capacity: Count) -> None:
        super().__init__()
        self.capacity = capacity
        self.table = torch.zeros(0, 0, 3, dtype=torch.float64)  # (R, L, 3), oldest first
        self.lengths = torch.zeros(0, dtype=torch.long)  # (R,)

    def __len__(self) -> int:
        return len(self.lengths)

    def add(self, new: Trajectories) -> None:
        """Add sentences; beyond the capacity the oldest are dropped."""
        flat = torch.stack([column.detach().cpu().double() for column in new[:3]], 1)  # (S, 3)
        rows = nn.utils.rnn.pad_sequence(
            list(flat.split_with_sizes(new.sizes.tolist())), batch_first=True
        )
        longest = max(rows.shape[1], self.table.shape[1])
        table = torch.cat([_padded(self.table, longest), _padded(rows, longest)])
        self.table = table[-self.capacity :].clone()
        self.lengths = torch.cat([self.lengths, new.sizes])[-self.capacity :]

    def draw(self, count: int, device: torch.device) -> Trajectories | None:
        """Draw at most ``count`` different sentences uniformly; None if the memory is empty."""
        if not len(self):
            return None
        chosen = torch.randperm(len(self))[:count]
        sizes = self.lengths[chosen]
        mask = mask_of(sizes, self.table.shape[1])
        tokens, operations, rewards = self.table[chosen][mask].to(device).unbind(1)
        return Trajectories(tokens.long(), operations.long(), rewards, sizes)

    def get_extra_state(self) -> Tensor:
        """Return the lengths and the table, ``(R, 3 L + 1)``."""
        return torch.cat([self.lengths[:, None].double(), self.table.flatten(1)], 1)

    def set_extra_state(self, state: Tensor) -> None:
        """Restore the result of :meth:`get_extra_state`."""
        state = state.cpu()
        self.lengths = state[:, 0].long()
        self.table = state[:, 1:].reshape(len(state), -1, 3) if len(state) else self.table[:0]


def _padded(table: Tensor, length: int) -> Tensor:
    """Pad rows with zeros to a length."""
    return nn.functional.pad(table, (0, 0, 0, length - table.shape[1]))
