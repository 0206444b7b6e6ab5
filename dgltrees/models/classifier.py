"""A predictor for trees, nodes and pairs of trees, over any encoder."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.models.heads import Head
from dgltrees.trees.batch import TreeBatch


class Classifier(nn.Module):
    """An encoder, a readout and a head.

    The readout selects the rows to predict: every tree or sentence (:class:`~dgltrees.models.Root`,
    ``Mean``, ``Attention``) or every node (:class:`~dgltrees.models.EveryNode`). A head of arity 2
    predicts pairs of adjacent trees of a batch.

    Arguments:
        encoder: maps a batch to an :class:`~dgltrees.models.Encoding`, or to an encoding of pairs.
        readout: maps the encoding to ``(R, c)`` vectors.
        head: maps vectors to logits and predictions.
        features: maps a batch to ``(R, f)`` features, which are appended to the vectors.

    Shapes:
        ``E = R / arity`` examples; logits are ``(E, classes)``.

    Example:
        >>> from dgltrees.cells import ChildSumTreeLSTM
        >>> from dgltrees.models import MLP, Classifier, Root, TreeEncoder, WordEmbedding
        >>> from dgltrees.trees.builders import from_nested
        >>> batch = from_nested(("+", "1", "2"), "3", form="head").batch()
        >>> encoder = TreeEncoder(WordEmbedding("label", rows=4, size=8), ChildSumTreeLSTM(8, 16))
        >>> Classifier(encoder, Root(), MLP(16, classes=3))(batch).shape
        torch.Size([2, 3])
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
        """Return the input of the head: the vectors and features of a batch, ``(R, c + f)``."""
        z = self.readout(self.encoder(batch))
        return z if self.features is None else torch.cat([z, self.features(batch).to(z)], 1)

    def forward(self, batch: Any, targets: Tensor | None = None) -> Tensor:
        """Return the logits, ``(E, classes)``, or with targets ``(E,)`` the losses, ``(E,)``."""
        z = self.vectors(batch)
        return self.head(z) if targets is None else self.head.nll(z, targets)

    def outputs(self, batch: TreeBatch, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return losses of the targets, predictions and their probabilities, each ``(E,)``."""
        z = self.vectors(batch)
        return self.head.nll(z, targets), *self.head.predict(z)
