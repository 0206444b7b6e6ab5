"""The Tree-RNN, equation (2)."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from dgltrees.cells.aggregators import Aggregator
from dgltrees.cells.tree_cell import TreeCell
from dgltrees.options import Count
from dgltrees.traversal.views import Nodes

__all__ = ["TreeRNN"]


class TreeRNN(TreeCell):
    r"""The recursive neuron of equation (2) in Castellana and Bacciu.

    .. math:: h_v = \tanh(f(x_v, h_{v_1}, \dots, h_{v_L}))

    where f is any aggregator. There is no memory that recurrent dropout could spare, so it acts on
    the states of the children as they enter f. Arguments are those of
    :class:`TreeCell`.

    Shapes:
        ``x`` (N, m), ``op`` (N,) in; ``h`` (N, c) out.
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

    @property
    def aggregators(self) -> tuple[Aggregator, ...]:
        """The aggregators of all gates."""
        return (self.f,)

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Pre-activations ``a``."""
        h = self.dropout(nodes.mailbox["h"])  # (n, L, c)
        return {"a": self.aggregate(self.f, h, nodes, "label_0")}

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        """The new state."""
        a = nodes.data["a"] if "a" in nodes.data else self.leaf_activations(nodes)
        return {"h": self.activation(self.norm(a)[:, 0])}
