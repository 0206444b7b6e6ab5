"""Affine maps between the children's states and the ranks of factorised aggregators."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["expand", "reduce_children", "reduce_shared"]


def reduce_children(h: Tensor, U: Tensor, b_U: Tensor) -> Tensor:
    """``U_j h_j + b_j``, with a separate matrix for each child.

    Arguments:
        h: ``(K, n, L, c)`` states of the children.
        U: ``(K, L, c, d)``.
        b_U: ``(K, L, 1, d)``.

    Returns:
        ``(K, L, n, d)``.
    """
    types, _, children, _ = h.shape
    rows = h.transpose(1, 2).flatten(0, 1)  # (K L, n, c)
    u = torch.baddbmm(b_U.flatten(0, 1), rows, U.flatten(0, 1))  # (K L, n, d)
    return u.view(types, children, *u.shape[1:])


def reduce_shared(h: Tensor, U: Tensor, b_U: Tensor) -> Tensor:
    """``U h_j + b``, with the same matrix for all children.

    Arguments:
        h: ``(K, n, L, c)`` states of the children.
        U: ``(K, c, d)``.
        b_U: ``(K, 1, d)``.

    Returns:
        ``(K, L, n, d)``.
    """
    u = torch.baddbmm(b_U, h.flatten(1, 2), U)  # (K, n L, d)
    return u.view(*h.shape[:3], -1).transpose(1, 2)


def expand(g: Tensor, Q: Tensor, b: Tensor) -> Tensor:
    """``Q g + b``, from the rank to the size of a state, for each gate.

    Arguments:
        g: ``(K G, n, r)``.
        Q: ``(K, G, r, c)``.
        b: ``(K, G, 1, c)``.

    Returns:
        ``(K, n, G, c)``.
    """
    a = torch.baddbmm(b.flatten(0, 1), g, Q.flatten(0, 1))  # (K G, n, c)
    return a.view(*Q.shape[:2], *a.shape[1:]).transpose(1, 2)
