"""Products with the modes of a tensor, for each child separately or for all modes at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor


def reduce_children(h: Tensor, U: Tensor, b_U: Tensor) -> Tensor:
    """Compute ``U_j h_j + b_j``, with a separate matrix for each child."""
    types, _, children, _ = h.shape
    rows = h.transpose(1, 2).flatten(0, 1)  # (K L, n, c)
    u = torch.baddbmm(b_U.flatten(0, 1), rows, U.flatten(0, 1))  # (K L, n, d)
    return u.view(types, children, *u.shape[1:])


def reduce_shared(h: Tensor, U: Tensor, b_U: Tensor) -> Tensor:
    """Compute ``U h_j + b``, with the same matrix for all children."""
    u = torch.baddbmm(b_U, h.flatten(1, 2), U)  # (K, n L, d)
    return u.view(*h.shape[:3], -1).transpose(1, 2)


def expand(g: Tensor, Q: Tensor, b: Tensor) -> Tensor:
    """Compute ``Q g + b``, from the rank to the size of a state, for each gate."""
    a = torch.baddbmm(b.flatten(0, 1), g, Q.flatten(0, 1))  # (K G, n, c)
    return a.view(*Q.shape[:2], *a.shape[1:]).transpose(1, 2)


def homogeneous(v: Tensor) -> Tensor:
    """Append a one to the vectors in the last dimension: ``[v; 1]``."""
    return torch.constant_pad_nd(v, (0, 1), 1.0)


def outer(factors: Sequence[Tensor]) -> Tensor:
    """Compute outer products of rows, ``(B, n, d_1), (B, n, d_2), ..`` to ``(B, n, d_1 d_2 ..)``.

    The last factor's index runs fastest.
    """
    product = factors[0]
    for factor in factors[1:]:
        product = (product.unsqueeze(-1) * factor.unsqueeze(-2)).flatten(-2)
    return product


@cache
def split_modes(sizes: tuple[int, ...], out: int) -> int:
    """Return the number of modes to contract by a matrix product, to save the least memory."""

    def saved_per_row(split: int) -> int:
        left, right = math.prod(sizes[:split]), math.prod(sizes[split:])
        return left + (right * (out + 1) if split < len(sizes) else 0)

    return min(range(1, len(sizes) + 1), key=saved_per_row)


def multilinear(T: Tensor, factors: Sequence[Tensor]) -> Tensor:
    """Contract tensors with one vector per mode, for many rows.

    ::

        y(n, k) = sum over j_1 .. j_p of T(j_1, .., j_p, k) v_1(n, j_1) .. v_p(n, j_p)

    The outer product of the first modes is multiplied with the unfolded tensor in one matrix
    product, and the result is contracted with the outer product of the other modes. The split is
    the one with the smallest intermediate rows, never larger than the outer product of all modes.
    """
    batch, _, out = T.shape
    split = split_modes(tuple(factor.shape[-1] for factor in factors), out)
    left = outer(factors[:split])  # (B, n, d_1 .. d_s)
    y = torch.bmm(left, T.reshape(batch, left.shape[-1], -1))  # (B, n, d_s+1 .. d_p k)
    if split == len(factors):
        return y
    right = outer(factors[split:])  # (B, n, d_s+1 .. d_p)
    y = y.view(*right.shape, out)  # (B, n, d_s+1 .. d_p, k)
    return (y * right.unsqueeze(-1)).sum(-2)
