"""An LSTM over windows of streams: what a recurrent-recursive network is compared with."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, unpack_sequence

from dgltrees.cells.top_down import uniform
from dgltrees.models.inputs import NodeInput
from dgltrees.trees.batch import TreeBatch

__all__ = ["LSTMReading", "LSTMStream", "LSTMWindow"]

State = tuple[Tensor, Tensor]
"""h and c, each ``(layers, B, d)``."""


@dataclass(frozen=True)
class LSTMWindow:
    """A window of each stream, and the state in which they begin."""

    batch: TreeBatch
    start: State


@dataclass(frozen=True)
class LSTMReading:
    """What windows have been read to.

    Attributes:
        along: ``(S, d)`` the state after each token.
        after: the state in which the windows end; no gradient leads back.
        decisions, operations: there are none.
    """

    along: Tensor
    after: State
    decisions: None = None
    operations: None = None


class LSTMStream(nn.Module):
    """An LSTM with the interface of :class:`~dgltrees.models.rrnet.RRNetEncoder`.

    Arguments:
        inputs: gives every token its vector.
        hidden_size: d.
        layers: of the LSTM.
        dropout: of the token vectors, with one mask for all steps of a window.

    Attributes:
        size: d.
        updates: how often to learn from one window.
    """

    updates = 1

    def __init__(
        self, inputs: NodeInput, hidden_size: int, *, layers: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.input, self.size, self.dropout = inputs, hidden_size, dropout
        self.lstm = nn.LSTM(inputs.size, hidden_size, layers)
        uniform(self.lstm, hidden_size**-0.5)

    def begin(self, count: int) -> State:
        """The state before the first token of ``count`` streams: zeros."""
        like = self.lstm.all_weights[0][0]
        zero = like.new_zeros(self.lstm.num_layers, count, self.size)
        return zero, zero

    def rollout(self, batch: TreeBatch, start: State) -> LSTMWindow:
        """The window, about which nothing is to be decided."""
        return LSTMWindow(batch, start)

    def forward(self, window: LSTMWindow) -> LSTMReading:
        """Read a window of at least one token of each stream."""
        batch = window.batch
        x: Tensor = self.input(batch)
        if self.training and self.dropout:
            mask = nn.functional.dropout(x.new_ones(batch.num_trees, x.shape[1]), self.dropout)
            x = x * mask.index_select(0, batch.tree_of_node)
        sizes = batch.sizes.tolist()
        if min(sizes) == max(sizes):  # all windows but the last of a text, and faster so
            read, (h, c) = self.lstm(
                x.view(len(sizes), -1, x.shape[1]).transpose(0, 1), window.start
            )
            return LSTMReading(read.transpose(0, 1).flatten(0, 1), (h.detach(), c.detach()))
        packed = pack_sequence(list(x.split_with_sizes(sizes)), enforce_sorted=False)
        states, (h, c) = self.lstm(packed, window.start)
        return LSTMReading(torch.cat(unpack_sequence(states)), (h.detach(), c.detach()))
