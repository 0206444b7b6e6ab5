"""LSTMs over sentences: one vector a sentence, the baseline of models that make trees of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence

from dgltrees.cells.top_down import uniform
from dgltrees.models.inputs import NodeInput
from dgltrees.trees.batch import TreeBatch

__all__ = ["SequenceEncoder"]


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
        inputs: NodeInput,
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
        packed = pack_sequence(list(x.split_with_sizes(batch.sizes.tolist())), enforce_sorted=False)
        _, (last, _) = self.lstm(packed)  # (layers * directions, T, c)
        return torch.cat(list(last[-self.directions :]), 1)
