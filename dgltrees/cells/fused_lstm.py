"""Tree-LSTMs whose children add up, forwards and backwards in one autograd function.

The equations are those of :class:`~dgltrees.cells.child_sum.ChildSumTreeLSTM` and of
:class:`~dgltrees.cells.tree_lstm.TreeLSTM` with a sum, and a test holds them together. With rows
instead of mailboxes (:mod:`dgltrees.traversal.rows`) a level costs a dozen operations on slices of
a few tables, and the gradient of the weights is one product over all levels.
"""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.traversal.rows import Part, RowPlan, rows_of
from dgltrees.trees.batch import TreeBatch

__all__ = ["autocasts", "drops", "fused_lstm"]

aten = torch.ops.aten


def fused_lstm(
    batch: TreeBatch,
    wx: Tensor,
    wx_f: Optional[Tensor],
    U: Tensor,
    U_f: Tensor,
    b_f: Optional[Tensor] = None,
    types: Optional[NDArray[np.int64]] = None,
) -> Optional[dict[str, Tensor]]:
    r"""States of all nodes, from the leaves up.

    .. math::

        (i, o, u)_v &= (\sigma, \sigma, \tanh)(wx_v + \sum_j U_{t(j)}^{i,o,u} h_j) \\
        f_{vj} &= \sigma(wx^f_v + U^f_{t(j)} h_j + b^f_{t(j)}) \\
        c_v &= i \odot u + \sum_j f_{vj} \odot c_j, \quad h_v = o \odot \tanh(c_v)

    where t(j) is the type of the edge from child j to its parent v.

    Arguments:
        batch: the trees.
        wx: ``(N, 3 c)`` what the node itself adds to i, o and u, biases included.
        wx_f: ``(N, c)`` what it adds to the forget gates of its children, or None.
        U: ``(T, c, 3 c)`` the matrices of i, o and u for each of T types.
        U_f: ``(T, c, c)`` those of f.
        b_f: ``(T, c)``, or None.
        types: ``(E,)`` the type of each edge; all 0, if not given.

    Returns:
        ``{"h": (N, c), "c": (N, c)}`` in the order of the nodes; None where a node has two parents
        and under autocast, whose casts are those of the three functions.
    """
    if wx.dtype != U.dtype or autocasts(wx.device.type):
        return None
    plan = rows_of(batch, types, device=wx.device)
    if plan is None:
        return None
    h, c = _FusedLSTM.apply(wx, wx_f, U, U_f, b_f, plan)  # type: ignore[no-untyped-call]
    return {"h": h, "c": c}


def autocasts(device: str) -> bool:
    """Whether operations on the device choose their own precision now."""
    try:
        return torch.is_autocast_enabled(device)
    except TypeError:  # torch before 2.4
        return torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()
    except RuntimeError:  # a device that has none
        return False


def drops(dropout: nn.Dropout) -> bool:
    """Whether the module drops anything now."""
    return dropout.training and dropout.p > 0


