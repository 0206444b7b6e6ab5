"""Tree-LSTMs that sum over their children, forwards and backwards in one autograd function.

The equations are those of :class:`~dgltrees.cells.child_sum.ChildSumTreeLSTM` and of
:class:`~dgltrees.cells.tree_cells.TreeLSTM` with a sum; a test checks that both agree. With rows
instead of mailboxes (:mod:`dgltrees.cells.compiled.row_plan`) a level costs a dozen operations
on slices of a few tables, and the gradient of the weights is one product over all levels. That is
for CUDA, where each call of torch is a launch, and for processors without numba; elsewhere the
three functions are compiled (:mod:`dgltrees.cells.compiled.way`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.cells.aggregators import SharedSum, Sum
from dgltrees.cells.base import autocasts
from dgltrees.cells.child_sum import ChildSumTreeLSTM
from dgltrees.cells.compiled.row_plan import Part, RowPlan, row_plan
from dgltrees.cells.compiled.workspace import refuse_second_derivative
from dgltrees.cells.grouped import check_types, to_device
from dgltrees.cells.tree_cell import TreeCell
from dgltrees.cells.tree_cells import TreeLSTM
from dgltrees.traversal.functions import prepared
from dgltrees.traversal.positions import check_positions
from dgltrees.traversal.views import IndexedRows
from dgltrees.traversal.ways import compiled_way, dense
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import Ints

aten = torch.ops.aten
Fields = Mapping[str, Tensor]
States = dict[str, Tensor] | None


@compiled_way(ChildSumTreeLSTM, second=True)
def child_sum(
    cell: ChildSumTreeLSTM, batch: TreeBatch, ndata: Mapping[str, Tensor | IndexedRows]
) -> States:
    """Run a child-sum Tree-LSTM without dropout and layer normalisation over trees."""
    if not isinstance(cell.norm, nn.Identity) or _drops(cell.dropout):
        return None
    label = dense(prepared(cell.prepare, ndata, batch.num_nodes))
    return fused_lstm(batch, label["wx"], label["wx_f"], cell.U[None], cell.U_f[None])


@compiled_way(TreeLSTM, second=True)
def tree_lstm(
    cell: TreeLSTM, batch: TreeBatch, ndata: Mapping[str, Tensor | IndexedRows]
) -> States:
    """Run a Tree-LSTM with a sum, without dropout and layer normalisation, over trees."""
    f, gate, size = cell.f, cell.child_gate, cell.hidden_size
    if cell.activation is not torch.tanh or cell.layer_norm or _drops(cell.dropout):
        return None
    if not isinstance(f, Sum) or type(f) not in (Sum, SharedSum):  # others have other equations
        return None
    label, fields = dense(prepared(cell.prepare, ndata, batch.num_nodes)), dense(ndata)
    types, wx_f = _edge_types(cell, batch, fields), None
    if cell.leaf is None:
        wx, wx_f = label["label_0"] + f.b[0], label["label_child"]
    else:
        x, op = fields["x"], fields["op"].long().clamp(0, cell.operators - 1)
        leaves = np.flatnonzero(np.bincount(batch.dst.numpy(), minlength=len(op)) == 0)
        rows = to_device(leaves, x.device)
        wx = f.b[:, 0].index_select(0, op)  # the op of a leaf does not matter
        wx = wx.index_copy(0, rows, cell.leaf(x.index_select(0, rows)).to(wx.dtype))
    U, U_f = f.U.view(-1, size, 3 * size), gate.U.view(-1, size, size)
    return fused_lstm(batch, wx, wx_f, U, U_f, gate.b.view(-1, size), types)


def _edge_types(cell: TreeCell, batch: TreeBatch, ndata: Fields) -> Ints:
    """Return the index of each edge's matrix, stacked over operators and positions, ``(E,)``."""
    types = np.zeros(len(batch.dst), np.int64)
    if cell.slots is not None:
        types = check_positions(batch, cell.slots, batch.edata.get("pos"))
    if not cell.operators:
        return types
    dst = batch.dst.numpy()
    op = batch.on_host(ndata["op"]).numpy().astype(np.int64)[dst]
    check_types(op, cell.operators, lambda edge: int(dst[edge]))
    return np.asarray(op * (cell.slots or 1) + types)


def _drops(dropout: nn.Dropout) -> bool:
    """Return whether the module is in training mode and has a positive probability."""
    return dropout.training and dropout.p > 0


