"""The tensor Tree-LSTM, equations (11) to (13)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dgltrees.cells.aggregators import Aggregator
from dgltrees.cells.child_gate import ChildGate
from dgltrees.cells.lstm_state import lstm_state
from dgltrees.cells.tree_cell import TreeCell
from dgltrees.options import Count
from dgltrees.traversal.views import Nodes

__all__ = ["TreeLSTM"]


class TreeLSTM(TreeCell):
    r"""The Tree-LSTM of equation (11), with i, o and u from any aggregator as in (12) and (13).

    Castellana and Bacciu, "Generalising Recursive Neural Models by Tensor Decomposition":

    .. math::

        i_v    &= \sigma(f^i(x_v, h_{v_1}, \dots, h_{v_L})) \\
        o_v    &= \sigma(f^o(x_v, h_{v_1}, \dots, h_{v_L})) \\
        u_v    &= \tanh(f^u(x_v, h_{v_1}, \dots, h_{v_L})) \\
        f_{vj} &= \sigma(W^f x_v + U^f_j h_{v_j} + b^f_j) \\
        c_v    &= i_v \odot u_v + \sum_j f_{vj} \odot c_{v_j} \\
        h_v    &= o_v \odot \tanh(c_v)

    where

    - :math:`f^i, f^o, f^u` are the aggregator's maps, all three computed together;
    - the forget gate :math:`f_{vj}` reads only child j; where the aggregator shares its parameters
      between positions, so do :math:`U^f` and :math:`b^f`;
    - u has tanh, as in Tai et al. (2015); the paper prints :math:`\sigma`, which is
      ``activation="sigmoid"``.

    Recurrent dropout acts on u alone, which spares the memory (Semeniuta et al., 2016). With layer
    normalisation the pre-activations of i, o, u and f are normalised, and so is c where h is
    computed from it. Arguments are those of :class:`TreeCell`.

    Shapes:
        ``x`` (N, m), ``op`` (N,) in; ``h`` and ``c``, each (N, c), out.
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

    @property
    def aggregators(self) -> tuple[Aggregator, ...]:
        """The aggregators of all gates."""
        return (self.f,)

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Pre-activations ``a``, and ``k``, the sum of f_j c_j over the children."""
        h, c = nodes.mailbox["h"], nodes.mailbox["c"]  # (n, L, c)
        # (n, 3, c) and (n, L, c)
        a, f = self.aggregate_and_gate(self.f, self.child_gate, h, nodes)
        return {"a": a, "k": (torch.sigmoid(self.norm_f(f)) * c).sum(1)}

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        """The new state."""
        a = nodes.data["a"] if "a" in nodes.data else self.leaf_activations(nodes)
        carry = nodes.data.get("k")
        return lstm_state(self.norm(a), carry, self.dropout, self.norm_c, self.activation)
