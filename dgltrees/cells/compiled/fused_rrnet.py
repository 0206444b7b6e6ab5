"""Split, recur and merge through all steps, forwards and backwards in one autograd function.

The equations are those of :class:`~dgltrees.cells.rrnet.RRNetCell`; a test checks that both agree.
A step costs a few products on slices of a few tables, and the gradient of each matrix is one
product over all steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from dgltrees.cells.casts import autocasts
from dgltrees.cells.compiled.fused_unit import Norm, UnitRows, unit, unit_back
from dgltrees.cells.compiled.once import refuse_second_derivative
from dgltrees.cells.compiled.plans.operations import OperationPlan, StepRows

__all__ = ["fused_rrnet"]

aten = torch.ops.aten

F1 = 3
"""The number of the unit whose states are pushed; split, recur and merge are 0, 1 and 2."""


def fused_rrnet(
    plan: Optional[OperationPlan],
    x: Tensor,
    start: tuple[Optional[Tensor], ...],
    mask: Optional[Tensor],
    parameters: tuple[Optional[Tensor], ...],
    *,
    stack_cell: bool = False,
) -> Optional[dict[str, Tensor]]:
    """Compute the states of all steps.

    Arguments:
        plan: the rows of the steps, or None if there is no plan for this batch.
        x: ``(N, m)``, the inputs.
        start: h, c, down and down_c at START and OPEN, each ``(N, d)`` or None for zeros; the last
            is read with ``stack_cell``.
        mask: ``(N, d)``, multiplied with h where a step reads it, or None.
        parameters: ``W (4, m, 4 d)``, ``U (4, d, 4 d)``, ``b (4, 4 d)``; ``V_1 (2 d, d)``, ``b_1``,
            ``V_2 (d, d)`` and ``b_2``, or None where merges average; ``gain`` and ``shift (4, 5,
            d)``, or None without layer normalisation.
        stack_cell: whether memories are pushed too.

    Returns:
        ``h``, ``c``, ``down`` and with ``stack_cell`` ``down_c``, each ``(N, d)`` in the order of
        the nodes; None without a plan, with tensors of unlike dtypes and under autocast, whose
        casts are those of the three functions.
    """
    if not stack_cell:
        start = (*start[:3], None)
    same_dtype = all(t is None or t.dtype == x.dtype for t in (*start, mask, *parameters))
    if plan is None or not same_dtype or autocasts(x.device.type):
        return None
    way: Any = _FusedRRNet.apply
    return dict(
        zip(("h", "c", "down", "down_c"), way(plan, stack_cell, x, *start, mask, *parameters))
    )


class _Tables(NamedTuple):
    """The results of the forward pass, or their gradients, for n steps, P pushes and M merges.

    Attributes:
        steps: the n rows of the units of the steps.
        pushed: the P rows of the unit F1; first those of OPEN, which have only h and c.
        R: ``(n, d)``, the h that the unit of each step reads; at merges, h_m.
        Z: ``(M, d)``, the hidden layer of the merges' MLP.
    """

    steps: UnitRows
    pushed: UnitRows
    R: Tensor
    Z: Tensor

    @classmethod
    def of(cls, flat: list[Tensor]) -> _Tables:
        """Inverse of :attr:`flat`."""
        size = len(UnitRows._fields)
        return cls(UnitRows(*flat[:size]), UnitRows(*flat[size : 2 * size]), *flat[2 * size :])

    @property
    def flat(self) -> list[Tensor]:
        """All tensors in one list."""
        return [*self.steps, *self.pushed, self.R, self.Z]


class _Parameters(NamedTuple):
    W: Tensor
    U: Tensor
    b: Tensor
    V_1: Optional[Tensor]
    b_1: Optional[Tensor]
    V_2: Optional[Tensor]
    b_2: Optional[Tensor]
    gain: Optional[Tensor]
    shift: Optional[Tensor]

    @property
    def norm(self) -> Optional[Norm]:
        """The parameters of layer normalisation, or None without it."""
        return None if self.gain is None or self.shift is None else Norm(self.gain, self.shift)

    @property
    def mlp(self) -> Optional[tuple[Tensor, ...]]:
        """V_1 of merges, split into its parts for h and the stack, b_1, V_2 and b_2; or None."""
        V_1, b_1, V_2, b_2 = self[3:7]
        if V_1 is None or b_1 is None or V_2 is None or b_2 is None:
            return None
        return (*V_1.chunk(2), b_1, V_2, b_2)


class _FusedRRNet(torch.autograd.Function):
    """All steps of all sequences, one level per step."""

    @staticmethod
    def forward(
        ctx: Any,
        plan: OperationPlan,
        stack_cell: bool,
        x: Tensor,
        h: Optional[Tensor],
        c: Optional[Tensor],
        down: Optional[Tensor],
        down_c: Optional[Tensor],
        mask: Optional[Tensor],
        *parameters: Optional[Tensor],
    ) -> tuple[Tensor, ...]:
        p = _Parameters(*parameters)  # type: ignore[arg-type]
        t = _tables(plan, x, p)
        for each, rows in enumerate(plan.of):
            x_rows = x.index_select(0, plan.order.index_select(0, rows))
            t.steps.A.index_copy_(0, rows, torch.addmm(p.b[each], x_rows, p.W[each]))
            if each == 0:
                torch.addmm(p.b[F1], x_rows, p.W[F1], out=t.pushed.A[plan.opens :])
        first, opens = plan.order[: plan.starts], plan.order[plan.pushes[: plan.opens]]
        pushed = (table[: plan.opens] for table in (t.pushed.H, t.pushed.C))
        of_starts = (table[: plan.starts] for table in (t.steps.H, t.steps.C))
        for values, nodes, table in zip(
            (h, c, down, down_c), (first, first, opens, opens), (*of_starts, *pushed)
        ):
            _write_rows(values, nodes, table)
        mask_rows = None if mask is None else mask.index_select(0, plan.order)
        steps = _Steps(plan, t, p, mask_rows, stack_cell, p.norm, p.mlp)
        for level in plan.levels:
            steps.forward(level)
        ctx.save_for_backward(x, mask_rows, *t.flat, *parameters)
        ctx.plan, ctx.stack_cell = plan, stack_cell
        ctx.has_start = [each is not None for each in (h, c, down, down_c)]
        ctx.set_materialize_grads(False)
        pushing = plan.order.index_select(0, plan.pushes)
        down_tables = [t.pushed.H, t.pushed.C][: 1 + stack_cell]
        zeros = (x.new_zeros(t.steps.H.shape) for _ in down_tables)
        downs = [each.index_copy_(0, pushing, table) for each, table in zip(zeros, down_tables)]
        return *(table.index_select(0, plan.back) for table in (t.steps.H, t.steps.C)), *downs

    @staticmethod
    def backward(ctx: Any, *grads: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        refuse_second_derivative()
        plan, stack_cell = ctx.plan, ctx.stack_cell
        x, mask_rows, *saved = ctx.saved_tensors
        count = 2 * len(UnitRows._fields) + 2
        t, p = _Tables.of(saved[:count]), _Parameters(*saved[count:])
        g = _Tables.of([torch.empty_like(table) for table in t.flat])
        pushing = plan.order.index_select(0, plan.pushes)
        tables = g.steps.H, g.steps.C, g.pushed.H, g.pushed.C
        grads = grads if stack_cell else (*grads, None)
        for grad, nodes, table in zip(grads, (plan.order, plan.order, pushing, pushing), tables):
            _write_rows(grad, nodes, table)
        steps = _Steps(plan, t, p, mask_rows, stack_cell, p.norm, p.mlp)
        dmask = None if mask_rows is None else torch.zeros_like(mask_rows)
        for level in reversed(plan.levels):
            steps.backward(level, g, dmask)
        dx, of_parameters = _products(plan, x, t, g, p, mask_rows)
        counts = plan.starts, plan.starts, plan.opens, plan.opens
        first, opens = plan.order[: plan.starts], pushing[: plan.opens]
        starts = [
            _out_of_rows(table[:count], nodes, len(x)) if has_start else None
            for has_start, table, nodes, count in zip(
                ctx.has_start, tables, (first, first, opens, opens), counts
            )
        ]
        if dmask is not None:
            dmask = dmask.index_select(0, plan.back)
        return None, None, dx, *starts, dmask, *of_parameters


def _tables(plan: OperationPlan, x: Tensor, p: _Parameters) -> _Tables:
    d, n = p.U.shape[1], len(x)
    steps, pushed = (UnitRows.empty(x, k, d, p.norm is not None) for k in (n, len(plan.pushes)))
    return _Tables(steps, pushed, x.new_empty(n, d), x.new_empty(len(plan.of[2]), d))


class _Steps(NamedTuple):
    """The steps of all sequences, level by level."""

    plan: OperationPlan
    t: _Tables
    p: _Parameters
    mask: Optional[Tensor]
    stack_cell: bool
    norm: Optional[Norm]
    mlp: Optional[tuple[Tensor, ...]]

    def forward(self, level: StepRows) -> None:
        """Compute one step of all sequences that are long enough."""
        plan, t, p = self.plan, self.t, self.p
        at, push, merge = _slices(plan, level)
        r, before = t.R[at], plan.last[at]
        torch.index_select(t.steps.H, 0, before, out=r)
        if self.mask is not None:
            r.mul_(self.mask[at])
        runs = _runs(level)
        c = self._memories(before, runs[2], merge)
        if level.recurs > level.start:
            pushed = t.pushed(push)
            pushed.A.addmm_(r[runs[0]], p.U[F1])
            unit(pushed, c[runs[0]], [(F1, slice(None))], self.norm)
        if level.stop > level.merges:
            top = t.pushed.H.index_select(0, plan.top[merge])
            if self.mlp is None:
                r[runs[2]].add_(top).div_(2)
            else:
                V_h, V_top, b_1, V_2, b_2 = self.mlp
                z = torch.addmm(b_1, r[runs[2]], V_h, out=t.Z[merge]).addmm_(top, V_top)
                torch.addmm(b_2, z.tanh_(), V_2, out=r[runs[2]])
        steps = t.steps(at)
        present = [(each, rows) for each, rows in enumerate(runs) if rows.stop > rows.start]
        for each, rows in present:
            steps.A[rows].addmm_(r[rows], p.U[each])
        unit(steps, c, present, self.norm)

    def backward(self, level: StepRows, g: _Tables, dmask: Optional[Tensor]) -> None:
        """Write the gradients of a step to ``g``; those of H and C are added to.

        ``g.R`` becomes the gradient of h_m at merges, and ``g.Z`` that of the MLP's sum.
        """
        plan, t, p = self.plan, self.t, self.p
        at, push, merge = _slices(plan, level)
        dr, before, of_steps = g.R[at], plan.last[at], g.steps(at)
        runs = _runs(level)
        splits, _, merges = runs
        present = [(each, rows) for each, rows in enumerate(runs) if rows.stop > rows.start]
        c = self._memories(before, merges, merge)
        dc = unit_back(t.steps(at), c, of_steps, present, self.norm)
        for each, rows in present:
            torch.mm(of_steps.A[rows], p.U[each].t(), out=dr[rows])
        dh = dr
        if level.stop > level.merges:
            top, dh = plan.top[merge], dr.clone()
            if self.mlp is None:
                g.pushed.H.index_add_(0, top, dh[merges].div_(2))
            else:
                V_h, V_top, _, V_2, _ = self.mlp
                dz = torch.mm(dr[merges], V_2.t())
                aten.tanh_backward.grad_input(dz, t.Z[merge], grad_input=g.Z[merge])
                torch.mm(g.Z[merge], V_h.t(), out=dh[merges])
                g.pushed.H.index_add_(0, top, torch.mm(g.Z[merge], V_top.t()))
            if self.stack_cell:
                g.pushed.C.index_add_(0, top, dc[merges].div_(2))
        if level.recurs > level.start:
            of_pushed = g.pushed(push)
            dc[splits] += unit_back(
                t.pushed(push), c[splits], of_pushed, [(F1, slice(None))], self.norm
            )
            dh[splits].addmm_(of_pushed.A, p.U[F1].t())
        if self.mask is not None and dmask is not None:
            torch.mul(dh, t.steps.H.index_select(0, before), out=dmask[at])
            dh = dh * self.mask[at]
        g.steps.H.index_add_(0, before, dh)
        g.steps.C.index_add_(0, before, dc)

    def _memories(self, before: Tensor, merges: slice, merge: slice) -> Tensor:
        """The memories that enter the units of a step; at merges, the average with the stack's."""
        c = self.t.steps.C.index_select(0, before)
        if self.stack_cell and merges.stop > merges.start:
            top = self.t.pushed.C.index_select(0, self.plan.top[merge])
            c[merges].add_(top).div_(2)
        return c


