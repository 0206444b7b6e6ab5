"""The N-ary Tree-LSTM of Tai et al."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dgltrees.cells.aggregators.base import check_entries
from dgltrees.cells.child_sum import TaiTreeLSTM
from dgltrees.cells.initial import Init, initialize
from dgltrees.settings import Count, Fraction
from dgltrees.traversal.views import Nodes


class NaryTreeLSTM(TaiTreeLSTM):
    r"""The N-ary Tree-LSTM, for at most L children with positions.

    Tai, Socher and Manning, "Improved Semantic Representations From Tree-Structured Long Short-Term
    Memory Networks" (ACL 2015), equations (9) to (14):

    .. math::

        i_v    &= \sigma(W^i x_v + \sum_l U^i_l h_{v_l} + b^i) \\
        o_v    &= \sigma(W^o x_v + \sum_l U^o_l h_{v_l} + b^o) \\
        u_v    &= \tanh(W^u x_v + \sum_l U^u_l h_{v_l} + b^u) \\
        f_{vj} &= \sigma(W^f x_v + \sum_l U^f_{jl} h_{v_l} + b^f) \\
        c_v    &= i_v \odot u_v + \sum_j f_{vj} \odot c_{v_j} \\
        h_v    &= o_v \odot \tanh(c_v)

    A forget gate reads the states of all children; in :class:`TreeLSTM`, equation (11) of
    Castellana and Bacciu, it reads only one. Its bias is the same for all positions. A missing
    child has h = c = 0. Recurrent dropout acts only on u (Semeniuta et al., 2016). With layer
    normalisation, the pre-activations of i, o, u and f are normalised, and so is the argument c of
    the last equation.

    Arguments:
        input_size: m, the size of the node field ``x``.
        hidden_size: c, the size of a state.
        max_children: largest number L of children of a node. A child at position L or higher is an
            error. As a setting, the default is the largest number in the training data.
        dropout: probability of dropout on the candidates of a node's new memory, before they
            are added to it (recurrent dropout: Semeniuta et al., 2016).
        layer_norm: layer normalisation of the pre-activations of every gate, and of the memory
            from which the state is computed (Ba et al., 2016).
        init: initial weights: kaiming (normal), xavier (uniform), or uniform in U(-0.1, 0.1);
            biases are zero.

    Shapes:
        ``x`` (N, m) in; ``h`` and ``c``, each (N, c), out.

    Example:
        >>> import torch
        >>> from dgltrees import Forest
        >>> from dgltrees.cells import NaryTreeLSTM
        >>> cell = NaryTreeLSTM(input_size=2, hidden_size=3, max_children=2)
        >>> cell(Forest.build([-1, 0, 0, 2]), torch.ones(4, 2))["h"].shape
        torch.Size([4, 3])
    """

    def __init__(
        self,
        input_size: Count,
        hidden_size: Count,
        max_children: Count,
        *,
        dropout: Fraction = 0.0,
        layer_norm: bool = False,
        init: Init = "kaiming",
    ) -> None:
        super().__init__(input_size, hidden_size, dropout=dropout)
        m, c, L = input_size, hidden_size, max_children
        check_entries(
            f"L = {L}, c = {c} needs {L} * {3 + L} * {c}^2", L * (3 + L) * c**2, 1, 1, linear=True
        )
        self.max_children = self.slots = L
        self.W = nn.Parameter(torch.empty(m, 4 * c))  # gates i, o, u, f
        self.U = nn.Parameter(torch.empty(L * c, (3 + L) * c))  # gates i, o, u, f_1 .. f_L
        self.b = nn.Parameter(torch.zeros(4 * c))
        self.add_norms(layer_norm)
        initialize(self.W, m, c, init)
        initialize(self.U, L * c, c, init)

    def paper_parameter_count(self) -> int:
        """Return ``L c^2``, the count for the sum of equation (5)."""
        return self.max_children * self.hidden_size**2

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute pre-activations ``a``, and ``k``, the sum of f_j c_j over the children."""
        h, c = nodes.mailbox["h"], nodes.mailbox["c"]  # (n, L, c)
        size = self.hidden_size
        uh = h.flatten(1) @ self.U  # (n, (3 + L) c)
        a, f = uh[:, : 3 * size], uh[:, 3 * size :]
        f = nodes.data["wx_f"].unsqueeze(1) + f.reshape(h.shape)  # (n, L, c)
        return {"a": nodes.data["wx"] + a, "k": (torch.sigmoid(self.norm_f(f)) * c).sum(1)}
