"""Tree-based convolution: filters over a node and its children."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dgltrees.cells.initial import initialize
from dgltrees.models.encoder import Encoder, Encoding
from dgltrees.models.inputs import Input
from dgltrees.models.siblings import sibling_ranks
from dgltrees.settings import Count, Fraction
from dgltrees.trees.batch import TreeBatch


class TreeConvolution(nn.Module):
    r"""Filters over windows of a node and its children.

    Mou et al., "Convolutional Neural Networks over Tree Structures for Programming Language
    Processing" (AAAI 2016), section "Tree-Based Convolution" with a window of depth 2:

    .. math::

        y_v = \tanh\big(W_t x_v + \sum_{j=1}^{n} (\eta^l_j W_l + \eta^r_j W_r) x_{v_j} + b\big)

    where :math:`\eta^r_j = (j - 1) / (n - 1)` is the weight of the right filter at child j of n
    (1/2 for an only child) and :math:`\eta^l_j = 1 - \eta^r_j` that of the left filter. Children
    send one message to their parents, in one step for all levels; with L layers a node sees L
    levels of descendants.

    Arguments:
        input_size: m, the size of a node's vector.
        hidden_size: c, the number of filters.

    Shapes:
        ``(N, m)`` to ``(N, c)``.
    """

    def __init__(self, input_size: int, hidden_size: Count) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.empty(3, input_size, hidden_size))  # top, left, right
        self.b = nn.Parameter(torch.zeros(hidden_size))
        initialize(self.W, 3 * input_size, hidden_size, "xavier")

    def forward(self, x: Tensor, batch: TreeBatch) -> Tensor:
        """Return the vectors of all nodes after one layer."""
        left, right = (eta.to(x) for eta in batch.cache.get("sides", lambda: _sides(batch)))
        src, dst = batch.src.to(x.device), batch.dst.to(x.device)
        child = x.index_select(0, src)
        below = torch.cat([child * left.unsqueeze(1), child * right.unsqueeze(1)], 1)
        mail = x.new_zeros(len(x), below.shape[1]).index_add(0, dst, below)  # (N, 2 m)
        return torch.tanh(torch.addmm(self.b, torch.cat([x, mail], 1), self.W.flatten(0, 1)))


def _sides(batch: TreeBatch) -> tuple[Tensor, Tensor]:
    """Return how far left and how far right each child is among its siblings, ``(E,)`` each."""
    place, n = map(torch.from_numpy, sibling_ranks(batch))
    right = torch.where(n > 1, place / (n - 1).clamp(min=1), 0.5)
    return 1 - right, right


class ConvolutionEncoder(Encoder):
    """Layers of tree-based convolution.

    Arguments:
        inputs: maps every node to its vector.
        hidden_size: c, the size of a state.
        layers: number of layers; each extends the window by one level.
        dropout: probability of dropout between the layers.

    Attributes:
        size: c.
    """

    def __init__(
        self, inputs: Input, hidden_size: Count, *, layers: Count = 2, dropout: Fraction = 0.0
    ) -> None:
        super().__init__()
        self.input, self.size = inputs, hidden_size
        sizes = [inputs.size] + [hidden_size] * (layers - 1)
        self.layers = nn.ModuleList(TreeConvolution(size, hidden_size) for size in sizes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: TreeBatch) -> Encoding:
        """Return the states of all nodes, ``(N, c)``."""
        x = self.input(batch)
        for layer in self.layers:
            x = layer(self.dropout(x), batch)
        return Encoding(batch, x)
