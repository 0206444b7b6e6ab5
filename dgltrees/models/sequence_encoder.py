"""Encoders that ignore the edges of trees: an LSTM, a transformer, and a bag of nodes."""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from dgltrees.cells.initial import uniform
from dgltrees.errors import ConfigError, called
from dgltrees.models.encoder import Encoder, Encoding
from dgltrees.models.inputs import Input
from dgltrees.models.readout import mean_by_tree
from dgltrees.settings import Count, Fraction, Options
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import inverse, mask_of, owner, starts, within


class SequenceEncoder(Encoder):
    """A unidirectional or bidirectional LSTM over the words of a sentence.

    The vector of a sentence is the state after its last word; with two directions, both last
    states. The nodes of a batch are the words of the sentences, in order; edges are ignored.

    Arguments:
        inputs: maps every word to its vector.
        hidden_size: c, the size of a state per direction.
        dropout: probability of dropout on the inputs and between the layers.
        layers: number of layers.
        bidirectional: add a second LSTM from the last word to the first.

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
        """Return "LSTM"."""
        return "LSTM"

    def forward(self, batch: TreeBatch) -> Encoding:
        """Return the states of all words, ``(N, size)``, and the vector of each sentence."""
        x = self.dropout(self.input(batch))
        if self.directions == 1:  # torch is faster without packing
            tree, step = batch.tree_of_node, within(batch.sizes).to(x.device)
            shape = int(batch.sizes.max()), batch.num_trees, x.shape[1]
            h: Tensor = self.lstm(x.new_zeros(shape).index_put((step, tree), x))[0]  # (L, T, c)
            last = h[batch.sizes.to(x.device) - 1, torch.arange(batch.num_trees)]
            return Encoding(batch, h[step, tree], vectors=last)
        words, row = packed(x, batch.sizes)
        states, (h, _) = self.lstm(words)  # h: (layers * directions, T, c)
        vectors = torch.cat(list(h[-self.directions :]), 1)
        return Encoding(batch, states.data.index_select(0, row), vectors=vectors)


def packed(x: Tensor, sizes: Tensor) -> tuple[PackedSequence, Tensor]:
    """Pack the rows of sequences for ``torch.nn.LSTM``.

    This is ``torch.nn.utils.rnn.pack_sequence`` in one operation for all sequences, which a GPU
    needs.
    """
    ordered, order = torch.sort(sizes, descending=True)
    rank = inverse(order)
    steps = torch.arange(int(ordered[0]))
    batch_sizes = len(sizes) - torch.searchsorted(ordered.flip(0), steps, right=True)
    row = starts(batch_sizes)[within(sizes)] + rank[owner(sizes)]
    order, rank, row, source = (each.to(x.device) for each in (order, rank, row, inverse(row)))
    return PackedSequence(x.index_select(0, source), batch_sizes, order, rank), row


_WIDEN = 4  # the paper's feed-forward layer is 2048 wide, its model 512
_BASE = 10_000.0


class TransformerEncoder(Encoder):
    """A transformer over the words of a sentence.

    Vaswani et al., "Attention Is All You Need" (NeurIPS 2017), the encoder: a linear map of the
    word vectors plus sinusoidal position codes, then layers of self-attention and a feed-forward
    layer four times as wide. Layer normalisation is applied before each layer and after the last.
    The vector of a sentence is the mean over its words.

    The nodes of a batch are the words of the sentences, in order; edges are ignored. Sentences are
    padded to the longest, and the padding is masked in attention.

    Arguments:
        inputs: maps every word to its vector.
        hidden_size: c, the size of a state.
        dropout: probability of dropout on the inputs and between the layers.
        layers: number of layers.
        heads: number of attention heads, a divisor of hidden_size.

    Attributes:
        size: c, the size of a state.

    Raises:
        ConfigError: ``heads`` does not divide c.
    """

    def __init__(
        self,
        inputs: Input,
        hidden_size: Count,
        *,
        dropout: Fraction = 0.0,
        layers: Count = 1,
        heads: Count = 4,
    ) -> None:
        super().__init__()
        if hidden_size % heads:
            raise ConfigError(
                f"expected {called('model.hidden_size')} to be a multiple of model.heads={heads}, "
                f"got {hidden_size}"
            )
        self.input, self.size = inputs, hidden_size
        self.widen = nn.Linear(inputs.size, hidden_size)
        self.dropout = nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            hidden_size,
            heads,
            _WIDEN * hidden_size,
            dropout,
            batch_first=True,
            norm_first=True,
        )
        norm = nn.LayerNorm(hidden_size)
        self.layers = nn.TransformerEncoder(layer, layers, norm, enable_nested_tensor=False)

    def forward(self, batch: TreeBatch) -> Encoding:
        """Return the states of all words, ``(N, c)``, and the vector of each sentence."""
        x = self.widen(self.input(batch))
        tree, place = batch.tree_of_node, within(batch.sizes).to(batch.device)
        shape = batch.num_trees, int(batch.sizes.max())
        table = sinusoids(shape[1], self.size, x.dtype).to(x)
        words = self.dropout(x + table.index_select(0, place))
        padded = x.new_zeros(*shape, self.size).index_put((tree, place), words)
        is_pad = ~mask_of(batch.sizes.to(x.device), shape[1])
        h = self.layers(padded, src_key_padding_mask=is_pad)  # (T, longest, c)
        states = h[tree, place]
        return Encoding(batch, states, vectors=mean_by_tree(states, batch))


def sinusoids(length: int, size: int, dtype: torch.dtype = torch.float32) -> Tensor:
    r"""Return sinusoidal codes of positions, ``(length, size)``.

    .. math::

        PE(p, 2 i) = \sin(p / 10000^{2 i / c}), \quad PE(p, 2 i + 1) = \cos(p / 10000^{2 i / c})

    Vaswani et al. (2017), section 3.5.
    """
    wide = torch.promote_types(dtype, torch.float32)
    rate = torch.exp(torch.arange(0, size, 2, dtype=wide) * (-math.log(_BASE) / size))
    angle = torch.arange(length, dtype=wide).unsqueeze(1) * rate  # (length, ceil(size / 2))
    return torch.stack([angle.sin(), angle.cos()], 2).flatten(1)[:, :size].to(dtype)


class BagEncoder(Encoder):
    """A bag of nodes: one layer per node, without messages.

    The vector of a tree is the mean over its nodes.

    Arguments:
        inputs: maps every node to its vector.
        hidden_size: c, the size of a state.

    Attributes:
        size: c.
    """

    def __init__(self, inputs: Input, hidden_size: Count) -> None:
        super().__init__()
        self.input, self.size = inputs, hidden_size
        self.layer = nn.Linear(inputs.size, hidden_size)

    def forward(self, batch: TreeBatch) -> Encoding:
        """Return the states of all nodes, ``(N, c)``, and the vector of each tree."""
        states = torch.relu(self.layer(self.input(batch)))
        return Encoding(batch, states, vectors=mean_by_tree(states, batch))