def _products(
    plan: OperationPlan, x: Tensor, t: _Tables, g: _Tables, p: _Parameters, mask: Optional[Tensor]
) -> tuple[Tensor, list[Optional[Tensor]]]:
    """The gradients of x and of the parameters: one product each over all steps."""
    dx, dW, dU, db = (torch.zeros_like(each) for each in (x, p.W, p.U, p.b))
    norm = p.norm
    dnorm = None if norm is None else Norm(*(torch.zeros_like(each) for each in norm))
    for each, rows in enumerate(plan.of):
        nodes = plan.order.index_select(0, rows)
        x_rows, h_rows = x.index_select(0, nodes), t.R.index_select(0, rows)
        dx_rows = torch.zeros_like(x_rows)
        of = [(each, t.steps, g.steps, rows)]
        if each == 0:
            pushes = torch.arange(plan.opens, len(plan.pushes), device=x.device)
            of.append((F1, t.pushed, g.pushed, pushes))
        for k, values, grads, unit_rows in of:
            da = grads.A.index_select(0, unit_rows)
            torch.mm(x_rows.t(), da, out=dW[k])
            torch.mm(h_rows.t(), da, out=dU[k])
            torch.sum(da, 0, out=db[k])
            dx_rows.addmm_(da, p.W[k].t())
            if norm is not None and dnorm is not None:
                dnorm.gain[k], dnorm.shift[k] = norm.products(values, grads, unit_rows)
        dx.index_copy_(0, nodes, dx_rows)
    of_norm = (None, None) if dnorm is None else dnorm
    return dx, [dW, dU, db, *_of_mlp(plan, t, g, p, mask), *of_norm]


