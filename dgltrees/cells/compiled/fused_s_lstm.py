"""The S-LSTM on full trees, forwards and backwards in one autograd function.

The equations are those of :class:`~dgltrees.cells.s_lstm.SLSTM`; a test checks that both agree. A
level of full trees is a reshape of the one below it
(:mod:`dgltrees.cells.compiled.plans.full_levels`), so that the matrix products are
nearly all of the work; where the leaves have no memory, the products with it are skipped.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from dgltrees.cells.compiled.once import refuse_second_derivative
from dgltrees.cells.compiled.plans.full_levels import FullLevel, FullLevels
from dgltrees.cells.compiled.workspace import tables

__all__ = ["FusedSLSTM"]

aten = torch.ops.aten


class _Weights(NamedTuple):
    """The parameters of the cell."""

    U: Tensor
    P: Tensor
    V: Tensor
    b: Tensor


class _Tables(NamedTuple):
    """The tables of all rows, leaves first."""

    H: Tensor  # (N, c) state
    C: Tensor  # (N, c) memory
    A: Tensor  # (inner, (3 + L) c) gates i, f_1 .. f_L, o and u
    T: Tensor  # (inner, c) tanh of the memory


class _Gradients(NamedTuple):
    """The gradients of the tables with the same letters."""

    H: Tensor
    C: Tensor
    A: Tensor


class FusedSLSTM(torch.autograd.Function):
    """The states of all nodes, computed from those of the leaves.

    Arguments:
        h: ``(W, c)``, the states of the leaves, in the order of the plan.
        c: ``(W, c)``, their memories, or None for zeros.
        mask: ``(N, c)``, the dropout mask of the children's states, or None.
        U, P, V, b: the parameters of the cell.
        plan: the rows of the batch.

    Returns:
        ``h`` and ``c``, each ``(N, c)``, in the order of the nodes.
    """

    @staticmethod
    def forward(  # noqa: D102
        ctx: Any,
        h: Tensor,
        c: Optional[Tensor],
        mask: Optional[Tensor],
        U: Tensor,
        P: Tensor,
        V: Tensor,
        b: Tensor,
        plan: FullLevels,
    ) -> tuple[Tensor, Tensor]:
        (leaves, size), nodes = h.shape, len(plan.order)
        inner = nodes - leaves
        shapes = [(nodes, size), (nodes, size), (inner, len(b)), (inner, size)]
        ctx.space, tensors = tables(h, shapes)
        filled = _Tables(*tensors)
        filled.H[:leaves] = h
        filled.C[:leaves] = 0.0 if c is None else c
        for level in plan.levels:
            memory = c is not None or level.inner.start > 0
            _up(level, memory, mask, _Weights(U, P, V, b), filled)
        ctx.save_for_backward(mask, U, P, V, b)
        ctx.tables = filled
        ctx.plan, ctx.leaves, ctx.has_memory = plan, leaves, c is not None
        ctx.set_materialize_grads(False)
        return filled.H.index_select(0, plan.back), filled.C.index_select(0, plan.back)

    @staticmethod
    def backward(ctx: Any, *grads: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:  # noqa: D102
        refuse_second_derivative()
        mask, U, P, V, b = ctx.saved_tensors
        filled, plan, weights = ctx.tables, ctx.plan, _Weights(U, P, V, b)
        _space, tensors = tables(U, [table.shape for table in filled[:3]])
        totals = _Gradients(*tensors)
        for grad, into in zip(grads, totals):
            if grad is None:
                into.zero_()
            else:
                torch.index_select(grad, 0, plan.order, out=into)
        for level in reversed(plan.levels):
            memory = ctx.has_memory or level.inner.start > 0
            _down(level, memory, mask, weights, filled, totals)
        dh, dc = totals.H[: ctx.leaves].clone(), None
        if ctx.has_memory:
            dc = totals.C[: ctx.leaves].clone()
        return dh, dc, None, *_weight_gradients(ctx, mask, weights, filled, totals), None


def _up(
    level: FullLevel, memory: bool, mask: Optional[Tensor], weights: _Weights, rows: _Tables
) -> None:
    """Equations (1) to (6) for one level; ``memory`` says whether its children have memories."""
    U, P, V, b = weights
    a, t, c = rows.A[level.inner], rows.T[level.inner], rows.C[level.rows]
    h_below, c_below = level.children(rows.H), level.children(rows.C)
    if mask is not None:
        h_below = h_below * level.children(mask)
    size, L = len(V), P.shape[1] // len(V) - 1
    torch.addmm(b, h_below, U, out=a)
    gates, o, u = a.split_with_sizes([P.shape[1], size, size], 1)
    if memory:
        gates.addmm_(c_below, P)
    gates.sigmoid_()
    u.tanh_()
    torch.mul(gates[:, :size], u, out=c)
    if memory:
        for f_j, c_j in zip(gates.tensor_split(1 + L, 1)[1:], c_below.tensor_split(L, 1)):
            c.addcmul_(f_j, c_j)
    o.addmm_(c, V).sigmoid_()
    torch.tanh(c, out=t)
    torch.mul(o, t, out=rows.H[level.rows])


def _down(
    level: FullLevel,
    memory: bool,
    mask: Optional[Tensor],
    weights: _Weights,
    rows: _Tables,
    grads: _Gradients,
) -> None:
    """The gradients of equations (1) to (6) for one level."""
    U, P, V, _ = weights
    size, gates, L = len(V), P.shape[1], P.shape[1] // len(V) - 1
    t, dh, dc = rows.T[level.inner], grads.H[level.rows], grads.C[level.rows]
    i, *f, o, u = rows.A[level.inner].tensor_split(3 + L, 1)
    da = grads.A[level.inner]
    di, *df, do, du = da.tensor_split(3 + L, 1)
    aten.sigmoid_backward.grad_input(dh * t, o, grad_input=do)
    dc.add_(aten.tanh_backward(dh * o, t)).addmm_(do, V.t())
    aten.sigmoid_backward.grad_input(dc * u, i, grad_input=di)
    aten.tanh_backward.grad_input(dc * i, u, grad_input=du)
    if memory:
        dc_below = level.children(grads.C)
        c_below = level.children(rows.C).tensor_split(L, 1)
        for f_j, df_j, c_j, dc_j in zip(f, df, c_below, dc_below.tensor_split(L, 1)):
            aten.sigmoid_backward.grad_input(dc * c_j, f_j, grad_input=df_j)
            dc_j.addcmul_(dc, f_j)
        dc_below.addmm_(da[:, :gates], P.t())
    else:
        da[:, size:gates] = 0.0
    dh_below = level.children(grads.H)
    if mask is None:
        dh_below.addmm_(da, U.t())
    else:
        dh_below.addcmul_(torch.mm(da, U.t()), level.children(mask))


def _weight_gradients(
    ctx: Any, mask: Optional[Tensor], weights: _Weights, rows: _Tables, grads: _Gradients
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of U, P, V and b: one product per weight over the rows of all levels."""
    plan, (size, gates), dA = ctx.plan, (len(weights.V), weights.P.shape[1]), grads.A
    h = plan.children(rows.H)
    if mask is not None:
        h = h * plan.children(mask)
    first = 0 if ctx.has_memory or not plan.levels else plan.levels[0].n
    dP = torch.mm(plan.children(rows.C)[first:].t(), dA[first:, :gates])
    dV = torch.mm(rows.C[ctx.leaves :].t(), dA[:, gates : gates + size])
    return torch.mm(h.t(), dA), dP, dV, dA.sum(0)
