"""Transformer encoders over sentences: the baseline that attends instead of reading along."""

from __future__ import annotations

import math
from typing import Union

import torch
from torch import Tensor, nn

from dgltrees.errors import ConfigError
from dgltrees.models.inputs import GivenVectors, NodeInput
from dgltrees.models.readout import Mean
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import within

__all__ = ["TransformerEncoder", "sinusoids"]

_WIDEN = 4  # the paper's feed-forward layer is 2048 wide, its model 512
_BASE = 10_000.0


class TransformerEncoder(nn.Module):
    """The mean over a sentence's words of what a transformer makes of them.

    Vaswani et al., "Attention Is All You Need" (NeurIPS 2017), the encoder: a linear map of the
    word vectors plus sinusoids of their positions, then layers of self-attention and a feed-forward
    layer four times as wide, with the layer normalisation before each and after the last.

    A batch has the words of every sentence one after the other; the edges do not matter. Sentences
    are padded to the longest, and the padding is attended to by none.

    Arguments:
        inputs: gives every word its vector.
        hidden_size: c.
        layers: how many of them.
        heads: of attention, in a layer.
        dropout: probability of dropout on what the first layer reads and within layers.

    Attributes:
        size: the size of an encoding, c.

    Raises:
        ConfigError: the heads do not divide c.
    """

    def __init__(
        self,
        inputs: Union[NodeInput, GivenVectors],
        hidden_size: int,
        *,
        layers: int = 1,
        heads: int = 4,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if hidden_size % heads:
            raise ConfigError(
                f"expected model.hidden_size to be a multiple of the {heads} of model.heads, got "
                f"{hidden_size}"
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
        self.readout = Mean()

    def forward(self, batch: TreeBatch) -> Tensor:
        """``(T, size)`` encodings of all sentences."""
        x = self.widen(self.input(batch))  # (N, c)
        tree, place = batch.tree_of_node, within(batch.sizes).to(batch.device)
        shape = batch.num_trees, int(batch.sizes.max())
        positions = sinusoids(shape[1], self.size).to(x)
        words = self.dropout(x + positions.index_select(0, place))
        padded = x.new_zeros(*shape, self.size).index_put((tree, place), words)
        is_pad = torch.ones(shape, dtype=torch.bool, device=x.device)
        is_pad[tree, place] = False
        h = self.layers(padded, src_key_padding_mask=is_pad)  # (T, longest, c)
        encodings: Tensor = self.readout(h[tree, place], batch)
        return encodings


def sinusoids(length: int, size: int) -> Tensor:
    r"""``(length, size)`` codes of positions, float32.

    .. math::

        PE(p, 2 i) = \sin(p / 10000^{2 i / c}), \quad PE(p, 2 i + 1) = \cos(p / 10000^{2 i / c})

    Vaswani et al. (2017), section 3.5.
    """
    rate = torch.exp(torch.arange(0, size, 2) * (-math.log(_BASE) / size))
    angle = torch.arange(length).unsqueeze(1) * rate  # (length, ceil(size / 2))
    return torch.stack([angle.sin(), angle.cos()], 2).flatten(1)[:, :size]