def fused_lstm(
    batch: TreeBatch,
    wx: Tensor,
    wx_f: Tensor | None,
    U: Tensor,
    U_f: Tensor,
    b_f: Tensor | None = None,
    types: Ints | None = None,
) -> States:
    r"""Compute the states of all nodes, from the leaves up.

    .. math::

        (i, o, u)_v &= (\sigma, \sigma, \tanh)(wx_v + \sum_j U_{t(j)}^{i,o,u} h_j) \\
        f_{vj} &= \sigma(wx^f_v + U^f_{t(j)} h_j + b^f_{t(j)}) \\
        c_v &= i \odot u + \sum_j f_{vj} \odot c_j, \quad h_v = o \odot \tanh(c_v)

    where t(j) is the type of the edge from child j to its parent v.
    """
    same_dtype = all(t is None or t.dtype == wx.dtype for t in (wx_f, U, U_f, b_f))
    if not same_dtype or autocasts(wx.device.type):
        return None
    plan = row_plan(batch, types, device=wx.device)
    if plan is None:
        return None
    way: Any = _FusedLSTM
    h, c = way.apply(wx, wx_f, U, U_f, b_f, plan)
    return {"h": h, "c": c}


class _Tables(NamedTuple):
    """The tables of all rows, those of the leaves first."""

    A: Tensor  # (N, 3 c) pre-activations, which become the gates i, o and u
    F: Tensor  # (N, c) likewise of each row's forget gate at its parent
    C: Tensor  # (N, c) memory
    T: Tensor  # (N, c) tanh of the memory
    H: Tensor  # (N, c) state
    S: Tensor  # (inner, c) sums of the children's states; empty where each type has its own U


class _Gradients(NamedTuple):
    """The gradients of the tables with the same letters."""

    A: Tensor
    F: Tensor
    C: Tensor
    H: Tensor
    S: Tensor


class _FusedLSTM(torch.autograd.Function):
    """The autograd function: gather the inputs in row order, run all levels, restore the order."""

    @staticmethod
    def forward(
        ctx: Any,
        wx: Tensor,
        wx_f: Tensor | None,
        U: Tensor,
        U_f: Tensor,
        b_f: Tensor | None,
        plan: RowPlan,
    ) -> tuple[Tensor, Tensor]:
        A, F = wx.index_select(0, plan.order), _forget_inputs(U, wx_f, b_f, plan)
        inner = len(plan.order) - _leaves(plan) if len(U) == 1 else 0
        C, S = torch.zeros_like(F), F.new_zeros(inner, F.shape[1])
        tables = _Tables(A, F, C, torch.empty_like(F), torch.empty_like(F), S)
        _up(plan, U, U_f, tables)
        ctx.save_for_backward(U, U_f, *tables)
        ctx.plan = plan
        ctx.has_input, ctx.has_bias = wx_f is not None, b_f is not None
        ctx.set_materialize_grads(False)
        return tables.H.index_select(0, plan.back), tables.C.index_select(0, plan.back)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        refuse_second_derivative()
        U, U_f, *saved = ctx.saved_tensors
        tables, plan = _Tables(*saved), ctx.plan
        dH, dC = (
            torch.zeros_like(tables.H) if grad is None else grad.index_select(0, plan.order)
            for grad in grads
        )
        dF = torch.zeros_like(tables.F)
        gradients = _Gradients(torch.empty_like(tables.A), dF, dC, dH, torch.empty_like(tables.S))
        V, V_f = U.transpose(1, 2).contiguous(), U_f.transpose(1, 2).contiguous()
        _down(plan, V, V_f, tables, gradients)
        dwx_f = db_f = None
        if ctx.has_input:
            dwx_f = torch.zeros_like(dF).index_add_(0, plan.parent_node, dF)
        if ctx.has_bias:
            db_f = torch.zeros_like(U_f[:, 0]).index_add_(0, plan.types, dF)
        dwx = gradients.A.index_select(0, plan.back)
        dU, dU_f = _weight_gradients(tables, gradients, U, U_f, plan)
        return dwx, dwx_f, dU, dU_f, db_f, None


def _forget_inputs(like: Tensor, wx_f: Tensor | None, b_f: Tensor | None, plan: RowPlan) -> Tensor:
    """Return the terms of input and bias in each row's forget gate, ``(N, c)``."""
    bias = None if b_f is None else b_f.index_select(0, plan.types)
    if wx_f is None:
        return like.new_zeros(len(plan.order), like.shape[1]) if bias is None else bias
    F = wx_f.index_select(0, plan.parent_node)
    return F if bias is None else F.add_(bias)


def _leaves(plan: RowPlan) -> int:
    """Return the number of leaves, which are the first rows."""
    return plan.spans[0].stop if plan.spans else 0


def _split(plan: RowPlan, tables: NamedTuple) -> list[Any]:
    """Return views of the tables for each level; ``S`` has no rows for the leaves."""
    sizes = [span.stop - span.start for span in plan.spans]
    split = {}
    for name, table in tables._asdict().items():
        if name != "S":
            split[name] = table.split_with_sizes(sizes)
        elif len(table):
            split[name] = table.new_empty(0), *table.split_with_sizes(sizes[1:])
        else:
            split[name] = (table,) * len(sizes)
    return [type(tables)(*rows) for rows in zip(*split.values())]


