"""The full tensor, symmetric in the children."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import torch
from torch import Tensor, nn

from dgltrees.cells.aggregators.base import TensorAggregator
from dgltrees.cells.aggregators.limits import check_entries
from dgltrees.cells.aggregators.multilinear import homogeneous, multilinear
from dgltrees.cells.aggregators.symmetric import multisets, symmetric_maps, symmetric_product
from dgltrees.cells.initial import initialize
from dgltrees.options import Count

__all__ = ["SymmetricFull", "symmetric_full"]


def symmetric_full(
    h: Tensor, S: Tensor, maps: Sequence[Tensor], x: Optional[Tensor] = None
) -> Tensor:
    """Equation (4) with T(i, j_1, .., j_L, k) = S(i, {j_1, .., j_L}, k).

    Arguments:
        h: ``(K, n, L, c)`` states of the children; h̄ = [h; 1].
        S: ``(K, (m + 1) M, G c)``, one entry for each of the M multisets of L indices out of
            c + 1; without a label there is no factor m + 1.
        maps: the result of ``symmetric_maps(c + 1, L)``.
        x: ``(K, n, m)`` labels; x̄ = [x; 1].

    Returns:
        ``(K, n, G, c)``.
    """
    factors = [symmetric_product(homogeneous(h).unbind(2), maps)]  # (K, n, M)
    if x is not None:
        factors.insert(0, homogeneous(x))
    return multilinear(S, factors).view(*h.shape[:2], -1, h.shape[-1])


class SymmetricFull(TensorAggregator):
    r"""The full tensor of equation (4), symmetric in the modes of the children.

    .. math::

        T(i, j_{\pi(1)}, \dots, j_{\pi(L)}, k) = T(i, j_1, \dots, j_L, k)
        \quad \text{for every permutation } \pi

    The positional stationarity of the last paragraph of Castellana and Bacciu: swapping children
    changes nothing. The parameters are one entry for each multiset of indices, so the symmetry
    holds by construction. The bias, the entry of the last indices only, starts at zero. Arguments
    and shapes are those of :class:`Aggregator`.
    """

    ordered = False
    stacked = ("S",)

    def __init__(self, children: Count, size: Count, gates: Count = 1, **options: Any) -> None:
        super().__init__(children, size, gates, **options)
        L, c = self.L, self.c
        m = self.m if self.label == "mode" else 0
        M = (m + 1) * multisets(c + 1, L)
        label = f"{m + 1} * " if m else ""
        check_entries(
            f"L = {L}, c = {c} needs {label}({c + L} over {L}) * {c}", M * c, self.G, self.K
        )
        self.inputs = (m + 1) * (c + 1) ** L
        self.S = nn.Parameter(torch.empty(self.K, M, self.G * c))
        for j, at in enumerate(symmetric_maps(c + 1, L), start=2):
            self.register_buffer(f"map_{j}", at, persistent=False)
        self.reset_parameters()

    @staticmethod
    def paper_parameter_count(L: int, c: int, r: int = 0) -> int:
        """``(c + L over L) c``."""
        return multisets(c + 1, L) * c

    def _draw(self) -> None:
        initialize(self.S, self.inputs, self.c, self.init)
        with torch.no_grad():
            self.S[:, -1] = 0.0

    def compute(self, h: Tensor, *parameters: Tensor) -> Tensor:
        """Equation (4), symmetric."""
        *label, S = parameters
        return symmetric_full(h, S, list(self.buffers()), *label)
