"""What is said of encodings: a class of each, or of each two."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["ClassAnswer", "PairAnswer"]


class ClassAnswer(nn.Module):
    """A class for every sentence.

    Arguments:
        head: ``(T, d)`` to ``(T, classes)``.
    """

    arity = 1

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    def logits(self, z: Tensor) -> Tensor:
        """``(E, classes)``."""
        made: Tensor = self.head(z)
        return made

    def nll(self, z: Tensor, targets: Tensor) -> Tensor:
        """``(E,)``; 0 where the target is -1."""
        return F.cross_entropy(self.logits(z).float(), targets, ignore_index=-1, reduction="none")

    def best(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """``(E,)`` the likeliest class and its probability."""
        probability, prediction = torch.softmax(self.logits(z).float(), -1).max(-1)
        return prediction, probability


class PairAnswer(ClassAnswer):
    """A class for every two sentences that follow each other.

    Arguments:
        head: ``(E, d)`` twice to ``(E, classes)``.
    """

    arity = 2

    def logits(self, z: Tensor) -> Tensor:
        """``(E, classes)`` of ``(2 E, d)``."""
        made: Tensor = self.head(z[0::2], z[1::2])
        return made
