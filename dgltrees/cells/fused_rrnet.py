"""Split, recur and merge through all steps, forwards and backwards in one autograd function.

The equations are those of :class:`~dgltrees.cells.rrnet.RRNetCell`, and a test holds them together.
A step costs a few products on slices of a few tables, and the gradient of each matrix is one
product over all steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from dgltrees.cells.fused_lstm import autocasts
from dgltrees.cells.once import refuse_second_derivative
from dgltrees.traversal.operations import OperationPlan, StepRows

__all__ = ["fused_rrnet"]

aten = torch.ops.aten

F1 = 3
"""The unit of what is pushed; those of split, recur and merge are 0, 1 and 2."""


def fused_rrnet(
    plan: Optional[OperationPlan],
    x: Tensor,
    start: tuple[Optional[Tensor], ...],
    mask: Optional[Tensor],
    parameters: tuple[Tensor, ...],
) -> Optional[dict[str, Tensor]]:
    """States of all steps.

    Arguments:
        plan: the rows.
        x: ``(N, m)`` the inputs.
        start: h, c and down at START and OPEN, each ``(N, d)`` or None for zeros.
        mask: ``(N, d)`` what h is multiplied with where it is read, or None.
        parameters: ``W (4, m, 4 d)``, ``U (4, d, 4 d)``, ``b (4, 4 d)``, ``V_1 (2 d, d)``, ``b_1``,
            ``V_2 (d, d)`` and ``b_2``.

    Returns:
        ``h``, ``c`` and ``down``, each ``(N, d)`` in the order of the nodes; None without a plan,
        with tensors of unlike dtypes and under autocast, whose casts are those of the three
        functions.
    """
    alike = all(t is None or t.dtype == x.dtype for t in (*start, mask, *parameters))
    if plan is None or not alike or autocasts(x.device.type):
        return None
    made = _FusedRRNet.apply(plan, x, *start, mask, *parameters)  # type: ignore[no-untyped-call]
    return dict(zip(("h", "c", "down"), made))


class _Tables(NamedTuple):
    """What the forward pass makes, in row order, for n steps, S splits, P pushes and M merges.

    Attributes:
        A: ``(n, 4 d)`` gates; H, C, T: ``(n, d)`` states, memories and tanh(C).
        R: ``(n, d)`` the h that the unit of each step reads, h_m at merges.
        A1, C1, T1: the same as A, C and T of F1, S rows.
        D: ``(P, d)`` what is pushed.
        Z: ``(M, d)`` the hidden layer of the MLP.
    """

    A: Tensor
    H: Tensor
    C: Tensor
    T: Tensor
    R: Tensor
    A1: Tensor
    C1: Tensor
    T1: Tensor
    D: Tensor
    Z: Tensor


class _Parameters(NamedTuple):
    W: Tensor
    U: Tensor
    b: Tensor
    V_1: Tensor
    b_1: Tensor
    V_2: Tensor
    b_2: Tensor


class _FusedRRNet(torch.autograd.Function):
    """All steps, first to last, and back."""

    @staticmethod
    def forward(
        ctx: Any,
        plan: OperationPlan,
        x: Tensor,
        h: Optional[Tensor],
        c: Optional[Tensor],
        down: Optional[Tensor],
        mask: Optional[Tensor],
        *parameters: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        p = _Parameters(*parameters)
        t = _tables(plan, x, p.U.shape[1])
        for unit, rows in enumerate(plan.of):
            own = x.index_select(0, plan.order.index_select(0, rows))
            t.A.index_copy_(0, rows, torch.addmm(p.b[unit], own, p.W[unit]))
            if unit == 0:
                torch.addmm(p.b[F1], own, p.W[F1], out=t.A1)
        first, pushing = plan.order[: plan.starts], plan.order.index_select(0, plan.pushes)
        for given, nodes, table in ((h, first, t.H), (c, first, t.C), (down, pushing, t.D)):
            count = plan.opens if table is t.D else plan.starts
            _begin(given, nodes[:count], table[:count])
        own_mask = None if mask is None else mask.index_select(0, plan.order)
        for level in plan.levels:
            _step(plan, level, t, p, own_mask)
        ctx.save_for_backward(x, own_mask, *t, *parameters)
        ctx.plan, ctx.given = plan, [each is not None for each in (h, c, down)]
        ctx.set_materialize_grads(False)
        pushed = x.new_zeros(t.H.shape).index_copy_(0, pushing, t.D)
        return t.H.index_select(0, plan.back), t.C.index_select(0, plan.back), pushed

    @staticmethod
    def backward(ctx: Any, *grads: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        refuse_second_derivative()
        x, own_mask, *saved = ctx.saved_tensors
        t, p, plan = _Tables(*saved[:10]), _Parameters(*saved[10:]), ctx.plan
        first, pushing = plan.order[: plan.starts], plan.order.index_select(0, plan.pushes)
        g = _Tables(*(torch.empty_like(table) for table in t))
        for grad, nodes, table in zip(grads, (plan.order, plan.order, pushing), (g.H, g.C, g.D)):
            _begin(grad, nodes, table)
        dmask = None if own_mask is None else torch.zeros_like(own_mask)
        for level in reversed(plan.levels):
            _step_back(plan, level, t, g, p, own_mask, dmask)
        dx, of_parameters = _products(plan, x, t, g, p, own_mask)
        starts = [
            _out_of_rows(table[:count], nodes[:count], len(x)) if given else None
            for given, table, nodes, count in zip(
                ctx.given,
                (g.H, g.C, g.D),
                (first, first, pushing),
                (plan.starts, plan.starts, plan.opens),
            )
        ]
        if dmask is not None:
            dmask = dmask.index_select(0, plan.back)
        return None, dx, *starts, dmask, *of_parameters


def _tables(plan: OperationPlan, x: Tensor, d: int) -> _Tables:
    n, (splits, _, merges) = len(x), (len(rows) for rows in plan.of)
    rows = [n] * 5 + [splits] * 3 + [plan.opens + splits, merges]
    widths = [4 * d, *[d] * 4, 4 * d, *[d] * 4]
    return _Tables(*(x.new_empty(shape) for shape in zip(rows, widths)))


def _step(
    plan: OperationPlan, level: StepRows, t: _Tables, p: _Parameters, mask: Optional[Tensor]
) -> None:
    """One step of all sequences that have it."""
    d = p.U.shape[1]
    at, push, merge = _slices(level)
    a, r, before = t.A[at], t.R[at], plan.last[at]
    torch.index_select(t.H, 0, before, out=r)
    if mask is not None:
        r.mul_(mask[at])
    kept = t.C.index_select(0, before)
    splits, _, merges = runs = _runs(level)
    if level.recurs > level.start:
        a1 = t.A1[push].addmm_(r[splits], p.U[F1])
        _unit(a1, kept[splits], t.C1[push], t.T1[push], t.D[plan.opens :][push])
    if level.stop > level.merges:
        top = t.D.index_select(0, plan.top[merge])
        z = torch.addmm(p.b_1, r[merges], p.V_1[:d], out=t.Z[merge]).addmm_(top, p.V_1[d:])
        torch.addmm(p.b_2, z.tanh_(), p.V_2, out=r[merges])
    for unit, rows in enumerate(runs):
        if rows.stop > rows.start:
            a[rows].addmm_(r[rows], p.U[unit])
    _unit(a, kept, t.C[at], t.T[at], t.H[at])


def _step_back(
    plan: OperationPlan,
    level: StepRows,
    t: _Tables,
    g: _Tables,
    p: _Parameters,
    mask: Optional[Tensor],
    dmask: Optional[Tensor],
) -> None:
    """The gradients of a step in ``g``; those of H, C and D grow to those of all uses.

    ``g.R`` becomes the gradient of h_m at merges, and ``g.Z`` that of the MLP's sum.
    """
    d = p.U.shape[1]
    at, push, merge = _slices(level)
    da, dr, before = g.A[at], g.R[at], plan.last[at]
    kept = t.C.index_select(0, before)
    dkept = _unit_back(t.A[at], kept, t.T[at], g.H[at], g.C[at], da)
    splits, _, merges = runs = _runs(level)
    for unit, rows in enumerate(runs):
        if rows.stop > rows.start:
            torch.mm(da[rows], p.U[unit].t(), out=dr[rows])
    dh = dr
    if level.stop > level.merges:
        dz = torch.mm(dr[merges], p.V_2.t())
        aten.tanh_backward.grad_input(dz, t.Z[merge], grad_input=g.Z[merge])
        dz = g.Z[merge]
        dh = dr.clone()
        torch.mm(dz, p.V_1[:d].t(), out=dh[merges])
        g.D.index_add_(0, plan.top[merge], torch.mm(dz, p.V_1[d:].t()))
    if level.recurs > level.start:
        dd, da1 = g.D[plan.opens :][push], g.A1[push]
        dc1 = torch.zeros_like(dd)
        dkept[splits] += _unit_back(t.A1[push], kept[splits], t.T1[push], dd, dc1, da1)
        dh[splits].addmm_(da1, p.U[F1].t())
    if mask is not None and dmask is not None:
        torch.mul(dh, t.H.index_select(0, before), out=dmask[at])
        dh = dh * mask[at]
    g.H.index_add_(0, before, dh)
    g.C.index_add_(0, before, dkept)


def _products(
    plan: OperationPlan, x: Tensor, t: _Tables, g: _Tables, p: _Parameters, mask: Optional[Tensor]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The gradients of x and of the parameters: one product each over all steps."""
    dx, dW, dU, db = (torch.zeros_like(each) for each in (x, p.W, p.U, p.b))
    for unit, rows in enumerate(plan.of):
        nodes, da = plan.order.index_select(0, rows), g.A.index_select(0, rows)
        own, read = x.index_select(0, nodes), t.R.index_select(0, rows)
        grown = torch.zeros_like(own)
        for each, gates in [(unit, da), (F1, g.A1)] if unit == 0 else [(unit, da)]:
            torch.mm(own.t(), gates, out=dW[each])
            torch.mm(read.t(), gates, out=dU[each])
            torch.sum(gates, 0, out=db[each])
            grown.addmm_(gates, p.W[each].t())
        dx.index_copy_(0, nodes, grown)
    merges = plan.of[2]
    inside = t.H.index_select(0, plan.last.index_select(0, merges))
    if mask is not None:
        inside.mul_(mask.index_select(0, merges))
    dV_1 = torch.cat([inside.t() @ g.Z, t.D.index_select(0, plan.top).t() @ g.Z])
    dm = g.R.index_select(0, merges)
    return dx, (dW, dU, db, dV_1, g.Z.sum(0), t.Z.t() @ dm, dm.sum(0))


