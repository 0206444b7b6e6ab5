"""The tensor-train factorisation of the tensor."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.cells.aggregators.base import ProductAggregator, check_entries
from dgltrees.cells.aggregators.modes import expand, reduce_children
from dgltrees.cells.initial import initialize
from dgltrees.settings import Count


class TensorTrain(ProductAggregator):
    r"""The tensor-train factorisation: one core for each child, chained from left to right.

    .. math:: r_0 = 1, \quad r_j = r_{j-1} A_j(\bar h_j), \quad a = Q r_L + W x + b

    where :math:`A_j(\bar h)` is the matrix :math:`\sum_i \bar h(i) A_j(:, i, :)`, 1 x r for the
    first child and r x r for the others. Castellana and Bacciu (2020) mention it as future work.
    The slice for the constant 1 of :math:`\bar h` is initialised to the identity (ones in the first
    core), so that a missing child leaves :math:`r_{j-1}` unchanged; b is initialised to zero. With
    ``label="mode"`` the label has the first core, :math:`r_0 = W \bar x`. Arguments and shapes are
    those of :class:`ProductAggregator`.
    """

    stacked = ("U", "b_U", "A", "b_A", "Q", "b")

    def __init__(self, children: Count, size: Count, gates: Count = 1, **options: Any) -> None:
        super().__init__(children, size, gates, **options)
        K, c, G, r = self.K, self.c, self.G, self.r
        cores = self.L  # r x (c + 1) x r each, without and with the constant slice
        if self.label != "mode":
            cores -= 1
            self.U = nn.Parameter(torch.empty(K, 1, c, G * r))
            self.b_U = nn.Parameter(torch.empty(K, 1, 1, G * r))
        check_entries(
            f"L = {self.L}, c = {c}, r = {r} needs {cores} * {c} * {r}^2",
            cores * c * r**2,
            G,
            K,
            linear=True,
        )
        self.A = nn.Parameter(torch.empty(K, cores, c, G * r * r))
        self.b_A = nn.Parameter(torch.empty(K, cores, 1, G * r * r))
        self.Q = nn.Parameter(torch.empty(K, G, r, c))
        self.b = nn.Parameter(torch.empty(K, G, 1, c))
        self.reset_parameters()

    @staticmethod
    def paper_parameter_count(L: int, c: int, r: int = 0) -> int:
        """Return ``(c + 1) r + (L - 1) (c + 1) r^2``, which counts whole cores."""
        return (c + 1) * r + (L - 1) * (c + 1) * r**2

    def _draw(self) -> None:
        if self.label != "mode":
            initialize(self.U, self.c, self.r, self.init)
            nn.init.constant_(self.b_U, self.bias_init)
        initialize(self.A, self.r * (self.c + 1), self.r, self.init)
        initialize(self.Q, self.r, self.c, self.init)
        nn.init.zeros_(self.b)
        with torch.no_grad():
            self.b_A.copy_(torch.eye(self.r).flatten().repeat(self.G))

    def parameters_by_type(self) -> list[Tensor]:
        """Return the parameters of :attr:`stacked`; the first core may be that of the label."""
        names = self.stacked[2:] if self.label == "mode" else self.stacked
        return [getattr(self, name) for name in names]

    def compute(self, h: Tensor, *parameters: Tensor) -> Tensor:
        """Compute the chain of products over the children."""
        if self.label == "mode":
            w, A, b_A, Q, b = parameters
        else:
            U, b_U, A, b_A, Q, b = parameters
            w, h = reduce_children(h[:, :, :1], U, b_U)[:, 0], h[:, :, 1:]
        (types, n, children, _), gates, rank = h.shape, self.G, self.r
        A = reduce_children(h, A, b_A).view(types, children, n, gates, rank, rank)
        r = w.view(types, n, gates, rank).transpose(1, 2)  # (K, G, n, r)
        for A_j in A.permute(1, 0, 3, 2, 4, 5).unbind(0):  # (K, G, n, r, r)
            r = (r.unsqueeze(-1) * A_j).sum(-2)
        return expand(r.flatten(0, 1), Q, b)
