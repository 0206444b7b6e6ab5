"""LSTM units over rows of tables, with a hand-written backward pass.

With layer normalisation (Ba et al., 2016) each gate's pre-activation is normalised, and so is the
memory in h = o tanh(norm(c)). Each unit has its own gains and shifts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Optional

import torch
from torch import Tensor

__all__ = ["Norm", "UnitRows", "unit", "unit_back"]

aten = torch.ops.aten

EPSILON = 1e-5
"""Epsilon of layer normalisation, the default of torch."""

Runs = Sequence[tuple[int, slice]]
"""Pairs of a unit and the rows it applies to; units without rows may be missing."""


class UnitRows(NamedTuple):
    """The tables of n rows of units; or the gradients of these tables.

    Attributes:
        A: ``(n, 4 d)``, the pre-activations, which become the gates i, f, o, u.
        H, C: ``(n, d)``, states and memories.
        T: ``(n, d)``, tanh of the memory, after its normalisation if there is one.
        X, Y: ``(n, 4 d)`` and ``(n, d)``, normalised pre-activations and memories, before gain and
            shift; as gradients, those after gain and shift. No columns without a norm.
        S: ``(n, 5)``, the inverse standard deviations of both.
    """

    A: Tensor
    H: Tensor
    C: Tensor
    T: Tensor
    X: Tensor
    Y: Tensor
    S: Tensor

    @classmethod
    def empty(cls, like: Tensor, rows: int, d: int, norm: bool) -> UnitRows:
        """Uninitialised tables."""
        widths = 4 * d, d, d, d, 4 * d * norm, d * norm, 5 * norm
        return cls(*(like.new_empty(rows, width) for width in widths))

    def __call__(self, rows: slice) -> UnitRows:
        """A slice of the rows of every table."""
        of_norm = self[4:] if not self.S.shape[1] else (table[rows] for table in self[4:])
        return UnitRows(*(table[rows] for table in self[:4]), *of_norm)


class Norm(NamedTuple):
    """The parameters of layer normalisation: ``(units, 5, d)``, four gates and the memory."""

    gain: Tensor
    shift: Tensor

    def gates(self, u: UnitRows, runs: Runs) -> None:
        """Normalise pre-activations, in place."""
        d = u.C.shape[1]
        normal, _, scale = aten.native_layer_norm(u.A.view(-1, 4, d), [d], None, None, EPSILON)
        u.X.copy_(normal.view(-1, 4 * d))
        u.S[:, :4] = scale[:, :, 0]
        for each, rows in runs:
            gain, shift = self.gain[each, :4].reshape(-1), self.shift[each, :4].reshape(-1)
            torch.addcmul(shift, u.X[rows], gain, out=u.A[rows])

    def memory(self, u: UnitRows, runs: Runs) -> None:
        """Write the normalised memory to T."""
        normal, _, scale = aten.native_layer_norm(u.C, [u.C.shape[1]], None, None, EPSILON)
        u.Y.copy_(normal)
        u.S[:, 4:] = scale
        for each, rows in runs:
            torch.addcmul(self.shift[each, 4], u.Y[rows], self.gain[each, 4], out=u.T[rows])

    def gates_back(self, u: UnitRows, g: UnitRows, runs: Runs) -> None:
        """Replace the gradients in ``g.A``, those after gain and shift, by those of the inputs."""
        d = u.C.shape[1]
        g.X.copy_(g.A)
        for each, rows in runs:
            g.A[rows].mul_(self.gain[each, :4].reshape(-1))
        grad, normal = g.A.view(-1, 4, d), u.X.view(-1, 4, d)
        g.A.copy_(_normal_back(grad, normal, u.S[:, :4, None]).view(-1, 4 * d))

    def memory_back(self, u: UnitRows, g: UnitRows, grad: Tensor, runs: Runs) -> Tensor:
        """The gradient of the memory, from ``grad``, that of the normalised memory."""
        g.Y.copy_(grad)
        for each, rows in runs:
            grad[rows].mul_(self.gain[each, 4])
        return _normal_back(grad, u.Y, u.S[:, 4:])

    def products(self, u: UnitRows, g: UnitRows, rows: Tensor) -> tuple[Tensor, Tensor]:
        """``(5, d)`` the gradients of gain and shift from all rows of one unit."""
        d = u.C.shape[1]
        gains, shifts = list[Tensor](), list[Tensor]()
        for grad, normal in ((g.X, u.X), (g.Y, u.Y)):
            unit_grad = grad.index_select(0, rows)
            shifts.append(unit_grad.sum(0))
            gains.append(unit_grad.mul_(normal.index_select(0, rows)).sum(0))
        return torch.cat(gains).view(5, d), torch.cat(shifts).view(5, d)


def unit(u: UnitRows, before: Tensor, runs: Runs, norm: Optional[Norm]) -> None:
    """Turn the pre-activations in A into gates, and write H, C and T.

    Arguments:
        u: the rows.
        before: ``(n, d)``, the memories before this step.
        runs: which rows belong to which unit, for the norm.
        norm: layer normalisation, or None.
    """
    d = before.shape[1]
    if norm is not None:
        norm.gates(u, runs)
    i, f, o, new = u.A.chunk(4, 1)
    u.A[:, : 3 * d].sigmoid_()
    new.tanh_()
    torch.mul(f, before, out=u.C)
    u.C.addcmul_(i, new)
    if norm is None:
        torch.tanh(u.C, out=u.T)
    else:
        norm.memory(u, runs)
        u.T.tanh_()
    torch.mul(o, u.T, out=u.H)


def unit_back(u: UnitRows, before: Tensor, g: UnitRows, runs: Runs, norm: Optional[Norm]) -> Tensor:
    """Write ``g.A`` from ``g.H`` and ``g.C``, and return the gradient of ``before``.

    ``g.C`` becomes the gradient of the memory from both its uses.
    """
    d = before.shape[1]
    (i, f, o, new), (di, df, do, dnew) = u.A.chunk(4, 1), g.A.chunk(4, 1)
    dinner = aten.tanh_backward(g.H * o, u.T)
    dc = g.C.add_(dinner if norm is None else norm.memory_back(u, g, dinner, runs))
    torch.mul(dc, new, out=di)
    torch.mul(dc, before, out=df)
    torch.mul(g.H, u.T, out=do)
    torch.mul(dc, i, out=dnew)
    gates, dgates = u.A[:, : 3 * d], g.A[:, : 3 * d]
    aten.sigmoid_backward.grad_input(dgates, gates, grad_input=dgates)
    aten.tanh_backward.grad_input(dnew, new, grad_input=dnew)
    dbefore = dc * f
    if norm is not None:
        norm.gates_back(u, g, runs)
    return dbefore


def _normal_back(grad: Tensor, normal: Tensor, scale: Tensor) -> Tensor:
    """The gradient of the input of a normalisation over the last axis."""
    mean, along = grad.mean(-1, keepdim=True), (grad * normal).mean(-1, keepdim=True)
    return (grad - mean - normal * along).mul_(scale)
