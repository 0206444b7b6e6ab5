"""The S-LSTM of the public code of Neural Tree Indexers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.cells.initial import Init, initialize
from dgltrees.cells.node_function import NodeFunction
from dgltrees.options import Count
from dgltrees.traversal.views import Nodes

__all__ = ["ChainerSLSTM"]


class ChainerSLSTM(NodeFunction):
    r"""The S-LSTM of the function ``slstm`` of the library Chainer, generalised to L children.

    The authors of Neural Tree Indexers ran their experiments with it. No gate reads a memory. Every
    child has its own gates, except for the output gate o, which is computed from all children:

    .. math::

        (a, i, f, o)_j &= U_j h_j + b_j \\
        c_p &= \textstyle\sum_j \sigma(i_j) \odot \tanh(a_j) + \sigma(f_j) \odot c_j \\
        h_p &= \sigma(\textstyle\sum_j o_j) \odot \tanh(c_p)

    The sums run over the children of the node. Arguments are those of :class:`NodeFunction`;
    dropout acts on the children's h, not on their c.

    Shapes:
        ``x`` (N, m) and optionally ``c0`` (N, c) in; ``h`` and ``c``, each (N, c), out.
    """

    state_fields = ("h", "c")

    def __init__(
        self,
        input_size: Count,
        hidden_size: Count,
        max_children: Count,
        *,
        init: Init = "kaiming",
        **options: Any,
    ) -> None:
        super().__init__(input_size, hidden_size, max_children, init=init, **options)
        self.U = nn.Parameter(torch.empty(max_children, hidden_size, 4 * hidden_size))  # a, i, f, o
        self.b = nn.Parameter(torch.zeros(max_children, 1, 4 * hidden_size))
        initialize(self.U, hidden_size, hidden_size, init)

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """The memory ``k``, and the pre-activation ``a`` of the output gate."""
        mask = self.child_mask(nodes).unsqueeze(2)  # (n, L, 1)
        h, c = self.dropout(nodes.mailbox["h"]), nodes.mailbox["c"]  # (n, L, c)
        gates = torch.baddbmm(self.b, h.transpose(0, 1), self.U).transpose(0, 1)  # (n, L, 4 c)
        a, i, f, o = gates.chunk(4, 2)
        new = torch.sigmoid(i) * torch.tanh(a) + torch.sigmoid(f) * c
        return {"a": (o * mask).sum(1), "k": (new * mask).sum(1)}

    def composed(self, nodes: Nodes) -> dict[str, Tensor]:
        """The last equation."""
        c = nodes.data["k"]
        return {"h": torch.sigmoid(nodes.data["a"]) * torch.tanh(c), "c": c}
