"""Classifiers whose encoder has a policy, which learns from rewards; and a head for numbers."""

from __future__ import annotations

from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dgltrees.cells.lstm_state import lstm
from dgltrees.models.classifier import Classifier
from dgltrees.models.heads import Head, wide
from dgltrees.papers.rrnet.models.encoder import RRNetEncoder, RRNetEncoding
from dgltrees.papers.rrnet.models.sequences import Rollout
from dgltrees.settings import Count, NonNegative, checked
from dgltrees.trees.batch import TreeBatch

Reward = Literal["accuracy", "likely", "log_likelihood"]
"""The rewards of a policy; see :class:`PolicyClassifier`."""


@checked
class PolicyClassifier(Classifier):
    """A classifier over an encoder with a policy.

    Jacob et al. (2018), section 2: the policy learns from the reward of the prediction, all other
    parameters from the likelihood of the target; those below the policy from both, unless the
    policy detaches its input.

    Arguments:
        encoder: a recurrent-recursive network with a policy.
        readout: from the encoding to a vector per sentence.
        head: from vectors to predictions.
        reward: 1 for the right prediction (``"accuracy"``), 1 for a target with a probability above
            one half (``"likely"``, in public code of the paper), or the log-probability of the
            target (``"log_likelihood"``).
        weight: weight of the policy's loss; that of the head has weight 1.

    Raises:
        ConfigError: the reward is unknown.
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
        """Compute the logits of the head or, with targets, the losses of head and policy."""
        if targets is None:
            return super().forward(batch)
        encoding = self.encoder(batch)
        z = self.readout(encoding)
        nll, arity = self.head.nll(z, targets), self.head.arity
        rewards = self._rewards(z, nll, targets)
        losses = self.encoder.decision_losses(encoding, rewards)
        return nll + self.weight * losses.view(-1, arity).sum(1)

    @torch.no_grad()
    def _rewards(self, z: Tensor, nll: Tensor, targets: Tensor) -> Tensor:
        """Return the reward of every sentence, ``(T,)``, which is that of its example."""
        if self.reward == "accuracy":
            rewards = (self.head.predict(z)[0] == targets).to(nll.dtype)
        elif self.reward == "likely":
            rewards = (torch.exp(-nll) > 0.5).to(nll.dtype)
        else:
            rewards = -nll
        return rewards.repeat_interleave(self.head.arity)


class StateAndMemory(nn.Module):
    """The last state and the last memory of each sentence, ``(T, 2 d)``."""

    def forward(self, encoding: RRNetEncoding) -> Tensor:
        """Return the vectors of an encoding with memories."""
        assert encoding.memories is not None
        return torch.cat([encoding.roots, encoding.memories], 1)


BASE = 10


class NumberDecoder(Head):
    r"""An LSTM that generates a number digit by digit, the highest first.

    Jacob et al. (2018), section 3.1: the encoding is the initial hidden state. The text does not
    say whether the memory c is a part of it; by default c is zero. The input of a step is the
    previous digit, in training the true one, in prediction the most probable one.

    Arguments:
        size: d, the size of the decoder's state.
        digits: the number of digits.
        memory: encodings are the initial h and c.

    Shapes:
        encodings ``(E, d)``, with memory ``(E, 2 d)``; numbers ``(E,)`` int64 from 0 to
        ``10 ** digits - 1``.
    """

    def __init__(self, size: int, digits: Count = 2, *, memory: bool = False) -> None:
        super().__init__()
        self.digits, self.memory = digits, memory
        self.read = nn.Embedding(BASE + 1, 4 * size)  # W x + b of each digit, and of the beginning
        self.U = nn.Linear(size, 4 * size, bias=False)
        self.output = nn.Linear(size, BASE)
        bound = size**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def nll(self, z: Tensor, targets: Tensor) -> Tensor:
        """Return the negative log-likelihood of the targets, summed over their digits, ``(E,)``."""
        powers = [BASE**place for place in reversed(range(self.digits))]
        h, c = self._start(z)
        before, losses = torch.full_like(targets, BASE), torch.zeros_like(z[:, 0])
        for digit in (targets // power % BASE for power in powers):
            h, c = self._step(before, h, c)
            losses = losses + F.cross_entropy(wide(self.output(h)), digit, reduction="none")
            before = digit
        return losses

    def predict(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return the numbers and the products of their digits' probabilities, each ``(E,)``."""
        h, c = self._start(z)
        before = torch.full((len(z),), BASE, device=z.device)
        number, log_p = torch.zeros_like(before), torch.zeros_like(z[:, 0])
        for _ in range(self.digits):
            h, c = self._step(before, h, c)
            likeliest = torch.log_softmax(wide(self.output(h)), 1).max(1)
            before = likeliest.indices
            number, log_p = number * BASE + before, log_p + likeliest.values
        return number, log_p.exp()

    def _start(self, z: Tensor) -> tuple[Tensor, Tensor]:
        h, c = z.chunk(2, 1) if self.memory else (z, torch.zeros_like(z))
        return h, c

    def _step(self, digit: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        return lstm(self.read(digit) + self.U(h), c)
