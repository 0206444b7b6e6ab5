"""The canonical (CP) factorisation of the tensor."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.cells.aggregators.base import ProductAggregator, check_entries
from dgltrees.cells.aggregators.modes import expand, reduce_children
from dgltrees.cells.initial import initialize
from dgltrees.settings import Count


def product(u: Tensor) -> Tensor:
    """Compute the elementwise product over the first dimension, ``(L, ...)`` to ``(...)``."""
    while len(u) > 1:
        half = len(u) // 2
        pairs = u[:half] * u[half : 2 * half]
        u = torch.cat([pairs, u[2 * half :]]) if len(u) % 2 else pairs
    return u[0]


class Canonical(ProductAggregator):
    r"""The canonical (CP) factorisation, a Tucker factorisation with a diagonal core.

    .. math:: a = Q \, (U_1 \bar h_1 \odot \dots \odot U_L \bar h_L) + W x + b

    where :math:`\bar h = [h; 1]`. Castellana and Bacciu (2020) mention it as future work. The last
    column of :math:`U_j`, which is multiplied with the 1, is initialised to one, so that the factor
    of a missing child is 1; b is initialised to zero. With ``label="mode"`` the label is one more
    factor, :math:`W \bar x`. Arguments and shapes are those of :class:`ProductAggregator`.
    """

    stacked = ("U", "b_U", "Q", "b")

    def __init__(self, children: Count, size: Count, gates: Count = 1, **options: Any) -> None:
        super().__init__(children, size, gates, **options)
        K, L, c, G, r = self.K, self.L, self.c, self.G, self.r
        check_entries(
            f"L = {L}, c = {c}, r = {r} needs {L} * {c} * {r}", L * c * r, G, K, linear=True
        )
        self.U = nn.Parameter(torch.empty(K, L, c, G * r))
        self.b_U = nn.Parameter(torch.empty(K, L, 1, G * r))
        self.Q = nn.Parameter(torch.empty(K, G, r, c))
        self.b = nn.Parameter(torch.empty(K, G, 1, c))
        self.reset_parameters()

    @staticmethod
    def paper_parameter_count(L: int, c: int, r: int = 0) -> int:
        """Return ``L c r``; like HOSVD in the paper's tables, without biases and output matrix."""
        return L * c * r

    def _draw(self) -> None:
        initialize(self.U, self.c, self.r, self.init)
        nn.init.constant_(self.b_U, self.bias_init)
        initialize(self.Q, self.r, self.c, self.init)
        nn.init.zeros_(self.b)

    def compute(self, h: Tensor, *parameters: Tensor) -> Tensor:
        """Compute the product over the children."""
        *label, U, b_U, Q, b = parameters
        g = product(reduce_children(h, U, b_U).transpose(0, 1))  # (K, n, G r)
        for w in label:  # one more factor
            g = g * w
        g = g.view(*g.shape[:2], self.G, self.r).transpose(1, 2).flatten(0, 1)  # (K G, n, r)
        return expand(g, Q, b)
