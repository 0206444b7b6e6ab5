"""The autograd function of the compiled HOSVD Tree-LSTM: memory for the kernels, little else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.cells.fused_lstm import autocasts
from dgltrees.cells.kernels import CACHE, SMALLEST_SHARD, compiles
from dgltrees.cells.workspace import Workspace
from dgltrees.traversal.rows import RowPlan, rows_of
from dgltrees.trees.batch import TreeBatch

__all__ = ["compiled_hosvd"]

GATES = 3
Ints = NDArray[np.int64]


def compiled_hosvd(
    batch: TreeBatch,
    leaf: nn.Linear,
    x: Tensor,
    types: Ints,
    parameters: Sequence[Tensor],
    U_f: Tensor,
    b_f: Tensor,
) -> Optional[dict[str, Tensor]]:
    """States of all nodes: :func:`dgltrees.cells.fused_tensor.fused_tensor` with the map HOSVD.

    Arguments:
        batch, leaf, x, types, parameters, U_f, b_f: as there.

    Returns:
        ``{"h": (N, c), "c": (N, c)}``; None where nothing compiled is to be taken, where a node has
        two parents, under autocast, and where an operator's parameters do not fit a cache.
    """
    K, L = U_f.shape[:2]
    bytes_each = sum(p.numel() for p in (*parameters, U_f)) // K * x.itemsize
    if x.dtype != U_f.dtype or autocasts("cpu") or not compiles(x) or bytes_each > CACHE // 2:
        return None
    shards = max(1, min(torch.get_num_threads(), batch.num_nodes // SMALLEST_SHARD))
    plan = rows_of(batch, None, shards)
    if plan is None:
        return None
    is_leaf = np.concatenate([np.arange(a, b) for a, b, _ in plan.bounds.tolist()])
    a = leaf(x.index_select(0, plan.order[torch.from_numpy(is_leaf)]))
    U, b_U, core, Q, b = parameters
    M = torch.cat([U, U_f], 3)
    b_M = torch.cat([b_U, b_f], 3)
    numbers = _numbers(batch, plan, types, L)
    h, c = _CompiledHOSVD.apply(a, M, b_M, core, Q, b, plan, numbers)  # type: ignore[no-untyped-call]
    return {"h": h, "c": c}


def _numbers(batch: TreeBatch, plan: RowPlan, types: Ints, L: int) -> tuple[Ints, ...]:
    """The plan as the kernels take it: with the rows of each row's children, and its operator."""
    rows = plan.back.numpy()
    src, dst = rows[batch.src.numpy()], rows[batch.dst.numpy()]
    children, op = np.full((len(rows), L), -1), np.zeros(len(rows), np.int64)
    children[dst, types % L] = src
    op[dst] = types // L
    return plan.bounds, plan.inner, plan.order.numpy(), children, op


class _CompiledHOSVD(torch.autograd.Function):
    """Rows are nodes in the order of the plan."""

    @staticmethod
    def forward(
        ctx: Any,
        a: Tensor,
        M: Tensor,
        b_M: Tensor,
        core: Tensor,
        Q: Tensor,
        b: Tensor,
        plan: RowPlan,
        numbers: tuple[Ints, ...],
    ) -> tuple[Tensor, Tensor]:
        from dgltrees.cells.kernels import hosvd

        rows, size, (_, L, _, width) = len(plan.order), Q.shape[3], M.shape
        space = Workspace(
            M, [(rows, GATES * size), (rows, size), (rows, size), (int(plan.inner[-1]), L, width)]
        )
        h, c = M.new_empty(rows, size), M.new_empty(rows, size)
        weights = M, b_M[:, :, 0], core, Q, b[:, :, 0]
        threads = len(plan.bounds)
        tables = _arrays(*space.tensors)
        hosvd.forward(threads, numbers, *_arrays(a), _arrays(*weights), tables, _arrays(h, c))
        ctx.save_for_backward(*weights)
        ctx.numbers, ctx.leaves = numbers, len(a)
        ctx.space = space  # nobody else sees its tables, and they are kept as long as the graph
        ctx.set_materialize_grads(False)
        return h, c

    @staticmethod
    def backward(ctx: Any, *grads: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        from dgltrees.cells.kernels import hosvd

        if torch.is_grad_enabled():
            raise RuntimeError(
                "expected one derivative of a fused cell, got a graph for a second "
                "(create_graph=True); run the cell with fused=False"
            )
        weights, tables, threads = ctx.saved_tensors, ctx.space.tensors, len(ctx.numbers[0])
        M, _, _, Q, _ = weights
        memory = Workspace(M, [tables[2].shape] * 2)
        none = M.new_empty(0, Q.shape[3])
        totals = [weight.new_zeros(threads, *weight.shape) for weight in weights]
        da = M.new_empty(ctx.leaves, GATES * Q.shape[3])
        hosvd.backward(
            threads,
            ctx.numbers,
            _arrays(*(none if grad is None else grad for grad in grads)),
            _arrays(*weights),
            _arrays(*tables),
            *_arrays(*memory.tensors),
            _arrays(*totals, da),
        )
        dM, db_M, dcore, dQ, db = (total.sum(0) for total in totals)
        return da, dM, db_M.unsqueeze(2), dcore, dQ, db.unsqueeze(2), None, None


def _arrays(*tensors: Tensor) -> tuple[Any, ...]:
    return tuple(tensor.detach().contiguous().numpy() for tensor in tensors)
