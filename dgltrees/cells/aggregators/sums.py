"""The weighted sums, equation (5), with a matrix for each position, or one for all positions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.cells.aggregators.base import Aggregator, check_entries
from dgltrees.cells.initial import initialize
from dgltrees.settings import Count


class Sum(Aggregator):
    r"""The weighted sum of equation (5) in Castellana and Bacciu, as in Tai et al. (2015).

    .. math:: a = W x + \sum_{j=1}^L U_j h_j + b

    where :math:`U_j` is a separate matrix for every position, gate and type. Arguments and shapes
    are those of :class:`Aggregator`.
    """

    stacked = ("U", "b")

    def __init__(self, children: Count, size: Count, gates: Count = 1, **options: Any) -> None:
        super().__init__(children, size, gates, **options)
        matrices, c = self.L if self.ordered else 1, self.c
        needs = f"c = {c} needs {c}^2"
        if self.ordered:
            needs = f"L = {self.L}, c = {c} needs {matrices} * {c}^2"
        check_entries(needs, matrices * c**2, self.G, self.K, linear=True)
        self.U = nn.Parameter(torch.empty(self.K, matrices * c, self.G * c))
        self.b = nn.Parameter(torch.empty(self.K, 1, self.G * c))
        self.reset_parameters()

    @staticmethod
    def paper_parameter_count(L: int, c: int, r: int = 0) -> int:
        """Return ``L c^2``."""
        return L * c**2

    def _draw(self) -> None:
        initialize(self.U, self.L * self.c, self.c, self.init)
        nn.init.zeros_(self.b)

    def compute(self, h: Tensor, *parameters: Tensor) -> Tensor:
        """Compute equation (5)."""
        U, b = parameters
        a = torch.baddbmm(b, h.flatten(2), U)  # (K, n, G c)
        return a.view(*h.shape[:2], -1, h.shape[-1])


class SharedSum(Sum):
    r"""The weighted sum of equation (5) with one matrix for all positions; order has no effect.

    .. math:: a = W x + U \sum_{j=1}^L h_j + b

    A node may have any number of children; L only scales the initial weights. Arguments and shapes
    are those of :class:`Aggregator`.
    """

    ordered = bounded = False

    @staticmethod
    def paper_parameter_count(L: int, c: int, r: int = 0) -> int:
        """Return ``c^2``."""
        return c**2

    def compute(self, h: Tensor, *parameters: Tensor) -> Tensor:
        """Compute equation (5) with one matrix."""
        return super().compute(h.sum(2, keepdim=True), *parameters)
