"""The base class of the node functions of Neural Tree Indexers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor, nn

from dgltrees.cells.base import BaseCell
from dgltrees.cells.initial import Init, initialize
from dgltrees.errors import ConfigError, TreeError
from dgltrees.settings import Count, Fraction, checked
from dgltrees.traversal.views import Nodes


@checked
class NodeFunction(BaseCell):
    """The base class of cells in which leaves read their inputs, and inner nodes their children.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 3: the
    state of a leaf is f_leaf(x), the state of an inner node is f_node(h_1, .., h_L). The input of
    an inner node is ignored. A missing child has the state zero. If the cell has a memory, that of
    a leaf is the node field ``c0`` ``(N, c)``, or zero without this field.

    Arguments:
        input_size: m, the size of the node field ``x``.
        hidden_size: c, the size of a state, the paper's k.
        max_children: largest number L of children of a node, the paper's c. A child at position L
            or higher is an error. As a setting, the default is the largest number in the training
            data.
        leaf: leaf function: linear, h = W x + b, or identity, h = x, for inputs of size c.
        dropout: probability of dropout on the states of all children before each node function.
        init: initial weights: kaiming (normal), xavier (uniform), or uniform in U(-0.1, 0.1);
            biases are zero.

    Raises:
        ConfigError: an argument is none of its choices.
    """

    def __init__(
        self,
        input_size: Count,
        hidden_size: Count,
        max_children: Count,
        *,
        leaf: Literal["linear", "identity"] = "linear",
        dropout: Fraction = 0.0,
        init: Init = "kaiming",
    ) -> None:
        super().__init__(input_size, hidden_size, dropout=dropout)
        if leaf == "identity" and input_size != hidden_size:
            raise ConfigError(
                f"expected inputs of the hidden size, {hidden_size}, for leaf 'identity', got "
                f"{input_size}; choose leaf 'linear'"
            )
        self.max_children = self.slots = max_children
        self.input_fields = ("x", "c0") if "c" in self.state_fields else ("x",)
        self.leaf: nn.Module = nn.Identity()
        if leaf == "linear":
            self.leaf = linear = nn.Linear(input_size, hidden_size)
            initialize(linear.weight, input_size, hidden_size, init)
            nn.init.zeros_(linear.bias)

    def check(self, ndata: Mapping[str, Tensor]) -> Tensor:
        """Check the inputs of all nodes and return ``x``, ``(N, m)``.

        Raises:
            TreeError: ``x`` or ``c0`` has the wrong shape or dtype.
        """
        x = super().check(ndata)
        if "c0" in ndata:
            self.check_field(ndata, "c0")
        return x

    def check_field(self, ndata: Mapping[str, Tensor], name: str) -> None:
        """Raise TreeError unless the node field ``name`` is ``(N, c)``."""
        field = ndata.get(name)
        if field is None or field.dim() != 2 or field.shape[1] != self.hidden_size:
            got = f"only {sorted(ndata)}" if field is None else str(tuple(field.shape))
            raise TreeError(
                f"expected a node field {name!r} of shape (N, {self.hidden_size}), got {got}"
            )

    def prepare(self, ndata: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Check the inputs and add no fields; only leaves read inputs, and all in one call."""
        self.check(ndata)
        return {}

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute the new state: the leaf function at leaves, :meth:`composed` at inner nodes."""
        if "a" in nodes.data:
            return self.composed(nodes)
        h = self.leaf(nodes.data["x"])
        if "c" not in self.state_fields:
            return {"h": h}
        c0 = nodes.data.get("c0")
        return {"h": h, "c": torch.zeros_like(h) if c0 is None else c0}

    @abstractmethod
    def composed(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute the state of inner nodes from the fields of :meth:`reduce`, ``(n, c)`` each."""
