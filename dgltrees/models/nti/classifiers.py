"""NTI-SLSTM and NTI-SLSTM-LSTM: what the roots alone tell of a sentence, or of two."""

from __future__ import annotations

from torch import Tensor, nn

from dgltrees.models.nti.encoder import NTIEncoder
from dgltrees.models.nti.encoding import Encoding
from dgltrees.models.nti.heads import PairHead
from dgltrees.models.nti.sentences import Sentences, pairs
from dgltrees.trees.batch import TreeBatch

__all__ = ["NTIClassifier", "NTIPairClassifier"]


class NTIClassifier(nn.Module):
    """A class for every sentence, Table 3 of Munkhdalai and Yu (EACL 2017).

    Arguments:
        inputs: gives every token its vector: ``(S, k)`` of a batch with S nodes.
        encoder: makes trees over the tokens.
        head: makes ``(T, classes)`` logits of ``(T, c)``.
    """

    def __init__(self, inputs: nn.Module, encoder: NTIEncoder, head: nn.Module) -> None:
        super().__init__()
        self.input, self.encoder, self.head = inputs, encoder, head

    def encode(self, batch: TreeBatch) -> Encoding:
        """The states of all nodes over the sentences of a batch, whose nodes are tokens."""
        encoding: Encoding = self.encoder(Sentences(self.input(batch), batch.sizes))
        return encoding

    def forward(self, batch: TreeBatch) -> Tensor:
        """``(T, classes)`` logits of the sentences of a batch, whose nodes are tokens."""
        logits: Tensor = self.head(self.encode(batch).roots)
        return logits


class NTIPairClassifier(nn.Module):
    """A relation for every pair of sentences, Table 1 of Munkhdalai and Yu (EACL 2017).

    One encoder for both; a batch holds the two sentences of a pair one after the other.

    Arguments:
        inputs: gives every token its vector: ``(S, k)`` of a batch with S nodes.
        encoder: makes trees over the tokens.
        head: compares the roots.
    """

    def __init__(self, inputs: nn.Module, encoder: NTIEncoder, head: PairHead) -> None:
        super().__init__()
        self.input, self.encoder, self.head = inputs, encoder, head

    def forward(self, batch: TreeBatch) -> Tensor:
        """``(T / 2, classes)`` logits of all pairs.

        Raises:
            TreeError: the number of sentences is odd.
        """
        premise, hypothesis = (self.encoder(each) for each in pairs(self.input(batch), batch))
        logits: Tensor = self.head(premise.roots, hypothesis.roots)
        return logits
