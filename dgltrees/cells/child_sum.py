"""The child-sum Tree-LSTM of Tai et al., and the equations that their N-ary Tree-LSTM shares."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from dgltrees.cells.base import BaseCell, GateNorm
from dgltrees.cells.initial import Init, initialize
from dgltrees.cells.lstm_state import lstm_state
from dgltrees.settings import Count, Fraction
from dgltrees.traversal.views import Nodes


class TaiTreeLSTM(BaseCell):
    """What both Tree-LSTMs of Tai et al. do before and after ``reduce``."""

    state_fields = ("h", "c")
    W: nn.Parameter
    b: nn.Parameter

    def add_norms(self, layer_norm: bool) -> None:
        """Add the norms of i, o and u, of f, and of c."""
        c = self.hidden_size
        self.norm = GateNorm(3, c) if layer_norm else nn.Identity()
        self.norm_f = GateNorm(1, c) if layer_norm else nn.Identity()
        self.norm_c = GateNorm(1, c) if layer_norm else nn.Identity()

    def prepare(self, ndata: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Compute ``W x + b`` for all nodes and gates."""
        x, size = self.check(ndata), 3 * self.hidden_size
        (W, W_f), (b, b_f) = self.W.tensor_split([size], 1), self.b.tensor_split([size])
        return {"wx": torch.addmm(b, x, W), "wx_f": torch.addmm(b_f, x, W_f)}  # two tables: no copy

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute the new state h and memory c."""
        a = nodes.data["a" if "a" in nodes.data else "wx"]
        a = self.norm(a.view(len(a), 3, self.hidden_size))
        return lstm_state(a, nodes.data.get("k"), self.dropout, self.norm_c)


class ChildSumTreeLSTM(TaiTreeLSTM):
    r"""The child-sum Tree-LSTM, for any number of children, whose order has no effect.

    Tai, Socher and Manning, "Improved Semantic Representations From Tree-Structured Long Short-Term
    Memory Networks" (ACL 2015), equations (2) to (8):

    .. math::

        \tilde h_v &= \sum_{j} h_{v_j} \\
        i_v    &= \sigma(W^i x_v + U^i \tilde h_v + b^i) \\
        o_v    &= \sigma(W^o x_v + U^o \tilde h_v + b^o) \\
        u_v    &= \tanh(W^u x_v + U^u \tilde h_v + b^u) \\
        f_{vj} &= \sigma(W^f x_v + U^f h_{v_j} + b^f) \\
        c_v    &= i_v \odot u_v + \sum_{j} f_{vj} \odot c_{v_j} \\
        h_v    &= o_v \odot \tanh(c_v)

    The sums run over all children of the node. Recurrent dropout acts only on u (Semeniuta et al.,
    2016). With layer normalisation, the pre-activations of i, o, u and f are normalised, and so is
    the argument c of the last equation.

    Arguments:
        input_size: m, the size of the node field ``x``.
        hidden_size: c, the size of a state.
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
        >>> from dgltrees.cells import ChildSumTreeLSTM
        >>> cell = ChildSumTreeLSTM(input_size=2, hidden_size=3)
        >>> states = cell(Forest.build([-1, 0, 0, 2]), torch.ones(4, 2))
        >>> states["h"].shape, states["c"].shape
        (torch.Size([4, 3]), torch.Size([4, 3]))
    """

    ordered = False

    def __init__(
        self,
        input_size: Count,
        hidden_size: Count,
        *,
        dropout: Fraction = 0.0,
        layer_norm: bool = False,
        init: Init = "kaiming",
    ) -> None:
        super().__init__(input_size, hidden_size, dropout=dropout)
        m, c = input_size, hidden_size
        self.W = nn.Parameter(torch.empty(m, 4 * c))  # gates i, o, u, f
        self.U = nn.Parameter(torch.empty(c, 3 * c))  # gates i, o, u
        self.U_f = nn.Parameter(torch.empty(c, c))
        self.b = nn.Parameter(torch.zeros(4 * c))
        self.add_norms(layer_norm)
        initialize(self.W, m, c, init)
        initialize(self.U, c, c, init)
        initialize(self.U_f, c, c, init)

    def paper_parameter_count(self) -> int:
        """Return ``c^2``; all children have one matrix."""
        return self.hidden_size**2

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute pre-activations ``a``, and ``k``, the sum of f_j c_j over the children."""
        h, c = nodes.mailbox["h"], nodes.mailbox["c"]  # (n, d, c)
        f = nodes.data["wx_f"].unsqueeze(1) + h @ self.U_f  # (n, d, c)
        a = torch.addmm(nodes.data["wx"], h.sum(1), self.U)  # (n, 3 c)
        return {"a": a, "k": (torch.sigmoid(self.norm_f(f)) * c).sum(1)}
