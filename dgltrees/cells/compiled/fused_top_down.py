"""An LSTM along the edges of trees, forwards and backwards in one autograd function.

The equations are those of :class:`~dgltrees.cells.top_down.TopDownLSTM` for one layer; a test
checks that both agree. Every node has one source, so a level costs a dozen operations on slices of
a few tables, and the gradient of the weights is one product per type over all levels.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from dgltrees.cells.compiled.fused_lstm import autocasts
from dgltrees.cells.compiled.once import refuse_second_derivative
from dgltrees.cells.compiled.plans.sources import Run, SourcePlan

__all__ = ["Inputs", "fused_top_down"]

aten = torch.ops.aten


class Inputs(NamedTuple):
    """The inputs to the gates: ``x W_z + b_z``, plus ``left`` at some nodes.

    Attributes:
        x: ``(N, m)``, the inputs.
        W, b: ``(K, m, 4 d)`` and ``(K, 4 d)``, weights and biases of the K types.
        nodes: ``(n,)``, the nodes that read left dependents, or None.
        left: ``(n, 4 d)``, their left dependents' part of the gates, or None.
    """

    x: Tensor
    W: Tensor
    b: Tensor
    nodes: Optional[Tensor] = None
    left: Optional[Tensor] = None


def fused_top_down(
    plan: Optional[SourcePlan], inputs: Inputs, U: Tensor, initial: float, *, steps_at_roots: bool
) -> Optional[tuple[Tensor, Tensor]]:
    r"""Compute the states of all nodes, sources first.

    .. math::

        (i, f, o, u)_t &= (\sigma, \sigma, \sigma, \tanh)(x_t W_z + b_z + h_{t'} U_z) \\
        c_t &= f \odot c_{t'} + i \odot u, \quad h_t = o \odot \tanh(c_t)

    where z is the type of the edge from source t' to t.

    Arguments:
        plan: the rows, or None if there is no plan for this batch.
        inputs: the inputs to the gates.
        U: ``(K, d, 4 d)``, the recurrent weights.
        initial: the value of all entries of h and c before the first step.
        steps_at_roots: whether a node without a source takes a step from the initial state;
            otherwise it has the initial state itself.

    Returns:
        h and c, each ``(N, d)`` in the order of the nodes; None without a plan and under autocast,
        whose casts are those of the three functions.
    """
    if plan is None or inputs.x.dtype != U.dtype or autocasts(U.device.type):
        return None
    args = U, initial, steps_at_roots, plan
    h, c = _FusedTopDown.apply(*inputs, *args)  # type: ignore[no-untyped-call]
    return h, c


class _FusedTopDown(torch.autograd.Function):
    """Tables in row order: A gates (N, 4 d), T = tanh(C) (N, d), and H, C (N + 1, d).

    The last row of H and C is the initial state, the source of rows without one.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        W: Tensor,
        b: Tensor,
        nodes: Optional[Tensor],
        left: Optional[Tensor],
        U: Tensor,
        initial: float,
        steps_at_roots: bool,
        plan: SourcePlan,
    ) -> tuple[Tensor, Tensor]:
        d = U.shape[1]
        A = x.new_empty(len(x), 4 * d)
        for kind, rows in _types(plan, steps_at_roots):
            x_rows = x.index_select(0, plan.order.index_select(0, rows))
            A.index_copy_(0, rows, torch.addmm(b[kind], x_rows, W[kind]))
        if nodes is not None and left is not None:
            A.index_add_(0, plan.back.index_select(0, nodes), left)
        H, C = (x.new_full((len(x) + 1, d), initial) for _ in range(2))
        T = x.new_empty(len(x), d)
        for runs in plan.levels if steps_at_roots else plan.levels[1:]:
            level = _rows(runs)
            a, c, t, source = A[level], C[level], T[level], plan.source[level]
            h_source = H.index_select(0, source)
            for kind, start, stop in runs:
                run = slice(start - level.start, stop - level.start)
                a[run].addmm_(h_source[run], U[kind])
            i, f, o, u = a.chunk(4, 1)
            a[:, : 3 * d].sigmoid_()
            u.tanh_()
            torch.mul(f, C.index_select(0, source), out=c)
            c.addcmul_(i, u)
            torch.tanh(c, out=t)
            torch.mul(o, t, out=H[level])
        ctx.save_for_backward(x, W, nodes, A, H, C, T, U)
        ctx.plan, ctx.steps_at_roots = plan, steps_at_roots
        ctx.set_materialize_grads(False)
        return H.index_select(0, plan.back), C.index_select(0, plan.back)

    @staticmethod
    def backward(ctx: Any, *grads: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        refuse_second_derivative()
        x, W, nodes, A, H, C, T, U = ctx.saved_tensors
        plan: SourcePlan = ctx.plan
        dH, dC = (torch.zeros_like(H) for _ in range(2))  # last row: the initial state
        for table, grad in zip((dH, dC), grads):
            if grad is not None:
                torch.index_select(grad, 0, plan.order, out=table[:-1])
        dA = _gate_gradients(plan, ctx.steps_at_roots, A, C, T, U, dH, dC)
        dx, dW, dU = torch.zeros_like(x), torch.zeros_like(W), torch.zeros_like(U)
        db = W.new_zeros(W.shape[0], W.shape[2])
        for kind, rows in _types(
            plan, ctx.steps_at_roots
        ):  # one product over the rows of all levels
            nodes_of_rows, source = (t.index_select(0, rows) for t in (plan.order, plan.source))
            da = dA.index_select(0, rows)
            dx.index_copy_(0, nodes_of_rows, torch.mm(da, W[kind].t()))
            torch.mm(x.index_select(0, nodes_of_rows).t(), da, out=dW[kind])
            torch.mm(H.index_select(0, source).t(), da, out=dU[kind])
            torch.sum(da, 0, out=db[kind])
        dleft = None if nodes is None else dA.index_select(0, plan.back.index_select(0, nodes))
        return dx, dW, db, None, dleft, dU, None, None, None


def _gate_gradients(
    plan: SourcePlan,
    steps_at_roots: bool,
    A: Tensor,
    C: Tensor,
    T: Tensor,
    U: Tensor,
    dH: Tensor,
    dC: Tensor,
) -> Tensor:
    """``(N, 4 d)`` dA, from the last level to the first; dH and dC are added to."""
    d, dA = U.shape[1], torch.empty_like(A)
    for number in range(len(plan.levels) - 1, -1, -1):
        level = _rows(plan.levels[number])
        a, t, da, source = A[level], T[level], dA[level], plan.source[level]
        if number == 0 and not steps_at_roots:
            da.zero_()
            break
        dh, dc = dH[level], dC[level]
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
        for kind, start, stop in plan.levels[number]:
            dh_source = torch.mm(dA[start:stop], U[kind].t())
            dH.index_add_(0, plan.source[start:stop], dh_source)
    return dA


def _rows(runs: list[Run]) -> slice:
    """The rows of a level."""
    return slice(runs[0].start, runs[-1].stop) if runs else slice(0, 0)


def _types(plan: SourcePlan, steps_at_roots: bool) -> list[tuple[int, Tensor]]:
    """Each type and the rows of that type that take a step."""
    if steps_at_roots:  # one type, and every row does
        return [(0, torch.arange(len(plan.order), device=plan.order.device))]
    return plan.by_type