def _slices(level: StepRows) -> tuple[slice, slice, slice]:
    """The rows of a step in the tables of steps, of splits and of merges."""
    pushes = level.recurs - level.start
    merges = level.stop - level.merges
    return (
        slice(level.start, level.stop),
        slice(level.pushed, level.pushed + pushes),
        slice(level.merged, level.merged + merges),
    )


def _runs(level: StepRows) -> tuple[slice, slice, slice]:
    """The rows of each operation within a step."""
    recurs, merges = level.recurs - level.start, level.merges - level.start
    return slice(0, recurs), slice(recurs, merges), slice(merges, level.stop - level.start)


def _unit(a: Tensor, kept: Tensor, c: Tensor, t: Tensor, h: Tensor) -> None:
    """An LSTM unit from its pre-activations on, which become its gates; writes c, t and h."""
    d = c.shape[1]
    i, f, o, u = a.chunk(4, 1)
    a[:, : 3 * d].sigmoid_()
    u.tanh_()
    torch.mul(f, kept, out=c)
    c.addcmul_(i, u)
    torch.tanh(c, out=t)
    torch.mul(o, t, out=h)


def _unit_back(a: Tensor, kept: Tensor, t: Tensor, dh: Tensor, dc: Tensor, da: Tensor) -> Tensor:
    """Writes da and adds to dc; returns the gradient of ``kept``."""
    d = t.shape[1]
    (i, f, o, u), (di, df, do, du) = a.chunk(4, 1), da.chunk(4, 1)
    dc.add_(aten.tanh_backward(dh * o, t))
    torch.mul(dc, u, out=di)
    torch.mul(dc, kept, out=df)
    torch.mul(dh, t, out=do)
    torch.mul(dc, i, out=du)
    gates, dgates = a[:, : 3 * d], da[:, : 3 * d]
    aten.sigmoid_backward.grad_input(dgates, gates, grad_input=dgates)
    aten.tanh_backward.grad_input(du, u, grad_input=du)
    return dc * f


def _begin(given: Optional[Tensor], nodes: Tensor, out: Tensor) -> None:
    """Write the rows of what some nodes are given, or zeros."""
    if given is None:
        out.zero_()
    else:
        torch.index_select(given, 0, nodes, out=out)


def _out_of_rows(rows: Tensor, nodes: Tensor, count: int) -> Tensor:
    """The gradient of what some nodes were given, zeros at all others."""
    return rows.new_zeros(count, rows.shape[1]).index_copy_(0, nodes, rows)
