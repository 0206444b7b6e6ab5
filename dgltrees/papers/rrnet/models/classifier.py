"""Classifiers whose encoder has a policy, which learns from rewards."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from dgltrees.models.classifier import Classifier
from dgltrees.models.heads import Head
from dgltrees.papers.rrnet.models.encoder import RRNetEncoder
from dgltrees.papers.rrnet.models.rollout import Rollout
from dgltrees.settings import NonNegative, checked
from dgltrees.trees.batch import TreeBatch

__all__ = ["PolicyClassifier", "Reward"]

Reward = Literal["accuracy", "likely", "log_likelihood"]
"""The rewards of a policy; see :class:`PolicyClassifier`."""


@checked
class PolicyClassifier(Classifier):
    """A classifier over an encoder with a policy.

    Jacob et al. (2018), section 2: the policy learns from the reward of the prediction, all other
    parameters from the likelihood of the target.

    Arguments:
        encoder: a recurrent-recursive network with a policy.
        readout: from the encoding to a vector per sentence.
        head: from vectors to predictions.
        reward: 1 for the right prediction (``"accuracy"``), or for a target with a probability
            above one half (``"likely"``, public code of the paper), or the target's
            ``"log_likelihood"``.
        weight: of the policy's loss; that of the head has weight 1.

    Raises:
        ConfigError: there is no such reward.
    """

    encoder: RRNetEncoder

    def __init__(
        self,
        encoder: RRNetEncoder,
        readout: nn.Module,
        head: Head,
        *,
        reward: Reward = "accuracy",
        weight: NonNegative = 1.0,
    ) -> None:
        super().__init__(encoder, readout, head)
        self.reward, self.weight = reward, weight

    def rollout(self, batch: TreeBatch) -> Rollout:
        """Decide the operations of sentences."""
        return self.encoder.rollout(batch)

    def forward(self, batch: Any, targets: Tensor | None = None) -> Tensor:
        """The logits of the head; if targets are given, the losses of head and policy.

        Arguments:
            batch: sentences, or their :meth:`rollout`.
            targets: ``(E,)``, the classes.
        """
        if targets is None:
            return super().forward(batch)
        encoding = self.encoder(batch)
        z = self.readout(encoding)
        nll, arity = self.head.nll(z, targets), self.head.arity
        rewards = self._rewards(z, nll, targets)
        losses = self.encoder.decision_losses(encoding, rewards)
        replayed = self.encoder.replay_loss(encoding, rewards) if self.training else 0.0
        return nll + self.weight * (losses.view(-1, arity).sum(1) + arity * replayed)

    @torch.no_grad()
    def _rewards(self, z: Tensor, nll: Tensor, targets: Tensor) -> Tensor:
        """The reward of every sentence, ``(T,)``, which is that of its example."""
        if self.reward == "accuracy":
            rewards = (self.head.predict(z)[0] == targets).to(nll.dtype)
        elif self.reward == "likely":
            rewards = (torch.exp(-nll) > 0.5).to(nll.dtype)
        else:
            rewards = -nll
        return rewards.repeat_interleave(self.head.arity)
