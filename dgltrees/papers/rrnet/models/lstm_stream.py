"""An LSTM over windows of streams: the baseline of recurrent-recursive language models."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, unpack_sequence

from dgltrees.cells.initial import uniform
from dgltrees.models.encoding import Encoder
from dgltrees.models.inputs import NodeInput
from dgltrees.models.sequence_encoder import SequenceEncoder
from dgltrees.papers.rrnet.models.encoding import RRNetEncoding
from dgltrees.settings import Count, Fraction, checked
from dgltrees.trees.batch import TreeBatch

__all__ = ["LSTMStream", "LSTMWindow"]

State = tuple[Tensor, Tensor]
"""h and c, each ``(layers, B, d)``."""


class LSTMWindow(NamedTuple):
    """A window of each stream, and the state in which the windows start."""

    batch: TreeBatch
    start: State


@checked
class LSTMStream(Encoder):
    """An LSTM with the interface of :class:`~dgltrees.papers.rrnet.models.RRNetEncoder`.

    Dropout has one mask for all steps of a window.

    Arguments:
        inputs: gives every token its vector.
        hidden_size: d.
        dropout: probability of dropout on the inputs and between the layers.
        layers: number of layers.

    Attributes:
        size: d.
    """

    def __init__(
        self,
        inputs: NodeInput,
        hidden_size: Count,
        *,
        dropout: Fraction = 0.0,
        layers: Count = 1,
    ) -> None:
        super().__init__()
        self.input, self.size, self.dropout = inputs, hidden_size, dropout
        self.lstm = nn.LSTM(inputs.size, hidden_size, layers)
        uniform(self.lstm, hidden_size**-0.5)

    display_name = SequenceEncoder.display_name

    def initial_state(self, count: int) -> State:
        """The state before the first token of ``count`` streams: zeros."""
        like = self.lstm.all_weights[0][0]
        zero = like.new_zeros(self.lstm.num_layers, count, self.size)
        return zero, zero

    def rollout(self, batch: TreeBatch, start: State) -> LSTMWindow:
        """Pair the windows with the state in which they start; an LSTM decides nothing."""
        return LSTMWindow(batch, start)

    def forward(self, window: LSTMWindow) -> RRNetEncoding:
        """Encode a window of at least one token of each stream."""
        batch = window.batch
        x: Tensor = self.input(batch)
        if self.training and self.dropout:
            mask = nn.functional.dropout(x.new_ones(batch.num_trees, x.shape[1]), self.dropout)
            x = x * mask.index_select(0, batch.tree_of_node)
        sizes = batch.sizes.tolist()
        if min(sizes) == max(sizes):  # all windows but the last of a text; faster
            table = x.view(len(sizes), -1, x.shape[1]).transpose(0, 1)
            states, (h, c) = self.lstm(table, window.start)
            h_tokens = states.transpose(0, 1).flatten(0, 1)
        else:
            packed = pack_sequence(list(x.split_with_sizes(sizes)), enforce_sorted=False)
            states, (h, c) = self.lstm(packed, window.start)
            h_tokens = torch.cat(unpack_sequence(states))
        return RRNetEncoding(batch, h_tokens, vectors=h[-1], final=(h.detach(), c.detach()))
