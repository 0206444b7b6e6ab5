"""The full tensor, equation (4)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.cells.aggregators.base import TensorAggregator, check_entries
from dgltrees.cells.aggregators.modes import homogeneous, multilinear
from dgltrees.cells.initial import initialize
from dgltrees.settings import Count


class Full(TensorAggregator):
    r"""The full tensor of equation (4) in Castellana and Bacciu.

    .. math::

        a(k) = \sum_{i=1}^{m+1} \sum_{j_1=1}^{c+1} \dots \sum_{j_L=1}^{c+1}
               T(i, j_1, \dots, j_L, k) \, \bar x(i) \, \bar h_1(j_1) \dots \bar h_L(j_L)

    where :math:`\bar h = [h; 1]` and :math:`\bar x = [x; 1]`. The bias is the entry of T at the
    last index of every input mode; it is initialised to zero. Arguments and shapes are those of
    :class:`TensorAggregator`.
    """

    stacked = ("T",)

    def __init__(self, children: Count, size: Count, gates: Count = 1, **options: Any) -> None:
        super().__init__(children, size, gates, **options)
        L, c = self.L, self.c
        m = self.m if self.label == "mode" else 0
        self.inputs = (m + 1) * (c + 1) ** L
        label = f"{m + 1} * " if m else ""
        check_entries(
            f"L = {L}, c = {c} needs {label}{c + 1}^{L} * {c}", self.inputs * c, self.G, self.K
        )
        self.T = nn.Parameter(torch.empty(self.K, self.inputs, self.G * c))
        self.reset_parameters()

    @staticmethod
    def paper_parameter_count(L: int, c: int, r: int = 0) -> int:
        """Return ``(c + 1)^L c``."""
        return int((c + 1) ** L) * c

    def _draw(self) -> None:
        initialize(self.T, self.inputs, self.c, self.init)
        with torch.no_grad():
            self.T[:, -1] = 0.0

    def compute(self, h: Tensor, *parameters: Tensor) -> Tensor:
        """Compute equation (4)."""
        *label, T = parameters  # (1, n, m), if it is a mode; (K, (m + 1) (c + 1)^L, G c)
        factors = [*map(homogeneous, label), *homogeneous(h).unbind(2)]
        return multilinear(T, factors).view(*h.shape[:2], -1, h.shape[-1])
