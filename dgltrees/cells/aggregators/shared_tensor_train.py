"""The tensor-train factorisation with one core for all positions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.cells.aggregators.base import ProductAggregator
from dgltrees.cells.aggregators.limits import check_entries
from dgltrees.cells.aggregators.modes import reduce_shared
from dgltrees.cells.aggregators.tensor_train import tensor_train
from dgltrees.cells.initial import initialize
from dgltrees.options import Count

__all__ = ["SharedTensorTrain"]


class SharedTensorTrain(ProductAggregator):
    r"""The tensor-train factorisation with the same core at all positions.

    .. math:: r_0 = (1, \dots, 1), \quad r_j = r_{j-1} A(\bar h_j), \quad a = Q r_L + W x + b

    where :math:`A(\bar h) = \sum_i \bar h(i) A(:, i, :)` is r x r. This is a recurrent net
    without activation over the children: their order matters, and the number of parameters does not
        depend on theirs. The constant slice is initialised to the identity, b to zero. With
        ``label="mode"``,
    :math:`r_0 = W \bar x`. Arguments and shapes are those of :class:`Aggregator`.
    """

    stacked = ("A", "b_A", "Q", "b")

    def __init__(self, children: Count, size: Count, gates: Count = 1, **options: Any) -> None:
        super().__init__(children, size, gates, **options)
        K, c, G, r = self.K, self.c, self.G, self.r
        check_entries(f"c = {c}, r = {r} needs {c} * {r}^2", c * r**2, G, K, linear=True)
        self.A = nn.Parameter(torch.empty(K, c, G * r * r))
        self.b_A = nn.Parameter(torch.empty(K, 1, G * r * r))
        self.Q = nn.Parameter(torch.empty(K, G, r, c))
        self.b = nn.Parameter(torch.empty(K, G, 1, c))
        self.reset_parameters()

    @staticmethod
    def paper_parameter_count(L: int, c: int, r: int = 0) -> int:
        """``(c + 1) r^2``."""
        return (c + 1) * r**2

    def _draw(self) -> None:
        initialize(self.A, self.r * (self.c + 1), self.r, self.init)
        initialize(self.Q, self.r, self.c, self.init)
        nn.init.zeros_(self.b)
        with torch.no_grad():
            self.b_A.copy_(torch.eye(self.r).flatten().repeat(self.G))

    def compute(self, h: Tensor, *parameters: Tensor) -> Tensor:
        """The chain over the children."""
        *label, A, b_A, Q, b = parameters
        w = label[0] if label else h.new_ones(*h.shape[:2], self.G * self.r)
        return tensor_train(w, reduce_shared(h, A, b_A), Q, b)
