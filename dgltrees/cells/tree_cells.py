"""The Tree-RNN, the tensor Tree-LSTM and a GRU over trees, each with any aggregator."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dgltrees.cells.child_gate import ChildGate
from dgltrees.cells.lstm_state import lstm_state
from dgltrees.cells.tree_cell import TreeCell
from dgltrees.settings import Count
from dgltrees.traversal.views import Nodes


class TreeRNN(TreeCell):
    r"""The recursive neuron of equation (2) in Castellana and Bacciu.

    .. math:: h_v = \tanh(f(x_v, h_{v_1}, \dots, h_{v_L}))

    where f is any aggregator. Recurrent dropout acts on the states of the children, the arguments
    of f, because the cell has no memory. The arguments are those of :class:`TreeCell` and of the
    aggregator, such as ``rank``.

    Shapes:
        ``x`` (N, m), with operators ``op`` (N,) in; ``h`` (N, c) out.

    Example:
        >>> import torch
        >>> from dgltrees import Forest
        >>> from dgltrees.cells import TreeRNN
        >>> cell = TreeRNN(input_size=2, hidden_size=3, max_children=2)
        >>> cell(Forest.build([-1, 0, 0, 2]), torch.ones(4, 2))["h"].shape
        torch.Size([4, 3])
    """

    def __init__(
        self,
        input_size: Count,
        hidden_size: Count,
        max_children: Count,
        aggregator: str = "sum",
        **options: Any,
    ) -> None:
        super().__init__(input_size, hidden_size, max_children, aggregator, **options)
        self.f = self.make_aggregator(1)
        self.leaf = self.make_leaf(1)
        self.norm = self.make_norm(1)

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute pre-activations ``a``, ``(n, 1, c)``."""
        h = self.dropout(nodes.mailbox["h"])  # (n, L, c)
        return {"a": self.aggregate(self.f, h, nodes, "label_0")}

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute the new state, fields ``(n, c)``."""
        a = nodes.data["a"] if "a" in nodes.data else self.leaf_activations(nodes)
        return {"h": self.activation(self.norm(a)[:, 0])}


class TreeLSTM(TreeCell):
    r"""The tensor Tree-LSTM: equation (11), with i, o and u from any aggregator.

    Castellana and Bacciu, "Generalising Recursive Neural Models by Tensor Decomposition" (IJCNN
    2020), equations (11) to (13):

    .. math::

        i_v    &= \sigma(f^i(x_v, h_{v_1}, \dots, h_{v_L})) \\
        o_v    &= \sigma(f^o(x_v, h_{v_1}, \dots, h_{v_L})) \\
        u_v    &= \tanh(f^u(x_v, h_{v_1}, \dots, h_{v_L})) \\
        f_{vj} &= \sigma(W^f x_v + U^f_j h_{v_j} + b^f_j) \\
        c_v    &= i_v \odot u_v + \sum_j f_{vj} \odot c_{v_j} \\
        h_v    &= o_v \odot \tanh(c_v)

    where

    - :math:`f^i, f^o, f^u` are the maps of the aggregator, which are computed together;
    - the forget gate :math:`f_{vj}` reads only child j. If the aggregator has the same parameters
      for all positions, so have :math:`U^f` and :math:`b^f`;
    - u has tanh, as in Tai et al. (2015). The paper prints :math:`\sigma`, which is
      ``activation="sigmoid"``.

    Recurrent dropout acts only on u, so that the memory is kept (Semeniuta et al., 2016). With
    layer normalisation, the pre-activations of i, o, u and f are normalised, and so is the argument
    c of the last equation. The arguments are those of :class:`TreeCell` and of the aggregator, such
    as ``rank``.

    Shapes:
        ``x`` (N, m), with operators ``op`` (N,) in; ``h`` and ``c``, each (N, c), out.

    Example:
        >>> import torch
        >>> from dgltrees import Forest
        >>> from dgltrees.cells import TreeLSTM
        >>> cell = TreeLSTM(2, 3, max_children=2, aggregator="hosvd", rank=4)
        >>> states = cell(Forest.build([-1, 0, 0, 2]), torch.ones(4, 2))
        >>> states["h"].shape, states["c"].shape
        (torch.Size([4, 3]), torch.Size([4, 3]))
    """

    state_fields = ("h", "c")

    child_gate: ChildGate

    def __init__(
        self,
        input_size: Count,
        hidden_size: Count,
        max_children: Count,
        aggregator: str = "sum",
        **options: Any,
    ) -> None:
        super().__init__(input_size, hidden_size, max_children, aggregator, **options)
        self.f = self.make_aggregator(3)
        self.child_gate = self.make_child_gate()
        self.leaf = self.make_leaf(3)
        self.norm, self.norm_f, self.norm_c = (
            self.make_norm(3),
            self.make_norm(1),
            self.make_norm(1),
        )

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute pre-activations ``a``, and ``k``, the sum of f_j c_j over the children."""
        h, c = nodes.mailbox["h"], nodes.mailbox["c"]  # (n, L, c)
        # (n, 3, c) and (n, L, c)
        a, f = self.aggregate_and_gate(self.f, self.child_gate, h, nodes)
        return {"a": a, "k": (torch.sigmoid(self.norm_f(f)) * c).sum(1)}

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute the new state, fields ``(n, c)``."""
        a = nodes.data["a"] if "a" in nodes.data else self.leaf_activations(nodes)
        carry = nodes.data.get("k")
        return lstm_state(self.norm(a), carry, self.dropout, self.norm_c, self.activation)


class TreeGRU(TreeCell):
    r"""The gated recurrent unit (GRU) of Cho et al. (2014), generalised to L children.

    .. math::

        r_{vj} &= \sigma(W^r x_v + U^r_j h_{v_j} + b^r_j) \\
        z_v    &= \sigma(f^z(x_v, h_{v_1}, \dots, h_{v_L})) \\
        u_v    &= \tanh(f^u(x_v, r_{v1} \odot h_{v_1}, \dots, r_{vL} \odot h_{v_L})) \\
        h_v    &= z_v \odot u_v + (1 - z_v) \odot \frac{1}{|ch(v)|} \sum_{j \in ch(v)} h_{v_j}

    where

    - :math:`f^z, f^u` are maps of any aggregator;
    - the reset gate :math:`r_{vj}` reads only child j, like the forget gates of equation (11) in
      Castellana and Bacciu. If the aggregator has the same parameters for all positions, so has the
      gate;
    - :math:`ch(v)` are the children of v.

    With one child and sums, it is the GRU of Cho et al. with z and 1 - z exchanged. The last term
    has the mean over the children, not their sum, so that h stays within [-1, 1] in trees of any
    size; this is a choice of this package. Recurrent dropout acts only on u (Semeniuta et al.,
    2016). Layer normalisation acts on the pre-activations of z, u and r. The arguments are those of
    :class:`TreeCell` and of the aggregator, such as ``rank``.

    Shapes:
        ``x`` (N, m), with operators ``op`` (N,) in; ``h`` (N, c) out.

    Example:
        >>> import torch
        >>> from dgltrees import Forest
        >>> from dgltrees.cells import TreeGRU
        >>> cell = TreeGRU(input_size=2, hidden_size=3, max_children=2)
        >>> cell(Forest.build([-1, 0, 0, 2]), torch.ones(4, 2))["h"].shape
        torch.Size([4, 3])
    """

    child_gate: ChildGate

    def __init__(
        self,
        input_size: Count,
        hidden_size: Count,
        max_children: Count,
        aggregator: str = "sum",
        **options: Any,
    ) -> None:
        super().__init__(input_size, hidden_size, max_children, aggregator, **options)
        self.f_z, self.f_u = self.make_aggregator(1), self.make_aggregator(1)
        self.child_gate = self.make_child_gate()
        self.leaf = self.make_leaf(2)
        self.norm, self.norm_r = self.make_norm(2), self.make_norm(1)

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute pre-activations ``a``, and ``k``, the mean of the states of the children."""
        h = nodes.mailbox["h"]  # (n, L, c)
        # (n, 1, c) and (n, L, c)
        z, r = self.aggregate_and_gate(self.f_z, self.child_gate, h, nodes)
        r = torch.sigmoid(self.norm_r(r))
        u = self.aggregate(self.f_u, r * h, nodes, "label_1")  # (n, 1, c)
        mean = h.sum(1) / self.child_mask(nodes).sum(1, keepdim=True)  # (n, c)
        return {"a": torch.cat([z, u], 1), "k": mean}

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute the new state, fields ``(n, c)``."""
        inner = "a" in nodes.data
        a = self.norm(nodes.data["a"] if inner else self.leaf_activations(nodes))
        z = torch.sigmoid(a[:, 0])
        h = z * self.dropout(self.activation(a[:, 1]))
        return {"h": h + (1.0 - z) * nodes.data["k"] if inner else h}
