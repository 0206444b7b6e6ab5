"""From what encoders make of one sentence or two to logits."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor, nn

from dgltrees.models.mlp import MLP

__all__ = ["PairHead", "pair_features"]

HIDDEN = 1024
"""Units of the hidden layer in the paper."""


def pair_features(p: Tensor, h: Tensor) -> Tensor:
    """``(T, 4 c)`` of two times ``(T, c)``: [p; h; \\|p - h\\|; p * h], both roots compared."""
    return torch.cat([p, h, (p - h).abs(), p * h], 1)


class PairHead(nn.Module):
    """Logits of two vectors, by an MLP over :func:`pair_features`.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 4.1: 1024
    units with ReLU, then a softmax layer; with one class, a sigmoid, equation (20).

    Arguments:
        size: c.
        classes: number of logits.
        hidden: units of the hidden layer.
        extra: number of features besides the two vectors.
        dropout: probability of dropout before each of the two layers.
        init: ``"kaiming"`` (normal), ``"xavier"`` or ``"uniform"``.
    """

    def __init__(
        self,
        size: int,
        classes: int,
        *,
        hidden: int = HIDDEN,
        extra: int = 0,
        dropout: float = 0.0,
        init: str = "kaiming",
    ) -> None:
        super().__init__()
        self.mlp = MLP(4 * size + extra, classes, [hidden], dropout=dropout, init=init)

    def forward(self, p: Tensor, h: Tensor, extra: Optional[Tensor] = None) -> Tensor:
        """``(T, classes)`` logits of ``(T, c)`` twice, and ``(T, extra)`` more features."""
        features = pair_features(p, h)
        if extra is not None:
            features = torch.cat([features, extra], 1)
        logits: Tensor = self.mlp(features)
        return logits
