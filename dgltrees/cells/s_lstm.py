"""S-LSTM, the LSTM as a node function: equations (1) to (6) of Neural Tree Indexers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.cells.base import GateNorm, normalize_one
from dgltrees.cells.initial import Init, initialize
from dgltrees.cells.node_function import NodeFunction
from dgltrees.options import Count
from dgltrees.traversal.views import Nodes

__all__ = ["SLSTM"]


class SLSTM(NodeFunction):
    r"""The S-LSTM of Zhu et al. (2015) for L children, whose memories feed the gates too.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), equations (1) to
    (6), which are the case L = 2:

    .. math::

        i_p    &= \sigma(\textstyle\sum_l U^i_l h_l + \sum_l P^i_l c_l + b^i) \\
        f_{pj} &= \sigma(\textstyle\sum_l U^f_{jl} h_l + \sum_l P^f_{jl} c_l + b^f_j) \\
        c_p    &= \textstyle\sum_j f_{pj} \odot c_j
                  + i_p \odot \tanh(\sum_l U^u_l h_l + b^u) \\
        o_p    &= \sigma(\textstyle\sum_l U^o_l h_l + V c_p + b^o) \\
        h_p    &= o_p \odot \tanh(c_p)

    where :math:`U^i` are the paper's W1, W2; :math:`P^i` W3, W4; :math:`U^f, P^f` W5 to W12;
    :math:`U^u` W13, W14; :math:`U^o` W15, W16; V is W18. Dropout acts on the children's h, not on
    their c.

    Arguments:
        layer_norm: layer normalisation of every gate's pre-activation, and of the memory on its way
            into h (Ba et al., 2016).
        options: as of :class:`NodeFunction`.

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
        layer_norm: bool = False,
        init: Init = "kaiming",
        **options: Any,
    ) -> None:
        super().__init__(input_size, hidden_size, max_children, init=init, **options)
        c, L = hidden_size, max_children
        self.U = nn.Parameter(torch.empty(L * c, (3 + L) * c))  # to i, f_1 .. f_L, o, u
        self.P = nn.Parameter(torch.empty(L * c, (1 + L) * c))  # to i, f_1 .. f_L
        self.V = nn.Parameter(torch.empty(c, c))  # to o
        self.b = nn.Parameter(torch.zeros((3 + L) * c))
        for weight in (self.U, self.P, self.V):
            initialize(weight, len(weight), c, init)
        self.layer_norm = layer_norm
        self.norm_if, self.norm_o, self.norm_u, self.norm_c = (
            GateNorm(gates, c) if layer_norm else nn.Identity() for gates in (1 + L, 1, 1, 1)
        )

    def _children(self, nodes: Nodes) -> tuple[Tensor, Tensor]:
        """States and memories of the children, each ``(n, L, c)``."""
        return self.dropout(nodes.mailbox["h"]), nodes.mailbox["c"]

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Equations (1) to (4): the memory ``k``; and ``a``, the sum over the children in (5)."""
        h, c = self._children(nodes)
        L, size = self.max_children, self.hidden_size
        a = torch.addmm(self.b, h.flatten(1), self.U)  # (n, (3 + L) c)
        gates, a_o, a_u = a.split_with_sizes([(1 + L) * size, size, size], 1)
        gates = torch.addmm(gates, c.flatten(1), self.P).view(-1, 1 + L, size)
        gates = torch.sigmoid(self.norm_if(gates))
        carry = (gates[:, 1:] * c).sum(1)  # (n, c)
        return {"a": a_o, "k": carry + gates[:, 0] * torch.tanh(normalize_one(self.norm_u, a_u))}

    def composed(self, nodes: Nodes) -> dict[str, Tensor]:
        """Equations (5) and (6)."""
        c = nodes.data["k"]
        o = torch.sigmoid(normalize_one(self.norm_o, torch.addmm(nodes.data["a"], c, self.V)))
        return {"h": o * torch.tanh(normalize_one(self.norm_c, c)), "c": c}
