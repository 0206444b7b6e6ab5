"""The autograd function of the compiled HOSVD Tree-LSTM: it allocates memory, calls kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.cells.compiled.fused_lstm import autocasts
from dgltrees.cells.compiled.kernels import CACHE, SMALLEST_SHARD, compiles
from dgltrees.cells.compiled.once import refuse_second_derivative
from dgltrees.cells.compiled.plans.rows import shards_of
from dgltrees.cells.compiled.workspace import Workspace, as_arrays
from dgltrees.traversal.order import levels_of
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import offsets_of, starts

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
    """States of all nodes of a Tree-LSTM with the HOSVD aggregator, by compiled kernels.

    Arguments:
        batch, leaf, x, types, parameters, U_f, b_f: those of
            :func:`~dgltrees.cells.compiled.fused_tensor.fused_tensor`.

    Returns: ``{"h": (N, c), "c": (N, c)}``; None where compiled kernels are off or unavailable,
    where a node has two parents, under autocast, and where an operator's parameters do not fit a
    cache.
    """
    K, L = U_f.shape[:2]
    bytes_each = sum(p.numel() for p in (*parameters, U_f)) // K * x.itemsize
    same_dtype = all(t.dtype == x.dtype for t in (*parameters, U_f, b_f, leaf.weight))
    if not same_dtype or autocasts("cpu") or not compiles(x) or bytes_each > CACHE // 2:
        return None
    plan = _plan(batch, types, L)
    if plan is None:
        return None
    a = leaf(x.index_select(0, torch.from_numpy(np.flatnonzero(plan[3] < 0))))
    U, b_U, core, Q, b = parameters
    M, b_M = torch.cat([U, U_f], 3), torch.cat([b_U, b_f], 3)
    h, c = _CompiledHOSVD.apply(a, M, b_M, core, Q, b, plan)  # type: ignore[no-untyped-call]
    return {"h": h, "c": c}


def _plan(batch: TreeBatch, types: Ints, L: int) -> Optional[tuple[Ints, ...]]:
    """The graph as arrays for the kernels, or None where a node has two parents.

    Returns:
        where each shard of trees begins in the order, ``(S + 1,)``; the order, children before
        parents, ``(N,)``; each node's children, -1 where there is none, ``(N, L)``; its operator,
        -1 at a leaf, ``(N,)``; its number among the leaves or among the others, ``(N,)``.
    """
    src, dst, count = batch.src.numpy(), batch.dst.numpy(), batch.num_nodes
    if len(src) and np.bincount(src, minlength=count).max() > 1:
        return None
    children, op = np.full((count, L), -1), np.full(count, -1)
    children[dst, types % L] = src
    op[dst] = types // L
    shards = max(1, min(torch.get_num_threads(), count // SMALLEST_SHARD))
    level, shard = levels_of(batch), shards_of(batch, shards)
    order = np.argsort(shard * (int(level.max(initial=0)) + 1) + level, kind="stable")
    bounds = offsets_of(np.bincount(shard, minlength=shards))
    leaf = op < 0
    return bounds, order, children, op, np.where(leaf, starts(leaf), starts(~leaf))


class _CompiledHOSVD(torch.autograd.Function):
    """Calls the kernels with tables in the order of the nodes."""

    @staticmethod
    def forward(
        ctx: Any,
        a: Tensor,
        M: Tensor,
        b_M: Tensor,
        core: Tensor,
        Q: Tensor,
        b: Tensor,
        plan: tuple[Ints, ...],
    ) -> tuple[Tensor, Tensor]:
        from dgltrees.cells.compiled.kernels import hosvd

        nodes, size, (_, L, _, width) = len(plan[1]), Q.shape[3], M.shape
        space = Workspace(M, [(nodes, GATES * size), (nodes - len(a), L, width)])
        h, c = M.new_empty(nodes, size), M.new_empty(nodes, size)
        weights = M, b_M[:, :, 0], core, Q, b[:, :, 0]
        tables = (*space.arrays, *as_arrays(h, c))
        hosvd.forward(len(plan[0]) - 1, plan, *as_arrays(a), as_arrays(*weights), tables)
        ctx.save_for_backward(*weights, h, c)
        ctx.plan, ctx.leaves = plan, len(a)
        ctx.space = space  # lives as long as the autograd graph
        ctx.set_materialize_grads(False)
        return h, c

    @staticmethod
    def backward(ctx: Any, *grads: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        from dgltrees.cells.compiled.kernels import hosvd

        refuse_second_derivative()
        *weights, h, c = ctx.saved_tensors
        threads, (M, _, _, Q, _) = len(ctx.plan[0]) - 1, weights
        memory = Workspace(M, [h.shape] * 2)
        none = M.new_empty(0, Q.shape[3])
        totals = [weight.new_zeros(threads, *weight.shape) for weight in weights]
        da = M.new_empty(ctx.leaves, GATES * Q.shape[3])
        hosvd.backward(
            threads,
            ctx.plan,
            as_arrays(*(none if grad is None else grad for grad in grads)),
            as_arrays(*weights),
            (*ctx.space.arrays, *as_arrays(h, c)),
            *memory.arrays,
            as_arrays(*totals, da),
        )
        dM, db_M, dcore, dQ, db = (total.sum(0) for total in totals)
        return da, dM, db_M.unsqueeze(2), dcore, dQ, db.unsqueeze(2), None
