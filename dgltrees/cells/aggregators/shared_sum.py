"""The sum with one matrix for all positions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dgltrees.cells.aggregators.base import Aggregator
from dgltrees.cells.aggregators.limits import check_entries
from dgltrees.cells.aggregators.sum import weighted_sum
from dgltrees.cells.initial import initialize

__all__ = ["SharedSum"]


class SharedSum(Aggregator):
    r"""Equation (5) with the same matrix at all positions: the order of children is lost.

    .. math:: a = W x + U \sum_{j=1}^L h_j + b

    Arguments and shapes are those of :class:`Aggregator`; the label is always added.
    """

    ordered = False
    labels = ("add",)
    stacked = ("U", "b")

    @staticmethod
    def paper_parameter_count(L: int, c: int, r: int = 0) -> int:
        """``c^2``."""
        return c**2

    def _build(self) -> None:
        c = self.c
        check_entries(f"c = {c} needs {c}^2", c**2, self.G, self.K, linear=True)
        self.U = nn.Parameter(torch.empty(self.K, self.c, self.G * self.c))
        self.b = nn.Parameter(torch.empty(self.K, 1, self.G * self.c))

    def _draw(self) -> None:
        initialize(self.U, self.L * self.c, self.c, self.init)
        nn.init.zeros_(self.b)

    def compute(self, h: Tensor, *rest: Tensor) -> Tensor:
        """Equation (5) with one matrix."""
        U, b = rest
        return weighted_sum(h.sum(2, keepdim=True), U, b)
