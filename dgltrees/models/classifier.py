"""One classifier for trees, nodes and pairs, over any encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

import torch
from torch import Tensor, nn

from dgltrees.models.heads import Head
from dgltrees.models.old_names import renamed
from dgltrees.trees.batch import TreeBatch

__all__ = ["Classifier"]


class Classifier(nn.Module):
    """An encoder, a readout and a head: from a batch to logits, losses and predictions.

    What is classified is the readout's choice and the head's: every tree or sentence
    (:class:`~dgltrees.models.Root`, ``Mean``, ``Attention``), every node
    (:class:`~dgltrees.models.EveryNode`), or every pair of trees, which a batch holds one after the
    other (a head of arity 2).

    Arguments:
        encoder: from a batch to an :class:`~dgltrees.models.Encoding`, or, of pairs, to an
            :class:`~dgltrees.models.EncodingPair`.
        readout: from what the encoder returns to ``(R, c)`` vectors.
        head: from vectors to predictions.
        features: from a batch to ``(R, f)`` more numbers, which follow each vector.

    Shapes:
        ``E = R / arity`` examples; logits are ``(E, classes)``.
    """

    def __init__(
        self,
        encoder: nn.Module,
        readout: nn.Module,
        head: Head,
        *,
        features: Optional[nn.Module] = None,
    ) -> None:
        super().__init__()
        self.encoder, self.readout, self.head = encoder, readout, head
        self.features = features

    def vectors(self, batch: Any) -> Any:
        """``(R, c + f)`` what the head reads of a batch."""
        z = self.readout(self.encoder(batch))
        return z if self.features is None else torch.cat([z, self.features(batch).to(z)], 1)

    def forward(self, batch: Any, targets: Optional[Tensor] = None) -> Tensor:
        """The logits of the head, ``(E, classes)``; with ``(E,)`` targets the ``(E,)`` losses."""
        z = self.vectors(batch)
        logits_or_losses: Tensor = self.head(z) if targets is None else self.head.nll(z, targets)
        return logits_or_losses

    def rollouts(self, batch: TreeBatch, targets: Tensor) -> Sequence[Any]:
        """What :meth:`forward` gets in place of the batch, one for each update: the batch, once."""
        return [batch]

    def outputs(self, batch: TreeBatch, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``(E,)`` each: the loss of the target, the prediction, and its probability."""
        z = self.vectors(batch)
        return self.head.nll(z, targets), *self.head.predict(z)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Load parameters, under the names of earlier versions too."""
        return super().load_state_dict(renamed(state_dict, self), strict, assign)
