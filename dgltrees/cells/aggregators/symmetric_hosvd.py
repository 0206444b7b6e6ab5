"""The Tucker factorisation with shared mode matrices and a symmetric core."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.cells.aggregators.base import check_entries
from dgltrees.cells.aggregators.hosvd import TuckerAggregator
from dgltrees.cells.aggregators.modes import expand, multilinear, reduce_shared
from dgltrees.settings import Count


def multisets(indices: int, length: int) -> int:
    """Return the number of multisets of ``length`` indices, the entries of a symmetric tensor."""
    return math.comb(indices + length - 1, length)


def symmetric_maps(indices: int, length: int) -> list[Tensor]:
    """Number the multisets of j indices that add one index to j - 1, for j = 2 .. ``length``.

    Multisets are numbered in colexicographic order (by the largest entry, then by the next, and so
    on), so that the last one contains only the last index. With s_e entries below e, a multiset is
    ``sum over e = 1 .. d - 1 of (s_e + e - 1 over e)`` places before the last. One more entry v
    increases every s_e of e > v by one, and the sum by the binomials (s_e + e - 1 over e - 1).
    """
    n = indices + length - 1
    check_entries(
        f"L = {length} needs index tables of 2 * {indices} * ({n} over {indices})",
        2 * indices * math.comb(n, indices),  # int64: twice a float32
        1,
        1,
    )
    e = np.arange(1, indices)
    rise = np.array([[math.comb(s + i - 1, i - 1) for i in e.tolist()] for s in range(length)])
    below = np.zeros((1, indices - 1), np.int64)  # s_1 .. s_(d - 1) of each multiset of j - 1
    maps = []
    for j in range(2, length + 1):
        below = np.concatenate([below[: multisets(v + 1, j - 2)] + (e > v) for v in range(indices)])
        higher = np.zeros((len(below), indices), np.int64)
        higher[:, :-1] = rise[below, e - 1][:, ::-1].cumsum(1)[:, ::-1]
        last = multisets(indices, j) - len(below) + np.arange(len(below))
        maps.append(torch.from_numpy((last[:, None] - higher).ravel()))
    return maps


def symmetric_product(factors: Sequence[Tensor], maps: Sequence[Tensor]) -> Tensor:
    """Compute the outer product of vectors, summed over entries with the same multiset of indices.

    ::

        E(n, {j_1, .., j_L}) = sum over the distinct orders of j_1 .. j_L of v_1(j_1) .. v_L(j_L)

    so that a symmetric tensor S contracted with all vectors is the sum over the multisets of S
    times E. E is built vector by vector: no intermediate is larger than the multisets of L - 1
    times d, far below the d^L entries of the outer product.
    """
    batch, n, d = factors[0].shape
    rows = [factor.reshape(batch * n, d).t() for factor in factors]
    E = rows[0]  # (d, B n)
    for j, (row, at) in enumerate(zip(rows[1:], maps), start=2):
        pairs = (E.unsqueeze(1) * row).flatten(0, 1)  # (multisets(d, j - 1) d, B n)
        E = pairs.new_zeros(multisets(d, j), batch * n).index_add(0, at, pairs)
    return E.t().reshape(batch, n, -1)


class SymmetricHOSVD(TuckerAggregator):
    r"""The HOSVD approximation of equation (10), symmetric in the children.

    .. math:: a = q(G(w(x), u(h_1), \dots, u(h_L)))

    where u (one mode matrix for all positions), q and w are as in :class:`HOSVD`, and the core G is
    symmetric in the modes of the children: the positional stationarity of the last paragraph of
    Castellana and Bacciu. Swapping children changes nothing, by construction: the core has one
    parameter for each multiset of indices. Arguments and shapes are those of
    :class:`FactorisedAggregator`.
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
        """Return ``c r + r (r + L over L)``."""
        return c * r + r * multisets(r + 1, L)

    def compute(self, h: Tensor, *parameters: Tensor) -> Tensor:
        """Compute equation (10) with a symmetric core."""
        *label, U, b_U, core, Q, b = parameters
        u = reduce_shared(h, U, b_U).transpose(0, 1)  # (L, K, n, G r)
        maps = list(self.buffers())
        factors = [symmetric_product(self._factors(u), maps)]  # (K G, n, multisets(r + 1, L))
        if label:
            factors = [*self._factors(label[0].unsqueeze(0)), *factors]
        return expand(multilinear(core.flatten(0, 1), factors), Q, b)
