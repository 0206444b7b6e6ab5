"""The LSTM node function of Neural Tree Indexers, equations (1) to (6), and variants."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.cells.base import GateNorm, normalize_one
from dgltrees.cells.initial import Init, initialize
from dgltrees.cells.node_function import NodeFunction
from dgltrees.settings import Count
from dgltrees.traversal.views import Nodes


class NTILSTM(NodeFunction):
    r"""The S-LSTM of Zhu et al. (2015) for L children; its gates also read the memories.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), equations (1) to
    (6), which are the case L = 2:

    .. math::

        i_p    &= \sigma(\textstyle\sum_l U^i_l h_l + \sum_l P^i_l c_l + b^i) \\
        f_{pj} &= \sigma(\textstyle\sum_l U^f_{jl} h_l + \sum_l P^f_{jl} c_l + b^f_j) \\
        c_p    &= \textstyle\sum_j f_{pj} \odot c_j
                  + i_p \odot \tanh(\sum_l U^u_l h_l + b^u) \\
        o_p    &= \sigma(\textstyle\sum_l U^o_l h_l + V c_p + b^o) \\
        h_p    &= o_p \odot \tanh(c_p)

    The paper's names are W1, W2 for :math:`U^i`; W3, W4 for :math:`P^i`; W5 to W12 for
    :math:`U^f, P^f`; W13, W14 for :math:`U^u`; W15, W16 for :math:`U^o`; W18 for V. Dropout acts on
    the states h of the children, not on their memories c.

    Arguments:
        layer_norm: layer normalisation of the pre-activations of every gate, and of the memory
            from which h is computed (Ba et al., 2016).
        options: the other arguments of :class:`NodeFunction`.

    Shapes:
        ``x`` (N, m) and optionally ``c0`` (N, c) in; ``h`` and ``c``, each (N, c), out.

    Example:
        >>> import torch
        >>> from dgltrees import Forest
        >>> from dgltrees.cells import NTILSTM
        >>> cell = NTILSTM(input_size=2, hidden_size=3, max_children=2)
        >>> cell(Forest.build([-1, 0, 0]), torch.ones(3, 2))["h"].shape
        torch.Size([3, 3])
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

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute the memory ``k`` by (1) to (4), and ``a``, the sum over the children in (5)."""
        h, c = self.dropout(nodes.mailbox["h"]), nodes.mailbox["c"]  # (n, L, c)
        L, size = self.max_children, self.hidden_size
        a = torch.addmm(self.b, h.flatten(1), self.U)  # (n, (3 + L) c)
        gates, a_o, a_u = a.split_with_sizes([(1 + L) * size, size, size], 1)
        gates = torch.addmm(gates, c.flatten(1), self.P).view(-1, 1 + L, size)
        gates = torch.sigmoid(self.norm_if(gates))
        carry = (gates[:, 1:] * c).sum(1)  # (n, c)
        return {"a": a_o, "k": carry + gates[:, 0] * torch.tanh(normalize_one(self.norm_u, a_u))}

    def composed(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute the state by equations (5) and (6)."""
        c = nodes.data["k"]
        o = torch.sigmoid(normalize_one(self.norm_o, torch.addmm(nodes.data["a"], c, self.V)))
        return {"h": o * torch.tanh(normalize_one(self.norm_c, c)), "c": c}


class ChainerNTILSTM(NodeFunction):
    r"""The S-LSTM of Chainer's function ``slstm``, generalised to L children.

    The authors of Neural Tree Indexers used it in their experiments. No gate reads a memory. Every
    child has separate gates, except for the output gate o, which depends on all children:

    .. math::

        (a, i, f, o)_j &= U_j h_j + b_j \\
        c_p &= \textstyle\sum_j \sigma(i_j) \odot \tanh(a_j) + \sigma(f_j) \odot c_j \\
        h_p &= \sigma(\textstyle\sum_j o_j) \odot \tanh(c_p)

    The sums run over the children of the node. The arguments are those of :class:`NodeFunction`.
    Dropout acts on the states h of the children, not on their memories c.

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
        """Compute the memory ``k``, and the pre-activation ``a`` of the output gate."""
        mask = self.child_mask(nodes).unsqueeze(2)  # (n, L, 1)
        h, c = self.dropout(nodes.mailbox["h"]), nodes.mailbox["c"]  # (n, L, c)
        gates = torch.baddbmm(self.b, h.transpose(0, 1), self.U).transpose(0, 1)  # (n, L, 4 c)
        a, i, f, o = gates.chunk(4, 2)
        new = torch.sigmoid(i) * torch.tanh(a) + torch.sigmoid(f) * c
        return {"a": (o * mask).sum(1), "k": (new * mask).sum(1)}

    def composed(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute the state by the last equation."""
        c = nodes.data["k"]
        return {"h": torch.sigmoid(nodes.data["a"]) * torch.tanh(c), "c": c}
