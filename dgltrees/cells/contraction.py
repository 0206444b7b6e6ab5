"""A tensor contracted with one vector a mode, and its derivative, for rows that come in parts.

The same sum as :func:`dgltrees.cells.aggregators.multilinear.multilinear`, split at the same mode,
but with rows last: an outer product then multiplies whole rows of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import torch
from torch import Tensor

from dgltrees.cells.aggregators.multilinear import split_modes

__all__ = ["Contraction"]

# How many numbers of outer products there may be at a time when the tensor's gradient is summed.
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

    def forward(self, of: slice, v: Tensor) -> tuple[Tensor, Optional[Tensor]]:
        """Contract with the tensors ``of``.

        Arguments:
            of: which of T, b of them.
            v: ``(b, p, d, n)``.

        Returns:
            y ``(b, k, n)``; and what is left when the first modes are contracted, where that is
            not y, for the gradient.
        """
        factors = v.unbind(1)
        rest = torch.bmm(self.T[of].transpose(1, 2), _outer(factors[: self.split])[-1])
        if self.right == 1:
            return rest, None
        rest = rest.view(len(v), self.right, self.out, -1)
        return (rest * _outer(factors[self.split :])[-1].unsqueeze(2)).sum(1), rest

    def backward(self, of: slice, v: Tensor, rest: Optional[Tensor], dy: Tensor) -> Tensor:
        """The gradient of v."""
        dv = torch.empty_like(v)
        factors, grads = v.unbind(1), dv.unbind(1)
        first, last = factors[: self.split], factors[self.split :]
        if rest is not None:
            right = _outer(last)
            _outer_gradient(last, right, (rest * dy.unsqueeze(1)).sum(2), grads[self.split :])
            dy = (right[-1].unsqueeze(2) * dy.unsqueeze(1)).flatten(1, 2)
        _outer_gradient(first, _outer(first[:-1]), torch.bmm(self.T[of], dy), grads)
        return dv

    def gradient(self, out: Tensor, v: Tensor, dy: Tensor) -> None:
        """Write the gradient of some of T, ``(b, d^p, k)``, to ``out``: one product for all rows.

        Where outer products are large, the rows come in parts, each added to what there is.
        """
        dT = out.view(len(out), -1, self.right * self.out)
        rows = max(1, CHUNK // (dT.shape[0] * max(dT.shape[1:])))
        for number, (some, d) in enumerate(
            zip(torch.split(v, rows, -1), torch.split(dy, rows, -1))
        ):
            factors = some.unbind(1)
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
    for i in range(len(factors) - 1, 0, -1):
        before, factor = products[i - 1], factors[i]
        grad = grad.view(*before.shape[:2], *factor.shape[1:])  # (b, d^i, d, n)
        torch.sum(grad * before.unsqueeze(2), 1, out=grads[i])
        grad = (grad * factor.unsqueeze(1)).sum(2)
    grads[0].copy_(grad)