class _FusedLSTM(torch.autograd.Function):
    """Tables in row order: A gates (N, 3 c), F forget gates (N, c), C, T = tanh(C), H (N, c)."""

    @staticmethod
    def forward(
        ctx: Any,
        wx: Tensor,
        wx_f: Optional[Tensor],
        U: Tensor,
        U_f: Tensor,
        b_f: Optional[Tensor],
        plan: RowPlan,
    ) -> tuple[Tensor, Tensor]:
        A = wx.index_select(0, plan.order)
        F = _forget_inputs(U, wx_f, b_f, plan)
        C, T, H = (torch.empty_like(F) for _ in range(3))
        C[plan.spans[0].stop :] = 0  # what the children add comes here
        for span, (a, c, t, h) in zip(plan.spans, _cut(plan, A, C, T, H)):
            i, o, u = a.chunk(3, 1)
            a[:, : 2 * U.shape[1]].sigmoid_()
            u.tanh_()
            if span.start:
                c.addcmul_(i, u)
            else:
                torch.mul(i, u, out=c)
            torch.tanh(c, out=t)
            torch.mul(o, t, out=h)
            for part in span.parts:
                _to_parents(part, H, U, U_f, A, F, C, plan.parent)
        ctx.save_for_backward(A, F, C, T, H, U, U_f)
        ctx.plan, ctx.has_input, ctx.has_bias = plan, wx_f is not None, b_f is not None
        ctx.set_materialize_grads(False)
        return H.index_select(0, plan.back), C.index_select(0, plan.back)

    @staticmethod
    def backward(ctx: Any, *grads: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        if torch.is_grad_enabled():
            raise RuntimeError(
                "expected one derivative of a fused cell, got a graph for a second "
                "(create_graph=True); run the cell with fused=False"
            )
        A, F, C, T, H, U, U_f = ctx.saved_tensors
        plan: RowPlan = ctx.plan
        dH, dC = (
            torch.zeros_like(H) if grad is None else grad.index_select(0, plan.order)
            for grad in grads
        )
        dA, dF = torch.empty_like(A), torch.empty_like(F)
        cut = _cut(plan, A, T, dH, dC, dA)
        for span, (a, t, dh, dc, da) in zip(reversed(plan.spans), reversed(cut)):
            for part in span.parts:
                _from_parents(part, dH, dC, dA, dF, F, C, U, U_f, plan.parent)
            dF[span.parts[-1].stop if span.parts else span.start : span.stop] = 0  # roots
            (i, o, u), (di, do, du) = a.chunk(3, 1), da.chunk(3, 1)
            dc.add_(aten.tanh_backward(dh * o, t))
            torch.mul(dc, u, out=di)
            torch.mul(dh, t, out=do)
            torch.mul(dc, i, out=du)
            gates, dgates = a[:, : 2 * U.shape[1]], da[:, : 2 * U.shape[1]]
            aten.sigmoid_backward.grad_input(dgates, gates, grad_input=dgates)
            aten.tanh_backward.grad_input(du, u, grad_input=du)
        dwx_f = db_f = None
        if ctx.has_input:
            dwx_f = torch.zeros_like(H).index_add_(0, plan.parent_node, dF)
        if ctx.has_bias:
            db_f = torch.zeros_like(U_f[:, 0]).index_add_(0, plan.types, dF)
        dU, dU_f = _weight_gradients(H, dA, dF, U, U_f, plan)
        return dA.index_select(0, plan.back), dwx_f, dU, dU_f, db_f, None


def _cut(plan: RowPlan, *tables: Tensor) -> list[tuple[Tensor, ...]]:
    """The rows of each span, of all tables."""
    sizes = [span.stop - span.start for span in plan.spans]
    return list(zip(*(table.split_with_sizes(sizes) for table in tables)))


def _forget_inputs(
    like: Tensor, wx_f: Optional[Tensor], b_f: Optional[Tensor], plan: RowPlan
) -> Tensor:
    """``(N, c)`` what the forget gate of each row gets apart from its own state."""
    bias = None if b_f is None else b_f.index_select(0, plan.types)
    if wx_f is None:
        return like.new_zeros(len(plan.order), like.shape[1]) if bias is None else bias
    F = wx_f.index_select(0, plan.parent_node)
    return F if bias is None else F.add_(bias)


def _to_parents(
    part: Part,
    H: Tensor,
    U: Tensor,
    U_f: Tensor,
    A: Tensor,
    F: Tensor,
    C: Tensor,
    parent: Tensor,
) -> None:
    """Add to the parents' gates and memory what the rows of ``part`` give."""
    kind, start, stop, first = part
    h, f, c = H[start:stop], F[start:stop], C[start:stop]
    f.addmm_(h, U_f[kind]).sigmoid_()
    if first is not None:
        A[first : first + stop - start].addmm_(h, U[kind])
        C[first : first + stop - start].addcmul_(f, c)
    else:
        A.index_add_(0, parent[start:stop], torch.mm(h, U[kind]))
        C.index_add_(0, parent[start:stop], f * c)


def _from_parents(
    part: Part,
    dH: Tensor,
    dC: Tensor,
    dA: Tensor,
    dF: Tensor,
    F: Tensor,
    C: Tensor,
    U: Tensor,
    U_f: Tensor,
    parent: Tensor,
) -> None:
    """Take from the parents' gradients those of the rows of ``part``."""
    kind, start, stop, first = part
    if first is not None:
        da, dk = dA[first : first + stop - start], dC[first : first + stop - start]
    else:
        da, dk = (d.index_select(0, parent[start:stop]) for d in (dA, dC))
    f, df = F[start:stop], dF[start:stop]
    aten.sigmoid_backward.grad_input(dk * C[start:stop], f, grad_input=df)
    dC[start:stop].addcmul_(dk, f)
    dH[start:stop].addmm_(da, U[kind].t()).addmm_(df, U_f[kind].t())


def _weight_gradients(
    H: Tensor, dA: Tensor, dF: Tensor, U: Tensor, U_f: Tensor, plan: RowPlan
) -> tuple[Tensor, Tensor]:
    """One product a type over the rows of all levels."""
    dU, dU_f = torch.zeros_like(U), torch.zeros_like(U_f)
    leaves = plan.spans[0].stop
    for kind, rows in plan.by_type:
        own, parent = H[rows], plan.parent[rows]
        torch.mm(own.t(), dF[rows], out=dU_f[kind])
        if len(plan.by_type) == 1:  # the sum over the children stands for all of them
            below = H.new_zeros(len(H) - leaves, H.shape[1]).index_add_(0, parent - leaves, own)
            torch.mm(below.t(), dA[leaves:], out=dU[kind])
        else:
            torch.mm(own.t(), dA.index_select(0, parent), out=dU[kind])
    return dU, dU_f
