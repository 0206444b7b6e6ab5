"""The tensor Tree-LSTM with operators, forwards and backwards in one autograd function.

The equations are those of :class:`~dgltrees.cells.tree_lstm.TreeLSTM`, and a test holds them
together. Blocks of rows (:mod:`dgltrees.traversal.blocks`) take the place of mailboxes, so that all
operators of a level go through one batched product, and the gradients of the weights are one
product over all levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.cells.fused_lstm import autocasts
from dgltrees.cells.fused_maps import FusedMap, Kept, Rows
from dgltrees.traversal.blocks import Block, BlockPlan, blocks_of
from dgltrees.trees.batch import TreeBatch

__all__ = ["fused_tensor"]

aten = torch.ops.aten
GATES = 3
Ints = NDArray[np.int64]


def fused_tensor(
    batch: TreeBatch,
    leaf: torch.nn.Linear,
    x: Tensor,
    types: Ints,
    make: type[FusedMap],
    parameters: Sequence[Tensor],
    U_f: Tensor,
    b_f: Tensor,
) -> Optional[dict[str, Tensor]]:
    r"""States of all nodes, from the leaves up.

    .. math::

        (i, o, u)_v &= (\sigma, \sigma, \tanh)(f_k(h_{v_1}, \dots, h_{v_L})) \\
        f_{vj} &= \sigma(U^f_{kj} h_{v_j} + b^f_{kj}) \\
        c_v &= i \odot u + \sum_j f_{vj} \odot c_{v_j}, \quad h_v = o \odot \tanh(c_v)

    where k is the operator of v. At leaves i, o and u come from ``leaf``.

    Arguments:
        batch: the trees.
        leaf: m to 3 c.
        x: ``(N, m)``, read at the leaves.
        types: ``(E,)`` the operator of the node that each edge enters, times L, plus the position.
        make: the map f.
        parameters: its parameters, each ``(K, ...)``.
        U_f: ``(K, L, c, c)``.
        b_f: ``(K, L, 1, c)``.

    Returns:
        ``{"h": (N, c), "c": (N, c)}`` in the order of the nodes; None where a node has two parents
        and under autocast, whose casts are those of the three functions.
    """
    if x.dtype != U_f.dtype or autocasts(x.device.type):
        return None
    types_of_nodes, L = U_f.shape[:2]
    cost = sum(p.numel() for p in (*parameters, U_f)) // types_of_nodes
    plan = blocks_of(batch, types, L, cost, device=x.device)
    if plan is None:
        return None
    a = leaf(x.index_select(0, plan.leaves))
    keep = torch.is_grad_enabled()
    h, c = _FusedTensor.apply(a, plan, make, keep, U_f, b_f, *parameters)  # type: ignore[no-untyped-call]
    return {"h": h, "c": c}


class _Saved(NamedTuple):
    """What a block keeps for the way back.

    Attributes:
        S: ``(K' L, n', 2 c + 1)`` h̄ and c of the children.
        F: ``(K' L, n', c)`` their forget gates.
        A: ``(K', G, n', c)`` gates.
        T: ``(K', n', c)`` tanh(c).
        map: what the map keeps.
    """

    S: Tensor
    F: Tensor
    A: Tensor
    T: Tensor
    map: Kept


class _FusedTensor(torch.autograd.Function):
    """The table M (R + 1, 2 c + 1) holds h, 1 and c of every row, so that one gather gives all."""

    @staticmethod
    def forward(
        ctx: Any,
        a: Tensor,
        plan: BlockPlan,
        make: type[FusedMap],
        keep: bool,
        U_f: Tensor,
        b_f: Tensor,
        *parameters: Tensor,
    ) -> tuple[Tensor, Tensor]:
        L, c = U_f.shape[1:3]
        f, gate = make(L, GATES, *parameters), _gate(U_f, b_f)
        M = a.new_empty(plan.rows + 1, 2 * c + 1)
        M[:, c] = 1
        M[-1, :c] = 0  # no child
        M[-1, c + 1 :] = 0
        leaves = len(a)
        A = a.clone().view(leaves, GATES, c).transpose(0, 1)
        T = _state(A, None, M[:leaves])
        saved = []
        for block, children in zip(plan.blocks, plan.children):
            of = slice(block.first, block.first + block.types)
            S = M.index_select(0, children).view(-1, block.length, M.shape[1])
            made = _block(f, gate[of].flatten(0, 1), of, S, _rows(M, block))
            if keep:
                saved.append(made)
        if keep:
            _save(ctx, (A, T, U_f, b_f, *parameters), saved)
            ctx.plan, ctx.make, ctx.parameters = plan, make, len(parameters)
            ctx.set_materialize_grads(False)
        H, C = M[:, :c], M[:, c + 1 :]
        return H.index_select(0, plan.back), C.index_select(0, plan.back)

    @staticmethod
    def backward(ctx: Any, *grads: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        if torch.is_grad_enabled():
            raise RuntimeError(
                "expected one derivative of a fused cell, got a graph for a second "
                "(create_graph=True); run the cell with fused=False"
            )
        (A, T, U_f, b_f, *parameters), saved = _saved(ctx)
        plan: BlockPlan = ctx.plan
        f, gate = ctx.make(U_f.shape[1], GATES, *parameters), _gate(U_f, b_f)
        G = [_to_rows(grad, plan) for grad in grads]  # from outside
        D = [T.new_zeros(plan.rows + 1, T.shape[1]) for _ in grads]  # and from the parent
        made = []
        for block, children, kept in reversed([*zip(plan.blocks, plan.children, saved)]):
            of = slice(block.first, block.first + block.types)
            dh, dc = (_total(d, g, block) for d, g in zip(D, G))
            dA, dk = _state_gradient(kept.A, kept.T, dh, dc)
            dF, ds, dcs, mapped = _block_gradient(f, gate[of].flatten(0, 1), of, kept, dA, dk)
            D[0].index_copy_(0, children, ds)
            D[1].index_copy_(0, children, dcs)
            made.append((block, kept.S, dA, dF, mapped))
        leaf = Block(0, 1, 0, T.shape[0])
        dh, dc = (_total(d, g, leaf)[0] for d, g in zip(D, G))
        da = torch.empty_like(A)
        _state_gradient(A, T, dh, dc, da)
        dU_f, db_f, rows = _over_levels(made, U_f, b_f)
        return (
            da.transpose(0, 1).reshape(len(T), -1),
            None,
            None,
            None,
            dU_f,
            db_f,
            *f.gradients(rows),
        )


def _gate(U_f: Tensor, b_f: Tensor) -> Tensor:
    """``(K, L, c + 1, c)``, for homogeneous states."""
    return torch.cat([U_f, b_f], 2)


def _rows(table: Tensor, block: Block) -> Tensor:
    """The rows of a block, ``(K', n', ...)``."""
    stop = block.start + block.types * block.length
    return table[block.start : stop].view(block.types, block.length, -1)


def _block(f: FusedMap, gate: Tensor, of: slice, S: Tensor, M: Tensor) -> _Saved:
    """Write the states of a block to ``M``, ``(K', n', 2 c + 1)``."""
    types, c = len(M), gate.shape[2]
    hs, cs = S[..., : c + 1], S[..., c + 1 :]
    F = torch.bmm(hs, gate).sigmoid_()
    A, kept = f.forward(of, hs.view(types, -1, *hs.shape[1:]))
    k = (F * cs).view(types, -1, *F.shape[1:]).sum(1)
    return _Saved(S, F, A, _state(A, k, M), kept)


def _state(A: Tensor, k: Optional[Tensor], M: Tensor) -> Tensor:
    """Activate the gates ``(..., 3, n, c)`` in place, write ``(..., n, 2 c + 1)``; tanh(c)."""
    i, o, u = A.unbind(-3)
    A.narrow(-3, 0, 2).sigmoid_()
    u.tanh_()
    c = u.shape[-1]
    if k is None:
        torch.mul(i, u, out=M[..., c + 1 :])
    else:
        torch.addcmul(k, i, u, out=M[..., c + 1 :])
    T = torch.tanh(M[..., c + 1 :])
    torch.mul(o, T, out=M[..., :c])
    return T


def _state_gradient(
    A: Tensor, T: Tensor, dh: Tensor, dc: Tensor, out: Optional[Tensor] = None
) -> tuple[Tensor, Tensor]:
    """The gradients of the pre-activations, and of what is kept of the children."""
    dA = torch.empty_like(A) if out is None else out
    (i, o, u), (di, do, du) = A.unbind(-3), dA.unbind(-3)
    dc = dc + aten.tanh_backward(dh * o, T)
    torch.mul(dc, u, out=di)
    torch.mul(dh, T, out=do)
    torch.mul(dc, i, out=du)
    io, dio = A.narrow(-3, 0, 2), dA.narrow(-3, 0, 2)
    aten.sigmoid_backward.grad_input(dio, io, grad_input=dio)
    aten.tanh_backward.grad_input(du, u, grad_input=du)
    return dA, dc


def _block_gradient(
    f: FusedMap, gate: Tensor, of: slice, kept: _Saved, dA: Tensor, dk: Tensor
) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, ...]]:
    """Gradients of forget gates, of h and c of the children, and what the map needs later."""
    S, F = kept.S, kept.F
    c, types = F.shape[2], len(dk)
    dk = dk.unsqueeze(1)
    shape = types, -1, *F.shape[1:]
    dcs = (dk * F.view(shape)).view(-1, c)
    dF = (dk * S[..., c + 1 :].view(shape)).view(F.shape)
    aten.sigmoid_backward.grad_input(dF, F, grad_input=dF)
    hs = S[..., : c + 1].view(types, -1, S.shape[1], c + 1)
    dh, mapped = f.backward(of, hs, kept.map, dA)
    dh.baddbmm_(dF, gate[:, :-1].transpose(1, 2))
    return dF, dh.view(-1, c), dcs, mapped


def _to_rows(grad: Optional[Tensor], plan: BlockPlan) -> Optional[Tensor]:
    """The gradient of an output, ``(N, c)`` to ``(R, c)``, zero at rows without a node."""
    if grad is None:
        return None
    return grad.new_zeros(plan.rows, grad.shape[1]).index_copy_(0, plan.back, grad)


def _total(inside: Tensor, outside: Optional[Tensor], block: Block) -> Tensor:
    """The gradient of a block's states, ``(K', n', c)``."""
    rows = _rows(inside, block)
    return rows if outside is None else rows.add_(_rows(outside, block))