def _of_mlp(
    plan: OperationPlan, t: _Tables, g: _Tables, p: _Parameters, mask: Optional[Tensor]
) -> tuple[Optional[Tensor], ...]:
    """The gradients of V_1, b_1, V_2 and b_2."""
    if p.mlp is None:
        return None, None, None, None
    merges = plan.of[2]
    inside = t.steps.H.index_select(0, plan.last.index_select(0, merges))
    if mask is not None:
        inside.mul_(mask.index_select(0, merges))
    top = t.pushed.H.index_select(0, plan.top)
    dm = g.R.index_select(0, merges)
    return torch.cat([inside.t() @ g.Z, top.t() @ g.Z]), g.Z.sum(0), t.Z.t() @ dm, dm.sum(0)


def _slices(plan: OperationPlan, level: StepRows) -> tuple[slice, slice, slice]:
    """The rows of a step in the tables of steps, of pushes and of merges."""
    pushed = plan.opens + level.pushed
    merges = level.stop - level.merges
    return (
        slice(level.start, level.stop),
        slice(pushed, pushed + level.recurs - level.start),
        slice(level.merged, level.merged + merges),
    )


def _runs(level: StepRows) -> tuple[slice, slice, slice]:
    """The rows of each operation within a step."""
    recurs, merges = level.recurs - level.start, level.merges - level.start
    return slice(0, recurs), slice(recurs, merges), slice(merges, level.stop - level.start)


def _write_rows(values: Optional[Tensor], nodes: Tensor, out: Tensor) -> None:
    """Write the rows of ``values`` at some nodes, or zeros if it is None."""
    if values is None:
        out.zero_()
    else:
        torch.index_select(values, 0, nodes, out=out)


def _out_of_rows(rows: Tensor, nodes: Tensor, count: int) -> Tensor:
    """``(count, d)``: the rows put at their nodes, and zeros at all other nodes."""
    return rows.new_zeros(count, rows.shape[1]).index_copy_(0, nodes, rows)
