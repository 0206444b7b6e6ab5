"""LSTMs over sentences, and what classifies by them: the baseline of models that make trees."""

from __future__ import annotations

from typing import Optional, Union

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, pad_sequence

from dgltrees.cells.top_down import uniform
from dgltrees.errors import TreeError
from dgltrees.models.inputs import GivenVectors, NodeInput
from dgltrees.models.nti.answers import word_counts
from dgltrees.models.nti.heads import PairHead
from dgltrees.models.transformer_encoder import TransformerEncoder
from dgltrees.trees.batch import TreeBatch

__all__ = ["SequenceClassifier", "SequenceEncoder", "SequencePairClassifier"]


class SequenceEncoder(nn.Module):
    """The last state of an LSTM, or the last states of two that read from either end.

    A batch has the words of every sentence one after the other; the edges do not matter.

    Arguments:
        inputs: gives every word its vector.
        hidden_size: c, of a direction.
        layers: of the LSTM.
        bidirectional: read backwards too.
        dropout: probability of dropout on the word vectors and between layers.

    Attributes:
        size: the size of an encoding, c for each direction.
    """

    def __init__(
        self,
        inputs: Union[NodeInput, GivenVectors],
        hidden_size: int,
        *,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.input, self.dropout = inputs, nn.Dropout(dropout)
        self.lstm = nn.LSTM(
            inputs.size,
            hidden_size,
            layers,
            bidirectional=bidirectional,
            dropout=dropout if layers > 1 else 0.0,
        )
        self.directions = 1 + bidirectional
        self.size = self.directions * hidden_size
        uniform(self.lstm)

    def forward(self, batch: TreeBatch) -> Tensor:
        """``(T, size)`` encodings of all sentences."""
        x = self.dropout(self.input(batch))
        sentences = x.split_with_sizes(batch.sizes.tolist())
        if self.directions == 1:  # torch is faster on what is not packed
            states: Tensor = self.lstm(pad_sequence(list(sentences)))[0]  # (L, T, c)
            return states[batch.sizes.to(x.device) - 1, torch.arange(len(sentences))]
        packed = pack_sequence(list(sentences), enforce_sorted=False)
        _, (last, _) = self.lstm(packed)  # (layers * directions, T, c)
        return torch.cat(list(last[-self.directions :]), 1)


class SequenceClassifier(nn.Module):
    """A class for every sentence.

    Arguments:
        encoder: gives every sentence a vector.
        head: makes logits of that.
    """

    def __init__(
        self, encoder: Union[SequenceEncoder, TransformerEncoder], head: nn.Module
    ) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(self, batch: TreeBatch) -> Tensor:
        """``(T, classes)`` logits of all sentences."""
        logits: Tensor = self.head(self.encoder(batch))
        return logits


class SequencePairClassifier(nn.Module):
    """A class for every pair of sentences; a batch holds the two of a pair one after the other.

    Arguments:
        encoder: gives every sentence a vector.
        head: compares two of them.
        shared: the word column that is 1 where the word stands in the other sentence too: the
            head then has the two features of :func:`~dgltrees.models.nti.word_counts`.
    """

    def __init__(
        self,
        encoder: Union[SequenceEncoder, TransformerEncoder],
        head: PairHead,
        *,
        shared: Optional[str] = None,
    ) -> None:
        super().__init__()
        self.encoder, self.head, self.shared = encoder, head, shared

    def forward(self, batch: TreeBatch) -> Tensor:
        """``(T / 2, classes)`` logits of all pairs.

        Raises:
            TreeError: the number of sentences is odd, or the column of shared words missing.
        """
        if batch.num_trees % 2:
            raise TreeError(f"expected pairs of sentences, got a batch of {batch.num_trees}")
        last = self.encoder(batch)  # (T, c)
        extra = None if self.shared is None else word_counts(batch, self.shared).to(last)
        logits: Tensor = self.head(last[0::2], last[1::2], extra)
        return logits