def _up(plan: RowPlan, U: Tensor, U_f: Tensor, tables: _Tables) -> None:
    """Run all levels from the leaves to the roots."""
    for span, (a, _, c, t, h, s) in zip(plan.spans, _split(plan, tables)):
        if len(s):
            a.addmm_(s, U[0])
        i, o, u = a.chunk(3, 1)
        a[:, : 2 * h.shape[1]].sigmoid_()
        u.tanh_()
        if span.start:
            c.addcmul_(i, u)
        else:
            torch.mul(i, u, out=c)
        torch.tanh(c, out=t)
        torch.mul(o, t, out=h)
        for part in span.parts:
            _to_parents(part, U, U_f, tables, plan)


def _to_parents(part: Part, U: Tensor, U_f: Tensor, tables: _Tables, plan: RowPlan) -> None:
    """Add the messages of the rows of ``part`` to their parents."""
    kind, start, stop, first = part
    A, F, C, _, H, S = tables
    h, f, c = H[start:stop], F[start:stop], C[start:stop]
    f.addmm_(h, U_f[kind]).sigmoid_()
    summed = len(S) > 0
    if first >= 0:
        behind, low = first + stop - start, _leaves(plan)
        C[first:behind].addcmul_(f, c)
        if summed:
            S[first - low : behind - low].add_(h)
        else:
            A[first:behind].addmm_(h, U[kind])
        return
    parent = plan.parent[start:stop]
    C.index_add_(0, parent, f * c)
    if summed:
        S.index_add_(0, parent - _leaves(plan), h)
    else:
        A.index_add_(0, parent, torch.mm(h, U[kind]))


def _down(plan: RowPlan, V: Tensor, V_f: Tensor, tables: _Tables, gradients: _Gradients) -> None:
    """Run all levels from the roots to the leaves; ``V`` and ``V_f`` are U and U_f transposed."""
    spans = zip(plan.spans, _split(plan, tables), _split(plan, gradients))
    for span, (a, _, _, t, _, _), (da, _, dc, dh, ds) in reversed(list(spans)):
        for part in span.parts:
            _from_parents(part, V, V_f, tables, gradients, plan)
        (i, o, u), (di, do, du) = a.chunk(3, 1), da.chunk(3, 1)
        dc.add_(aten.tanh_backward(dh * o, t))
        torch.mul(dc, u, out=di)
        torch.mul(dh, t, out=do)
        torch.mul(dc, i, out=du)
        gates, dgates = a[:, : 2 * t.shape[1]], da[:, : 2 * t.shape[1]]
        aten.sigmoid_backward.grad_input(dgates, gates, grad_input=dgates)
        aten.tanh_backward.grad_input(du, u, grad_input=du)
        if len(ds):
            torch.mm(da, V[0], out=ds)


def _from_parents(
    part: Part, V: Tensor, V_f: Tensor, tables: _Tables, gradients: _Gradients, plan: RowPlan
) -> None:
    """Compute the gradients of the rows of ``part`` from those of their parents."""
    kind, start, stop, first = part
    dA, dF, dC, dH, dS = gradients
    summed, low = len(dS) > 0, _leaves(plan)
    dparent, source = (dS, low) if summed else (dA, 0)
    if first >= 0:
        behind = first + stop - start
        dk, dsum = dC[first:behind], dparent[first - source : behind - source]
    else:
        parent = plan.parent[start:stop]
        dk, dsum = dC.index_select(0, parent), dparent.index_select(0, parent - source)
    f, df, dh = tables.F[start:stop], dF[start:stop], dH[start:stop]
    aten.sigmoid_backward.grad_input(dk * tables.C[start:stop], f, grad_input=df)
    dC[start:stop].addcmul_(dk, f)
    if summed:
        dh.add_(dsum)
    else:
        dh.addmm_(dsum, V[kind])
    dh.addmm_(df, V_f[kind])


def _weight_gradients(
    tables: _Tables, gradients: _Gradients, U: Tensor, U_f: Tensor, plan: RowPlan
) -> tuple[Tensor, Tensor]:
    """Compute the gradients of U and U_f, by one product per type over the rows of all levels."""
    if len(tables.S):  # roots have no forget gate, and its gradient is zero
        dU = torch.mm(tables.S.t(), gradients.A[_leaves(plan) :])
        return dU[None], torch.mm(tables.H.t(), gradients.F)[None]
    dU, dU_f = torch.zeros_like(U), torch.zeros_like(U_f)
    for kind, rows in plan.by_type:
        h = tables.H[rows]
        torch.mm(h.t(), gradients.F[rows], out=dU_f[kind])
        torch.mm(h.t(), gradients.A.index_select(0, plan.parent[rows]), out=dU[kind])
    return dU, dU_f
