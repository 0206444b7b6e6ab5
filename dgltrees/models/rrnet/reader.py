"""Something read from left to right, and an answer: what learns to answer and to decide at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Union

import torch
from torch import Tensor, nn

from dgltrees.errors import ConfigError
from dgltrees.models.rrnet.encoder import RRNetEncoder
from dgltrees.models.rrnet.readings import Reading, Rollout
from dgltrees.models.sequence_encoder import SequenceEncoder
from dgltrees.models.transformer_encoder import TransformerEncoder
from dgltrees.trees.batch import TreeBatch

__all__ = ["REWARDS", "Answer", "SequenceReader"]

REWARDS = ("accuracy", "likely", "log_likelihood")


class Answer(Protocol):
    """A module that answers from encodings; ``arity`` sentences make one example."""

    arity: int

    def nll(self, z: Tensor, targets: Tensor) -> Tensor:
        """``(E,)`` negative log-likelihood of the right answers, of ``(E * arity, d)``."""
        ...

    def best(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """``(E,)`` the answers, and their probabilities."""
        ...


class SequenceReader(nn.Module):
    """Reads sentences and answers.

    Jacob et al. (2018), section 2: the policy learns from the reward that the answer brings, the
    rest from the likelihood of the right answer. Where an agent learns more than once from a
    rollout, answers are learned the first time, and the rewards are those of then.

    Arguments:
        encoder: a recurrent-recursive network, or what stands beside it.
        answer: what is said of the encodings.
        reward: 1 for the right answer (``"accuracy"``), or for one with a probability above one
            half (``"likely"``, public code of the paper), or its ``"log_likelihood"``.
        weight: of the policy's loss beside the answer's.

    Raises:
        ConfigError: there is no such reward.
    """

    def __init__(
        self,
        encoder: Union[RRNetEncoder, SequenceEncoder, TransformerEncoder],
        answer: nn.Module,
        *,
        reward: str = "accuracy",
        weight: float = 1.0,
    ) -> None:
        super().__init__()
        if reward not in REWARDS:
            raise ConfigError(f"expected reward to be one of {', '.join(REWARDS)}, got {reward!r}")
        self.encoder, self.answer, self.reward, self.weight = encoder, answer, reward, weight

    @property
    def updates(self) -> int:
        """How often to learn from one rollout."""
        return self.encoder.updates if isinstance(self.encoder, RRNetEncoder) else 1

    def rollout(self, batch: TreeBatch) -> Union[TreeBatch, Rollout]:
        """What is decided before it is learned from; the batch itself where nothing is."""
        return self.encoder.rollout(batch) if isinstance(self.encoder, RRNetEncoder) else batch

    @torch.no_grad()
    def rollouts(self, batch: TreeBatch, targets: Tensor) -> Sequence[Union[TreeBatch, Rollout]]:
        """What is learned from a batch, one after the other.

        Answers are learned the first time, decisions each time, from the rewards of the beginning.
        """
        decided = self.rollout(batch)
        if self.updates == 1 or not isinstance(decided, Rollout):
            return [decided]
        reading = self.encoder(decided)
        rewards = self._rewards(reading.last, self._nll(reading.last, targets), targets)
        return [decided, *[reading.learned_again(decided, rewards)] * (self.updates - 1)]

    def forward(self, batch: Union[TreeBatch, Rollout], targets: Tensor) -> Tensor:
        """``(E,)`` what is learned to be small.

        Arguments:
            batch: sentences, or one of the :meth:`rollouts` of them.
            targets: ``(E,)`` the right answers.
        """
        if not isinstance(self.encoder, RRNetEncoder):
            return self._nll(self.encoder(batch), targets)
        reading = self.encoder(batch)
        if isinstance(batch, Rollout) and batch.rewards is not None:
            return self._decided(reading, batch.rewards)
        nll = self._nll(reading.last, targets)
        if reading.decisions is None:
            return nll
        return nll + self._decided(reading, self._rewards(reading.last, nll, targets))

    def _decided(self, reading: Reading, rewards: Tensor) -> Tensor:
        """``(E,)`` what the policy learns to make small, weighted."""
        encoder, arity = self.encoder, self._answer.arity
        assert isinstance(encoder, RRNetEncoder)
        decided = encoder.decision_losses(reading, rewards)
        again = encoder.again(reading, rewards) if self.training else 0.0
        return self.weight * (decided.view(-1, arity).sum(1) + arity * again)

    def outputs(self, batch: TreeBatch, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Loss of the right answer, answer and its probability, each ``(E,)``."""
        encoder = self.encoder
        z = encoder(batch).last if isinstance(encoder, RRNetEncoder) else encoder(batch)
        return self._nll(z, targets), *self._answer.best(z)

    @property
    def _answer(self) -> Answer:
        return self.answer  # type: ignore[return-value]

    def _nll(self, z: Tensor, targets: Tensor) -> Tensor:
        return self._answer.nll(z, targets)

    @torch.no_grad()
    def _rewards(self, z: Tensor, nll: Tensor, targets: Tensor) -> Tensor:
        """``(T,)``, of every sentence that of its answer."""
        if self.reward == "accuracy":
            earned = (self._answer.best(z)[0] == targets).to(nll.dtype)
        elif self.reward == "likely":
            earned = (torch.exp(-nll) > 0.5).to(nll.dtype)
        else:
            earned = -nll
        return earned.repeat_interleave(self._answer.arity)
