"""The Tucker factorisation of the tensor, equation (10)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.cells.aggregators.base import FactorisedAggregator, check_entries
from dgltrees.cells.aggregators.modes import expand, homogeneous, multilinear, reduce_children
from dgltrees.cells.initial import initialize
from dgltrees.settings import Count


class TuckerAggregator(FactorisedAggregator):
    """The base class of Tucker factorisations: mode matrices U, a core and output matrices Q.

    A subclass allocates these parameters, and sets ``inputs``, the number of terms that the core
    sums into one output.
    """

    stacked = ("U", "b_U", "core", "Q", "b")
    U: nn.Parameter
    b_U: nn.Parameter  # noqa: N815
    core: nn.Parameter
    Q: nn.Parameter
    b: nn.Parameter
    inputs: int

    def _draw(self) -> None:
        initialize(self.U, self.c, self.r, self.init)
        initialize(self.core, self.inputs, self.r, self.init)
        initialize(self.Q, self.r, self.c, self.init)
        nn.init.zeros_(self.b_U)
        nn.init.zeros_(self.b)
        with torch.no_grad():
            self.core[:, :, -1] = 0.0

    def _factors(self, u: Tensor) -> tuple[Tensor, ...]:
        """Append a one to M reduced vectors, ``(M, K, n, G r)`` to M ``(K G, n, r + 1)``."""
        u = u.reshape(*u.shape[:3], self.G, self.r).transpose(2, 3)  # (M, K, G, n, r)
        return homogeneous(u).flatten(1, 2).unbind(0)


class HOSVD(TuckerAggregator):
    r"""The HOSVD (Tucker) approximation of equation (10) in Castellana and Bacciu.

    .. math:: a = q(G(w(x), u_1(h_1), \dots, u_L(h_L)))

    where

    - :math:`u_j(h) = U_j h + b_j \in \mathbb{R}^r` is the mode matrix of position j;
    - :math:`w(x) = W x + b_w \in \mathbb{R}^r`, if the label is a mode;
    - :math:`G` contracts the core tensor with every :math:`[u_j; 1]` (and :math:`[w; 1]`);
    - :math:`q(g) = Q g + b` maps from rank r to the size of a state.

    Every gate and type has separate U, W, G and Q. Biases are initialised to zero, and so is the
    entry of the core at the last index of every input mode. In the text u, w and q have no biases;
    the default is that of the authors' code.

    Arguments:
        bias: add biases to u, w and q, as the authors' code does; false as in equation (10).
        options: the other arguments of :class:`FactorisedAggregator`, with its shapes.
    """

    def __init__(
        self, children: Count, size: Count, gates: Count = 1, *, bias: bool = True, **options: Any
    ) -> None:
        super().__init__(children, size, gates, **options)
        K, L, c, G, r = self.K, self.L, self.c, self.G, self.r
        self.inputs = (r + 1) ** (L + (self.label == "mode"))
        check_entries(
            f"L = {L}, r = {r} needs a core of {r + 1}^{L + (self.label == 'mode')} * {r}",
            self.inputs * r,
            G,
            K,
        )
        self.U = nn.Parameter(torch.empty(K, L, c, G * r))
        self.b_U = nn.Parameter(torch.empty(K, L, 1, G * r))
        self.core = nn.Parameter(torch.empty(K, G, self.inputs, r))
        self.Q = nn.Parameter(torch.empty(K, G, r, c))
        self.b = nn.Parameter(torch.empty(K, G, 1, c))
        if not bias:
            for name, parameter in (("b_U", self.b_U), ("b", self.b)):
                delattr(self, name)
                self.register_buffer(name, torch.zeros_like(parameter), persistent=False)
            if self.label == "mode":
                self.w.register_parameter("bias", None)
        self.reset_parameters()

    @staticmethod
    def paper_parameter_count(L: int, c: int, r: int = 0) -> int:
        """Return ``L c r + r (r + 1)^L``."""
        return L * c * r + r * int((r + 1) ** L)

    def compute(self, h: Tensor, *parameters: Tensor) -> Tensor:
        """Compute equation (10)."""
        *label, U, b_U, core, Q, b = parameters
        u = reduce_children(h, U, b_U).transpose(0, 1)  # (L, K, n, G r)
        if label:
            u = torch.cat([label[0].unsqueeze(0), u])
        return expand(multilinear(core.flatten(0, 1), self._factors(u)), Q, b)
