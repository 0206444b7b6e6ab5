"""The Tucker factorisation with shared mode matrices and a symmetric core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.cells.aggregators.hosvd import TuckerAggregator
from dgltrees.cells.aggregators.limits import check_entries
from dgltrees.cells.aggregators.modes import expand, reduce_shared
from dgltrees.cells.aggregators.multilinear import homogeneous, multilinear
from dgltrees.cells.aggregators.symmetric import multisets, symmetric_maps, symmetric_product
from dgltrees.options import Count

__all__ = ["SymmetricHOSVD", "symmetric_hosvd"]


def symmetric_hosvd(
    h: Tensor,
    U: Tensor,
    b_U: Tensor,
    core: Tensor,
    Q: Tensor,
    b: Tensor,
    maps: Sequence[Tensor],
    w: Tensor | None = None,
) -> Tensor:
    """``q(G(w(x), u(h_1), .., u(h_L)))`` with G symmetric in its last L arguments.

    Arguments:
        h: ``(K, n, L, c)`` states of the children.
        U: ``(K, c, G r)`` mode matrices; u(h_j) = U h_j + b, also where h_j = 0.
        b_U: ``(K, 1, G r)``.
        core: ``(K, G, M, r)``, one entry for each of the M multisets of L indices out of r + 1;
            with a label ``(K, G, (r + 1) M, r)``.
        Q: ``(K, G, r, c)`` output matrices.
        b: ``(K, G, 1, c)``.
        maps: the result of ``symmetric_maps(r + 1, L)``.
        w: ``(K, n, G r)`` reduced labels w(x).

    Returns:
        ``(K, n, G, c)``.
    """
    types, n = h.shape[:2]
    gates, rank = Q.shape[1:3]
    u = reduce_shared(h, U, b_U).transpose(0, 1)  # (L, K, n, G r)
    u = u.reshape(-1, types, n, gates, rank).transpose(2, 3)  # (L, K, G, n, r)
    factors = [symmetric_product(homogeneous(u).flatten(1, 2).unbind(0), maps)]  # (K G, n, M)
    if w is not None:
        w = w.view(types, n, gates, rank).transpose(1, 2).flatten(0, 1)  # (K G, n, r)
        factors.insert(0, homogeneous(w))
    g = multilinear(core.flatten(0, 1), factors)  # (K G, n, r)
    return expand(g, Q, b)


class SymmetricHOSVD(TuckerAggregator):
    r"""The HOSVD approximation of equation (10), symmetric in the children.

    .. math:: a = q(G(w(x), u(h_1), \dots, u(h_L)))

    where u, one mode matrix for all positions, q and w are as in :class:`HOSVD` and the core G is
    symmetric in the modes of the children: the positional stationarity of the last paragraph of
    Castellana and Bacciu. Swapping children changes nothing. The parameters of the core are one
    entry for each multiset of indices, so the symmetry holds by construction. Arguments and shapes
    are those of :class:`Aggregator`.
    """

    ordered = False

    def __init__(self, children: Count, size: Count, gates: Count = 1, **options: Any) -> None:
        super().__init__(children, size, gates, **options)
        K, L, c, G, r = self.K, self.L, self.c, self.G, self.r
        labels = r + 1 if self.label == "mode" else 1
        M = labels * multisets(r + 1, L)
        check_entries(
            f"L = {L}, r = {r} needs a core of {labels} * ({r + L} over {L}) * {r}", M * r, G, K
        )
        self.inputs = labels * (r + 1) ** L
        self.U = nn.Parameter(torch.empty(K, c, G * r))
        self.b_U = nn.Parameter(torch.empty(K, 1, G * r))
        self.core = nn.Parameter(torch.empty(K, G, M, r))
        self.Q = nn.Parameter(torch.empty(K, G, r, c))
        self.b = nn.Parameter(torch.empty(K, G, 1, c))
        for j, at in enumerate(symmetric_maps(r + 1, L), start=2):
            self.register_buffer(f"map_{j}", at, persistent=False)
        self.reset_parameters()

    @staticmethod
    def paper_parameter_count(L: int, c: int, r: int = 0) -> int:
        """``c r + r (r + L over L)``."""
        return c * r + r * multisets(r + 1, L)

    def compute(self, h: Tensor, *parameters: Tensor) -> Tensor:
        """Equation (10), symmetric."""
        *label, U, b_U, core, Q, b = parameters
        return symmetric_hosvd(h, U, b_U, core, Q, b, list(self.buffers()), *label)
