"""A head that generates numbers digit by digit."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dgltrees.cells.lstm_state import lstm
from dgltrees.models.heads import Head, wide
from dgltrees.settings import Count, checked

__all__ = ["NumberDecoder"]

BASE = 10


@checked
class NumberDecoder(Head):
    r"""An LSTM that generates a number digit by digit, the highest first.

    Jacob et al. (2018), section 3.1: the encoding is its initial state h, its memory is zero, and
    the input of a step is the previous digit: in training the true one, in prediction the
        likeliest.

    Arguments:
        size: d, of an encoding and of the decoder's state.
        digits: the number of digits.

    Shapes:
        encodings ``(E, d)``, numbers ``(E,)`` int64 from 0 to ``10 ** digits - 1``.
    """

    def __init__(self, size: int, digits: Count = 2) -> None:
        super().__init__()
        self.digits = digits
        self.read = nn.Embedding(BASE + 1, 4 * size)  # W x + b of each digit, and of the beginning
        self.U = nn.Linear(size, 4 * size, bias=False)
        self.output = nn.Linear(size, BASE)
        bound = size**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def nll(self, z: Tensor, targets: Tensor) -> Tensor:
        """The negative log-likelihood of the targets, summed over their digits, ``(E,)``."""
        powers = [BASE**place for place in reversed(range(self.digits))]
        h, c = z, torch.zeros_like(z)
        before, losses = torch.full_like(targets, BASE), torch.zeros_like(z[:, 0])
        for digit in (targets // power % BASE for power in powers):
            h, c = self._step(before, h, c)
            losses = losses + F.cross_entropy(wide(self.output(h)), digit, reduction="none")
            before = digit
        return losses

    def predict(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """The numbers and the products of their digits' probabilities, each ``(E,)``."""
        h, c = z, torch.zeros_like(z)
        before = torch.full((len(z),), BASE, device=z.device)
        number, log_p = torch.zeros_like(before), torch.zeros_like(z[:, 0])
        for _ in range(self.digits):
            h, c = self._step(before, h, c)
            likeliest = torch.log_softmax(wide(self.output(h)), 1).max(1)
            before = likeliest.indices
            number, log_p = number * BASE + before, log_p + likeliest.values
        return number, log_p.exp()

    def _step(self, digit: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        return lstm(self.read(digit) + self.U(h), c)
