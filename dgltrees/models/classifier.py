"""One classifier for trees, nodes and pairs, over any encoder."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.models.heads import Head
from dgltrees.trees.batch import TreeBatch


class Classifier(nn.Module):
    """A classifier made of an encoder, a readout and a head.

    Readout and head decide what is classified: every tree or sentence
    (:class:`~dgltrees.models.Root`, ``Mean``, ``Attention``), every node
    (:class:`~dgltrees.models.EveryNode`), or every pair of adjacent trees of a batch (a head of
    arity 2).

    Arguments:
        encoder: maps a batch to an :class:`~dgltrees.models.Encoding`, or for pairs to one of
            pairs.
        readout: maps the encoding to ``(R, c)`` vectors.
        head: maps vectors to logits and predictions.
        features: maps a batch to ``(R, f)`` features, which are appended to the vectors.

    Shapes:
        ``E = R / arity`` examples; logits are ``(E, classes)``.
    """

    def __init__(
        self,
        encoder: nn.Module,
        readout: nn.Module,
        head: Head,
        *,
        features: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.encoder, self.readout, self.head = encoder, readout, head
        self.features = features

    def vectors(self, batch: Any) -> Any:
        """The input of the head for a batch: vectors with their features, ``(R, c + f)``."""
        z = self.readout(self.encoder(batch))
        return z if self.features is None else torch.cat([z, self.features(batch).to(z)], 1)

    def forward(self, batch: Any, targets: Tensor | None = None) -> Tensor:
        """The logits, ``(E, classes)``; if targets ``(E,)`` are given, the losses, ``(E,)``."""
        z = self.vectors(batch)
        logits_or_losses: Tensor = self.head(z) if targets is None else self.head.nll(z, targets)
        return logits_or_losses

    def outputs(self, batch: TreeBatch, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The losses of the targets, the predictions and their probabilities, each ``(E,)``."""
        z = self.vectors(batch)
        return self.head.nll(z, targets), *self.head.predict(z)
