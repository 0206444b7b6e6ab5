"""A gate for each child that reads the state of that child only."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dgltrees.cells.aggregators.base import check_entries
from dgltrees.cells.aggregators.modes import reduce_children, reduce_shared
from dgltrees.cells.initial import Init, initialize
from dgltrees.errors import ConfigError


def per_child(h: Tensor, U: Tensor, b: Tensor) -> Tensor:
    """Compute ``U_j h_j + b_j``, the pre-activation of a gate that reads only child j."""
    if U.shape[1] == 1:
        return reduce_shared(h, U[:, 0], b[:, 0]).transpose(1, 2)
    return reduce_children(h, U, b).transpose(1, 2)


class ChildGate(nn.Module):
    r"""The pre-activation of the forget gate of equation (11), one per child.

    .. math:: a_j = W x + U_j h_j + b_j

    Arguments:
        children: L, the largest number of children of a node.
        size: c, the size of a state.
        types: K, the number of sets of parameters.
        label_size: m, the size of x; with 0 there is no term W x.
        shared: use the same U and b for all children, so that their order has no effect.
        init: how weights are drawn: kaiming (normal), xavier (uniform), or uniform in U(-0.1, 0.1).
    """

    def __init__(
        self,
        children: int,
        size: int,
        *,
        types: int = 1,
        label_size: int = 0,
        shared: bool = False,
        init: Init = "kaiming",
    ) -> None:
        super().__init__()
        self.label_size, self.init = label_size, init
        positions = 1 if shared else children
        check_entries(
            f"the gate of every child: L = {children}, c = {size} needs {positions} * {size}^2",
            positions * size**2,
            1,
            types,
            linear=True,
        )
        self.U = nn.Parameter(torch.empty(types, positions, size, size))
        self.b = nn.Parameter(torch.empty(types, positions, 1, size))
        self.W = nn.Parameter(torch.empty(label_size, size)) if label_size else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise all parameters; biases are zero."""
        size = self.U.shape[-1]
        initialize(self.U, size, size, self.init)
        nn.init.zeros_(self.b)
        if self.W is not None:
            initialize(self.W, self.label_size, size, self.init)

    def embed(self, x: Tensor) -> Tensor:
        """Compute ``W x`` of all nodes, ``(N, m)`` to ``(N, c)``; ConfigError without a label."""
        if self.W is None:
            raise ConfigError("expected a gate with a label, got label_size=0; there is no W x")
        return x @ self.W

    def forward(self, h: Tensor, label: Tensor) -> Tensor:
        """Compute the pre-activations of the gates of all children, with one type."""
        return per_child(h[None], self.U, self.b)[0] + label.unsqueeze(1)
