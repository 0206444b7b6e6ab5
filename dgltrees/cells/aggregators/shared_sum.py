"""The sum with one matrix for all positions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.cells.aggregators.base import Aggregator
from dgltrees.cells.aggregators.limits import check_entries
from dgltrees.cells.aggregators.sum import weighted_sum
from dgltrees.cells.initial import initialize
from dgltrees.options import Count

__all__ = ["SharedSum"]


class SharedSum(Aggregator):
    r"""Equation (5) with the same matrix at all positions, so that their order is ignored.

    .. math:: a = W x + U \sum_{j=1}^L h_j + b

    Arguments and shapes are those of :class:`Aggregator`; the label is always added.
    """

    ordered = False
    stacked = ("U", "b")

    def __init__(self, children: Count, size: Count, gates: Count = 1, **options: Any) -> None:
        super().__init__(children, size, gates, **options)
        c = self.c
        check_entries(f"c = {c} needs {c}^2", c**2, self.G, self.K, linear=True)
        self.U = nn.Parameter(torch.empty(self.K, self.c, self.G * self.c))
        self.b = nn.Parameter(torch.empty(self.K, 1, self.G * self.c))
        self.reset_parameters()

    @staticmethod
    def paper_parameter_count(L: int, c: int, r: int = 0) -> int:
        """``c^2``."""
        return c**2

    def _draw(self) -> None:
        initialize(self.U, self.L * self.c, self.c, self.init)
        nn.init.zeros_(self.b)

    def compute(self, h: Tensor, *parameters: Tensor) -> Tensor:
        """Equation (5) with one matrix."""
        U, b = parameters
        return weighted_sum(h.sum(2, keepdim=True), U, b)