def _over_levels(
    made: list[tuple[Block, Tensor, Tensor, Tensor, tuple[Tensor, ...]]],
    U_f: Tensor,
    b_f: Tensor,
) -> tuple[Tensor, Tensor, list[Rows]]:
    """Put the blocks of the same types together; the gradients of U_f and b_f."""
    dU_f, db_f = torch.zeros_like(U_f), torch.zeros_like(b_f)
    L, c, rows = U_f.shape[1], U_f.shape[2], []
    for first, types in sorted({block[:2] for block, *_ in made}):
        of = slice(first, first + types)
        _, S, dA, dF, mapped = zip(*(each for each in made if each[0][:2] == (first, types)))
        s = torch.cat(S, 1)[..., : c + 1]
        d = torch.bmm(s.transpose(1, 2), torch.cat(dF, 1)).view(types, L, c + 1, c)
        dU_f[of], db_f[of] = d[:, :, :-1], d[:, :, -1:]
        kept = tuple(torch.cat(each, -1) for each in zip(*mapped))
        rows.append(Rows(of, s.view(types, L, -1, c + 1), torch.cat(dA, 2), kept))
    return dU_f, db_f, rows


def _save(ctx: Any, tensors: Sequence[Tensor], blocks: Sequence[_Saved]) -> None:
    flat = [t for *own, kept in blocks for t in (*own, *kept)]
    ctx.save_for_backward(*tensors, *flat)
    ctx.tensors, ctx.each = len(tensors), len(flat) // max(1, len(blocks))


def _saved(ctx: Any) -> tuple[Sequence[Tensor], list[_Saved]]:
    every: Sequence[Any] = ctx.saved_tensors
    blocks = zip(*[iter(every[ctx.tensors :])] * max(1, ctx.each))
    return every[: ctx.tensors], [_Saved(S, F, A, T, tuple(kept)) for S, F, A, T, *kept in blocks]
