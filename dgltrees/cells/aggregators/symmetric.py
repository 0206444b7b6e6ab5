"""Outer products of vectors, summed by multiset of indices, for symmetric tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from dgltrees.cells.aggregators.limits import check_entries

__all__ = ["multisets", "symmetric_maps", "symmetric_product"]


def multisets(indices: int, length: int) -> int:
    """The number of multisets of ``length`` out of ``indices``: entries of a symmetric tensor."""
    return math.comb(indices + length - 1, length)


def symmetric_maps(indices: int, length: int) -> list[Tensor]:
    """For j = 2 .. ``length``, the number of the multiset made of j - 1 indices and one more.

    Multisets are numbered in colexicographic order: by largest entry first, then by the next, and
        so on,
    so that the last of all holds the last index only. With s_e entries below e, a multiset is
    ``sum over e = 1 .. d - 1 of (s_e + e - 1 over e)`` places before the last; one more entry v
    raises every s_e of e > v by one, and that sum by the binomials (s_e + e - 1 over e - 1).

    Returns:
        ``length - 1`` tensors, the j-th ``(multisets(indices, j - 1) * indices,)`` int64, the
        added index fastest.

    Raises:
        ConfigError: the tensors would be too large.
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
    """The outer product of vectors, entries with the same multiset of indices summed.

    ::

        E(n, {j_1, .., j_L}) = sum over the distinct orders of j_1 .. j_L of v_1(j_1) .. v_L(j_L)

    so that a symmetric tensor S contracted with all of them is the sum over the multisets of
    S times E. Built up vector by vector, no intermediate is larger than the multisets of L - 1
    times d, far below the d^L entries of the outer product.

    Arguments:
        factors: L tensors ``(B, n, d)``.
        maps: the result of :func:`symmetric_maps` for d and L.

    Returns:
        ``(B, n, multisets(d, L))``.
    """
    batch, n, d = factors[0].shape
    rows = [factor.reshape(batch * n, d).t() for factor in factors]
    E = rows[0]  # (d, B n)
    for j, (row, at) in enumerate(zip(rows[1:], maps), start=2):
        pairs = (E.unsqueeze(1) * row).flatten(0, 1)  # (multisets(d, j - 1) d, B n)
        E = pairs.new_zeros(multisets(d, j), batch * n).index_add(0, at, pairs)
    return E.t().reshape(batch, n, -1)
