"""A tensor contracted with one vector per mode, and its derivatives, over many rows.

It is the sum of :func:`dgltrees.cells.aggregators.multilinear.multilinear`, split at the same mode,
but with rows last, so that an outer product multiplies contiguous numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import torch
from torch import Tensor

from dgltrees.cells.aggregators.multilinear import split_modes

__all__ = ["Contraction"]

# How many numbers the outer products may have at a time when the tensor's gradient is summed.
CHUNK = 1 << 24


class Contraction:
    """``y(k, n) = sum over j_1 .. j_p of T(j_1, .., j_p, k) v_1(j_1, n) .. v_p(j_p, n)``.

    Arguments:
        T: ``(B, d^p, k)``, the input modes unfolded into one dimension, the last fastest.
        size: d.
        modes: p.
    """

    def __init__(self, T: Tensor, size: int, modes: int) -> None:
        batch, _, self.out = T.shape
        self.split = split_modes((size,) * modes, self.out)
        self.right = size ** (modes - self.split)
        self.T = T.reshape(batch, size**self.split, self.right * self.out)

    def forward(self, v: Tensor) -> tuple[Tensor, Optional[Tensor]]:
        """Contract all rows.

        Arguments:
            v: ``(B, p, d, n)``.

        Returns:
            y, ``(B, n, k)``; and for :meth:`backward` the contraction of the first modes, or None
            where that is y itself.
        """
        factors = v.unbind(1)
        partial = torch.bmm(_outer(factors[: self.split])[-1].transpose(1, 2), self.T)
        if self.right == 1:
            return partial, None
        partial = partial.transpose(1, 2).contiguous().view(len(v), self.right, self.out, -1)
        y = (partial * _outer(factors[self.split :])[-1].unsqueeze(2)).sum(1)
        return y.transpose(1, 2), partial

    def backward(self, v: Tensor, partial: Optional[Tensor], dy: Tensor) -> Tensor:
        """The gradient of v, from that of y, ``(B, k, n)``."""
        dv = torch.empty_like(v)
        factors, grads = v.unbind(1), dv.unbind(1)
        first, last = factors[: self.split], factors[self.split :]
        if partial is not None:
            right = _outer(last)
            _outer_gradient(last, right, (partial * dy.unsqueeze(1)).sum(2), grads[self.split :])
            dy = (right[-1].unsqueeze(2) * dy.unsqueeze(1)).flatten(1, 2)
        _outer_gradient(first, _outer(first[:-1]), torch.bmm(self.T, dy), grads)
        return dv

    def gradient(self, v: Tensor, dy: Tensor, out: Tensor) -> None:
        """Write the gradient of T: one product for all rows.

        Where the outer products would be large, they are summed over chunks of rows.
        """
        dT = out.view(self.T.shape)
        rows = max(1, CHUNK // (len(dT) * max(dT.shape[1:])))
        parts = zip(torch.split(v, rows, -1), torch.split(dy, rows, -1))
        for number, (rows_of_part, d) in enumerate(parts):
            factors = rows_of_part.unbind(1)
            if self.right > 1:
                right = _outer(factors[self.split :])[-1]
                d = (right.unsqueeze(2) * d.unsqueeze(1)).flatten(1, 2)
            left = _outer(factors[: self.split])[-1]
            dT.baddbmm_(left, d.transpose(1, 2), beta=float(number > 0))


def _outer(factors: Sequence[Tensor]) -> list[Tensor]:
    """Outer products of the first factor, the first two, and so on: ``(b, d^i, n)``."""
    products = [*factors[:1]]
    for factor in factors[1:]:
        products.append((products[-1].unsqueeze(2) * factor.unsqueeze(1)).flatten(1, 2))
    return products


def _outer_gradient(
    factors: Sequence[Tensor], products: Sequence[Tensor], grad: Tensor, grads: Sequence[Tensor]
) -> None:
    """Write the gradients of the factors, given that of their outer product."""
    if len(factors) == 1:
        grads[0].copy_(grad)
    for i in range(len(factors) - 1, 0, -1):
        before, factor = products[i - 1].unsqueeze(2), factors[i].unsqueeze(1)
        grad = grad.view(len(grad), before.shape[1], factor.shape[2], -1)  # (b, d^i, d, n)
        torch.sum(grad * before, 1, out=grads[i])
        if i == 1:
            torch.sum(grad * factor, 2, out=grads[0])
        else:
            grad = (grad * factor).sum(2)
