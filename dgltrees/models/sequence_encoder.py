"""LSTMs over sentences: the baseline of encoders that build trees."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, pad_sequence

from dgltrees.cells.initial import uniform
from dgltrees.models.encoding import Encoder, Encoding
from dgltrees.models.inputs import Input
from dgltrees.settings import Count, Fraction, Options, checked
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import starts, within

__all__ = ["SequenceEncoder"]


@checked
class SequenceEncoder(Encoder):
    """An LSTM over the words of a sentence, or two LSTMs in both directions.

    The vector of a sentence is the state after its last word; with two directions, both last
    states. Batches hold the words of every sentence in order; edges are not used.

    Arguments:
        inputs: gives every word its vector.
        hidden_size: c, the size of a state per direction.
        dropout: probability of dropout on the inputs and between the layers.
        layers: number of layers.
        bidirectional: run a second LSTM from the last word to the first.

    Attributes:
        size: the size of a state, c per direction.
    """

    hidden: ClassVar[tuple[str, ...]] = ("inputs", "bidirectional")

    def __init__(
        self,
        inputs: Input,
        hidden_size: Count,
        *,
        dropout: Fraction = 0.0,
        layers: Count = 1,
        bidirectional: bool = False,
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

    @staticmethod
    def display_name(model: Options) -> str:
        """LSTM."""
        return "LSTM"

    def forward(self, batch: TreeBatch) -> Encoding:
        """Encode all words and sentences of a batch."""
        x = self.dropout(self.input(batch))
        sentences = x.split_with_sizes(batch.sizes.tolist())
        tree, step = batch.tree_of_node, within(batch.sizes).to(batch.device)
        if self.directions == 1:  # torch is faster on what is not packed
            h: Tensor = self.lstm(pad_sequence(list(sentences)))[0]  # (L, T, c)
            last = h[batch.sizes.to(x.device) - 1, torch.arange(len(sentences))]
            return Encoding(batch, h[step, tree], vectors=last)
        packed = pack_sequence(list(sentences), enforce_sorted=False)
        states, (h, _) = self.lstm(packed)  # h: (layers * directions, T, c)
        first_row = starts(packed.batch_sizes)  # of each step
        rank = packed.unsorted_indices
        assert rank is not None
        row = first_row.to(x.device)[step] + rank[tree]
        vectors = torch.cat(list(h[-self.directions :]), 1)
        return Encoding(batch, states.data.index_select(0, row), vectors=vectors)
