"""Transformer encoders over sentences: a baseline with self-attention."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from dgltrees.errors import ConfigError, called
from dgltrees.models.encoding import Encoder, Encoding
from dgltrees.models.inputs import Input
from dgltrees.models.readout import mean_by_tree
from dgltrees.settings import Count, Fraction, checked
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import within

__all__ = ["TransformerEncoder", "sinusoids"]

_WIDEN = 4  # the paper's feed-forward layer is 2048 wide, its model 512
_BASE = 10_000.0


@checked
class TransformerEncoder(Encoder):
    """A transformer over the words of a sentence, whose vector is the mean over its words.

    Vaswani et al., "Attention Is All You Need" (NeurIPS 2017), the encoder: a linear map of the
    word vectors plus sinusoids of their positions, then layers of self-attention and a feed-forward
    layer four times as wide, with the layer normalisation before each and after the last.

    Batches hold the words of every sentence in order; edges are not used. Sentences are padded to
    the longest, and the padding is masked in attention.

    Arguments:
        inputs: gives every word its vector.
        hidden_size: c.
        dropout: probability of dropout on the inputs and between the layers.
        layers: number of layers.
        heads: number of attention heads, which must divide hidden_size.

    Attributes:
        size: c, the size of a state.

    Raises:
        ConfigError: the heads do not divide c.
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
                f"expected {called('model.hidden_size')} to be a multiple of the {heads} of "
                f"model.heads, got {hidden_size}"
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
        """Encode all words and sentences of a batch."""
        x = self.widen(self.input(batch))
        tree, place = batch.tree_of_node, within(batch.sizes).to(batch.device)
        shape = batch.num_trees, int(batch.sizes.max())
        table = sinusoids(shape[1], self.size, x.dtype).to(x)
        words = self.dropout(x + table.index_select(0, place))
        padded = x.new_zeros(*shape, self.size).index_put((tree, place), words)
        is_pad = torch.ones(shape, dtype=torch.bool, device=x.device)
        is_pad[tree, place] = False
        h = self.layers(padded, src_key_padding_mask=is_pad)  # (T, longest, c)
        states = h[tree, place]
        return Encoding(batch, states, vectors=mean_by_tree(states, batch))


def sinusoids(length: int, size: int, dtype: torch.dtype = torch.float32) -> Tensor:
    r"""Sinusoidal codes of positions, ``(length, size)``.

    .. math::

        PE(p, 2 i) = \sin(p / 10000^{2 i / c}), \quad PE(p, 2 i + 1) = \cos(p / 10000^{2 i / c})

    Vaswani et al. (2017), section 3.5.

    Arguments:
        length: the number of positions.
        size: c.
        dtype: of the codes; they are computed in float32 at least.
    """
    wide = torch.promote_types(dtype, torch.float32)
    rate = torch.exp(torch.arange(0, size, 2, dtype=wide) * (-math.log(_BASE) / size))
    angle = torch.arange(length, dtype=wide).unsqueeze(1) * rate  # (length, ceil(size / 2))
    return torch.stack([angle.sin(), angle.cos()], 2).flatten(1)[:, :size].to(dtype)
