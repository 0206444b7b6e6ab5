"""An LSTM along the edges of trees, forwards and backwards in one autograd function.

The equations are those of :class:`~dgltrees.cells.top_down.TopDownLSTM` for one layer, and a test
holds them together. Every node hears from one source, so a level costs a dozen operations on slices
of a few tables, and the gradient of the weights is one product a type over all levels.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from dgltrees.cells.fused_lstm import autocasts
from dgltrees.cells.once import refuse_second_derivative
from dgltrees.traversal.sources import Run, SourcePlan

__all__ = ["fused_top_down"]

aten = torch.ops.aten


def fused_top_down(
    plan: Optional[SourcePlan], wx: Tensor, U: Tensor, initial: float, *, starts: bool
) -> Optional[tuple[Tensor, Tensor]]:
    r"""States of all nodes, sources first.

    .. math::

        (i, f, o, u)_t &= (\sigma, \sigma, \sigma, \tanh)(wx_t + U_z h_{t'}) \\
        c_t &= f \odot c_{t'} + i \odot u, \quad h_t = o \odot \tanh(c_t)

    where z is the type of the edge from source t' to t.

    Arguments:
        plan: the rows.
        wx: ``(N, 4 d)`` what the node itself adds, biases included.
        U: ``(K, d, 4 d)``.
        initial: every entry of h and c where there is no source.
        starts: whether a node without a source takes a step from there, or has that state itself.

    Returns:
        h and c, each ``(N, d)`` in the order of the nodes; None without a plan and under autocast,
        whose casts are those of the three functions.
    """
    if plan is None or wx.dtype != U.dtype or autocasts(wx.device.type):
        return None
    h, c = _FusedTopDown.apply(wx, U, initial, starts, plan)  # type: ignore[no-untyped-call]
    return h, c


class _FusedTopDown(torch.autograd.Function):
    """Tables in row order: A gates (N, 4 d), T = tanh(C) (N, d), and H, C (N + 1, d).

    The last row of H and C is the initial state, which rows without a source take for theirs.
    """

    @staticmethod
    def forward(
        ctx: Any, wx: Tensor, U: Tensor, initial: float, starts: bool, plan: SourcePlan
    ) -> tuple[Tensor, Tensor]:
        d = U.shape[1]
        A = wx.index_select(0, plan.order)
        H, C = (wx.new_full((len(wx) + 1, d), initial) for _ in range(2))
        T = wx.new_empty(len(wx), d)
        for runs in plan.levels if starts else plan.levels[1:]:
            rows = _rows(runs)
            a, c, t, source = A[rows], C[rows], T[rows], plan.source[rows]
            below = H.index_select(0, source)
            for kind, start, stop in runs:
                at = slice(start - rows.start, stop - rows.start)
                a[at].addmm_(below[at], U[kind])
            i, f, o, u = a.chunk(4, 1)
            a[:, : 3 * d].sigmoid_()
            u.tanh_()
            torch.mul(f, C.index_select(0, source), out=c)
            c.addcmul_(i, u)
            torch.tanh(c, out=t)
            torch.mul(o, t, out=H[rows])
        ctx.save_for_backward(A, H, C, T, U)
        ctx.plan, ctx.starts = plan, starts
        ctx.set_materialize_grads(False)
        return H.index_select(0, plan.back), C.index_select(0, plan.back)

    @staticmethod
    def backward(ctx: Any, *grads: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        refuse_second_derivative()
        A, H, C, T, U = ctx.saved_tensors
        plan: SourcePlan = ctx.plan
        d = U.shape[1]
        dH, dC = (torch.zeros_like(H) for _ in range(2))  # the last row takes what nobody wants
        for table, grad in zip((dH, dC), grads):
            if grad is not None:
                torch.index_select(grad, 0, plan.order, out=table[:-1])
        dA = torch.empty_like(A)
        for level in range(len(plan.levels) - 1, -1, -1):
            rows = _rows(plan.levels[level])
            a, t, da, source = A[rows], T[rows], dA[rows], plan.source[rows]
            if level == 0 and not ctx.starts:
                da.zero_()
                break
            dh, dc = dH[rows], dC[rows]
            (i, f, o, u), (di, df, do, du) = a.chunk(4, 1), da.chunk(4, 1)
            dc.add_(aten.tanh_backward(dh * o, t))
            torch.mul(dc, u, out=di)
            torch.mul(dc, C.index_select(0, source), out=df)
            torch.mul(dh, t, out=do)
            torch.mul(dc, i, out=du)
            gates, dgates = a[:, : 3 * d], da[:, : 3 * d]
            aten.sigmoid_backward.grad_input(dgates, gates, grad_input=dgates)
            aten.tanh_backward.grad_input(du, u, grad_input=du)
            dC.index_add_(0, source, dc * f)
            for kind, start, stop in plan.levels[level]:
                dh_source = torch.mm(dA[start:stop], U[kind].t())
                dH.index_add_(0, plan.source[start:stop], dh_source)
        dU = _weight_gradient(H, dA, U, ctx.starts, plan)
        return dA.index_select(0, plan.back), dU, None, None, None


def _rows(runs: list[Run]) -> slice:
    """The rows of a level."""
    return slice(runs[0].start, runs[-1].stop) if runs else slice(0, 0)


def _weight_gradient(H: Tensor, dA: Tensor, U: Tensor, starts: bool, plan: SourcePlan) -> Tensor:
    """One product a type over the rows of all levels."""
    if starts:  # one type, and every row has taken a step
        return torch.mm(H.index_select(0, plan.source).t(), dA)[None]
    dU = torch.zeros_like(U)
    for kind, rows in plan.by_type:
        source = plan.source.index_select(0, rows)
        own, da = H.index_select(0, source), dA.index_select(0, rows)
        torch.mm(own.t(), da, out=dU[kind])
    return dU
