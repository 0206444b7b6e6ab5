"""The autograd function of the compiled Tree-LSTM: it allocates memory and calls the kernels."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from dgltrees.cells.compiled.once import refuse_second_derivative
from dgltrees.cells.compiled.plans.rows import RowPlan
from dgltrees.cells.compiled.workspace import Workspace, as_arrays

__all__ = ["CompiledLSTM"]

GRADIENTS = 9
"""Vectors of size c that a node needs in the backward pass, at most."""


class CompiledLSTM(torch.autograd.Function):
    """See :func:`dgltrees.cells.compiled.fused_lstm.fused_lstm` for the arguments."""

    @staticmethod
    def forward(  # noqa: D102
        ctx: Any,
        wx: Tensor,
        wx_f: Optional[Tensor],
        U: Tensor,
        U_f: Tensor,
        b_f: Optional[Tensor],
        index: Optional[Tensor],
        plan: RowPlan,
    ) -> tuple[Tensor, Tensor]:
        from dgltrees.cells.compiled.kernels import tree_lstm

        rows, size, none = len(plan.order), U_f.shape[2], wx.new_empty(0, U_f.shape[2])
        node_rows, parent_rows = plan.order, plan.parent_node
        if index is not None:
            node_rows, parent_rows = (
                index.index_select(0, node_rows),
                index.index_select(0, parent_rows),
            )
        inner = int(plan.inner[-1]) if len(U) == 1 else 0
        shapes = [(rows, 3 * size), *[(rows, size)] * 3, (inner, size)]
        space = Workspace(wx, shapes)
        h, c = wx.new_empty(rows, size), wx.new_empty(rows, size)
        tree_lstm.forward(
            _threads(plan),
            _numbers(plan, node_rows, parent_rows),
            as_arrays(wx, none if wx_f is None else wx_f, none if b_f is None else b_f),
            as_arrays(U, U_f),
            space.arrays,
            as_arrays(h, c),
        )
        ctx.save_for_backward(U, U_f, node_rows, parent_rows)
        ctx.plan, ctx.rows, ctx.shared = plan, len(wx), index is not None
        ctx.space = space  # lives as long as the autograd graph
        ctx.has_input, ctx.has_bias = wx_f is not None, b_f is not None
        ctx.set_materialize_grads(False)
        return h, c

    @staticmethod
    def backward(ctx: Any, *grads: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:  # noqa: D102
        from dgltrees.cells.compiled.kernels import tree_lstm

        refuse_second_derivative()
        U, U_f, node_rows, parent_rows = ctx.saved_tensors
        plan, threads, (types, size, _) = ctx.plan, _threads(ctx.plan), U_f.shape
        none, copies = U.new_empty(0, size), threads if ctx.shared else 1
        totals = [
            U.new_zeros(copies, ctx.rows, 3 * size),
            U.new_zeros(copies, ctx.rows if ctx.has_input else 0, size),
            U.new_zeros(threads, types if ctx.has_bias else 0, size),
            U.new_zeros(threads, *U.shape),
            U.new_zeros(threads, *U_f.shape),
        ]
        memory = Workspace(U, [(threads, plan.largest * size * GRADIENTS)])
        tree_lstm.backward(
            threads,
            _numbers(plan, node_rows, parent_rows),
            as_arrays(*(none if grad is None else grad for grad in grads)),
            as_arrays(U, U_f),
            ctx.space.arrays,
            *memory.arrays,
            as_arrays(*totals),
        )
        dwx, dwx_f, db_f, dU, dU_f = (t[0] if len(t) == 1 else t.sum(0) for t in totals)
        return (
            dwx,
            dwx_f if ctx.has_input else None,
            dU,
            dU_f,
            db_f if ctx.has_bias else None,
            None,
            None,
        )


def _threads(plan: RowPlan) -> int:
    return max(1, min(torch.get_num_threads(), len(plan.shards) - 1))


def _numbers(plan: RowPlan, node_rows: Tensor, parent_rows: Tensor) -> tuple[Any, ...]:
    """The plan as arrays, in the order in which the kernels expect them."""
    arrays = as_arrays(plan.order, plan.parent, node_rows, parent_rows, plan.types)
    return plan.levels, plan.parts, plan.shards, plan.inner, *arrays
