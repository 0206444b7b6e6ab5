"""The tensor Tree-LSTM with operators, forwards and backwards in one autograd function.

The equations are those of :class:`~dgltrees.cells.tree_lstm.TreeLSTM`; a test checks that both
agree. Blocks of rows (:mod:`dgltrees.cells.compiled.plans.blocks`) take the place of mailboxes,
so that all operators of a level go through one batched product, and the gradients of the weights
are one product over all levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.cells.compiled.fused_lstm import autocasts
from dgltrees.cells.compiled.fused_maps import FusedMap, MapSaved
from dgltrees.cells.compiled.once import refuse_second_derivative
from dgltrees.cells.compiled.plans.blocks import Block, BlockPlan, Panel, block_plan
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
        leaf: the linear map from an input, of size m, to i, o and u of a leaf, of size 3 c.
        x: ``(N, m)``, the inputs, read at the leaves.
        types: ``(E,)``, the operator of the node that each edge enters, times L, plus the position.
        make: the class of the aggregator f.
        parameters: the parameters of f, each ``(K, ...)``.
        U_f: ``(K, L, c, c)``, the matrices of the forget gates.
        b_f: ``(K, L, 1, c)``, their biases.

    Returns:
        ``{"h": (N, c), "c": (N, c)}`` in the order of the nodes; None where a node has two parents
        and under autocast, whose casts are those of the three functions.
    """
    if x.dtype != U_f.dtype or autocasts(x.device.type):
        return None
    types_of_nodes, L = U_f.shape[:2]
    cost = sum(p.numel() for p in (*parameters, U_f)) // types_of_nodes
    plan = block_plan(batch, types, L, cost, device=x.device)
    if plan is None:
        return None
    a = leaf(x.index_select(0, plan.leaves))
    saves = torch.is_grad_enabled()
    h, c = _FusedTensor.apply(a, plan, make, saves, U_f, b_f, *parameters)  # type: ignore[no-untyped-call]
    return {"h": h, "c": c}


class _Saved(NamedTuple):
    """The tensors of a block that its backward pass needs.

    Attributes:
        S: ``(K' L, n', 2 c + 1)``, h̄ and c of the children.
        F: ``(K' L, n', c)``, their forget gates.
        A: ``(K', G, n', c)``, the gates.
        T: ``(K', n', c)``, tanh(c).
        map: the tensors that the aggregator saves.
    """

    S: Tensor
    F: Tensor
    A: Tensor
    T: Tensor
    map: MapSaved


class _Products(NamedTuple):
    """The factors of the weights' gradients: the children's states, and the gradients they met."""

    S: Tensor
    forget: Tensor
    gates: Tensor
    map: tuple[Tensor, ...]


class _FusedTensor(torch.autograd.Function):
    """States are rows of one table M, ``(R + 1, 2 c + 1)``: h, 1 and c of a node side by side."""

    @staticmethod
    def forward(
        ctx: Any,
        a: Tensor,
        plan: BlockPlan,
        make: type[FusedMap],
        saves: bool,
        U_f: Tensor,
        b_f: Tensor,
        *parameters: Tensor,
    ) -> tuple[Tensor, Tensor]:
        leaves, c = len(a), U_f.shape[3]
        M = a.new_zeros(plan.rows + 1, 2 * c + 1)
        M[:, c] = 1
        A = a.view(leaves, GATES, c).transpose(0, 1).clone(memory_format=torch.contiguous_format)
        T = _state(A, None, M[:leaves])
        panels = [_Panel(make, panel, U_f, b_f, parameters) for panel in plan.panels]
        saved = []
        for block, children in zip(plan.blocks, plan.children):
            S = M.index_select(0, children).view(-1, block.length, 2 * c + 1)
            tensors = panels[block.panel].forward(S, _rows(M, block))
            if saves:
                saved.append(tensors)
        if saves:
            _save(ctx, (A, T, U_f, b_f, *parameters), saved)
            ctx.plan, ctx.make = plan, make
            ctx.set_materialize_grads(False)
        return M[:, :c].index_select(0, plan.back), M[:, c + 1 :].index_select(0, plan.back)

    @staticmethod
    def backward(ctx: Any, *grads: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        refuse_second_derivative()
        (A, T, U_f, b_f, *parameters), saved = _saved(ctx)
        plan: BlockPlan = ctx.plan
        panels = [_Panel(ctx.make, each, U_f, b_f, parameters) for each in plan.panels]
        outside = [_to_rows(grad, plan) for grad in grads]
        inside = [T.new_zeros(plan.rows + 1, T.shape[1]) for _ in grads]  # from the parents
        products: list[list[_Products]] = [[] for _ in panels]
        for block, children, tensors in reversed([*zip(plan.blocks, plan.children, saved)]):
            dh, dc = (_total(*each, block) for each in zip(inside, outside))
            dchildren, factors = panels[block.panel].backward(tensors, dh, dc)
            for table, slots in zip(inside, dchildren):
                table.index_copy_(0, children, slots)
            products[block.panel].append(factors)
        dh, dc = (_total(*each, Block(0, 1, 0, len(T)))[0] for each in zip(inside, outside))
        dA, _ = _state_gradient(A, T, dh, dc)
        return (
            dA.transpose(0, 1).flatten(1),
            None,
            None,
            None,
            *_over_levels(panels, products, (U_f, b_f, *parameters)),
        )


class _Panel:
    """The parameters of some types, applied to the blocks of these types.

    Arguments:
        make: the class of the aggregator.
        panel: the types.
        U_f, b_f, parameters: the parameters of all types.
    """

    def __init__(
        self,
        make: type[FusedMap],
        panel: Panel,
        U_f: Tensor,
        b_f: Tensor,
        parameters: Sequence[Tensor],
    ) -> None:
        of_types = [p[panel.types] for p in parameters]
        self.of, self.f = panel.types, make(U_f.shape[1], GATES, panel.filled, *of_types)
        self.gate = torch.cat([U_f[self.of], b_f[self.of]], 2).flatten(0, 1)  # (K' L, c + 1, c)
        self.gate_back = self.gate[:, :-1].transpose(1, 2)

    def forward(self, S: Tensor, M: Tensor) -> _Saved:
        """Write the states of a block to ``M``, ``(K', n', 2 c + 1)``."""
        c = self.gate.shape[2]
        h = S[..., : c + 1]
        F = torch.bmm(h, self.gate).sigmoid_()
        A, of_map = self.f.forward(self._by_type(h))
        k = self._by_type(F * S[..., c + 1 :]).sum(1)
        return _Saved(S, F, A, _state(A, k, M), of_map)

    def backward(
        self, saved: _Saved, dh: Tensor, dc: Tensor
    ) -> tuple[tuple[Tensor, Tensor], _Products]:
        """The gradients of h and c of the children, ``(K' L n', c)``; the factors of products."""
        S, F, A, T, of_map = saved
        c = F.shape[2]
        dA, dk = _state_gradient(A, T, dh, dc)
        dk = dk.unsqueeze(1)
        dF = (dk * self._by_type(S[..., c + 1 :])).view_as(F)
        aten.sigmoid_backward.grad_input(dF, F, grad_input=dF)
        ds, factors = self.f.backward(self._by_type(S[..., : c + 1]), of_map, dA)
        ds.baddbmm_(dF, self.gate_back)
        return (ds.view(-1, c), (dk * self._by_type(F)).view(-1, c)), _Products(S, dF, dA, factors)

    def gradients(self, blocks: Sequence[_Products], out: Sequence[Tensor]) -> None:
        """Write the gradients of U_f, b_f and the parameters of all types."""
        S, dF, dA, factors = zip(*blocks)
        h = torch.cat(S, 1)[..., : self.gate.shape[1]]
        dU_f, db_f, *others = (each[self.of] for each in out)
        d = self._by_type(torch.bmm(h.transpose(1, 2), torch.cat(dF, 1)))
        dU_f.copy_(d[:, :, :-1])
        db_f.copy_(d[:, :, -1:])
        joined = tuple(torch.cat(each, -1) for each in zip(*factors))
        self.f.gradients(self._by_type(h), torch.cat(dA, 2), joined, others)

    def _by_type(self, t: Tensor) -> Tensor:
        """``(K' L, ...)`` to ``(K', L, ...)``."""
        return t.view(self.of.stop - self.of.start, -1, *t.shape[1:])


def _over_levels(
    panels: Sequence[_Panel], products: Sequence[list[_Products]], parameters: Sequence[Tensor]
) -> list[Tensor]:
    """The gradients of all parameters; zero for types without a node."""
    grads = [torch.empty_like(p) for p in parameters]
    first = 0  # of the types without a panel so far
    for panel, blocks in zip(panels, products):
        if blocks:
            for grad in grads:
                grad[first : panel.of.start] = 0
            panel.gradients(blocks, grads)
            first = panel.of.stop
    for grad in grads:
        grad[first:] = 0
    return grads


def _rows(table: Tensor, block: Block) -> Tensor:
    """The rows of a block, ``(K', n', ...)``."""
    stop = block.start + block.types * block.length
    return table[block.start : stop].view(block.types, block.length, table.shape[1])


def _state(A: Tensor, k: Optional[Tensor], M: Tensor) -> Tensor:
    """Activate the gates A in place, write h and c to M, and return tanh(c).

    Arguments:
        A: ``(..., 3, n, c)``, the pre-activations of i, o and u.
        k: ``(..., n, c)``, the memory from the children, or None at the leaves.
        M: ``(..., n, 2 c + 1)``.
    """
    i, o, u = A.unbind(-3)
    h, _, c = M.split_with_sizes([u.shape[-1], 1, u.shape[-1]], -1)
    A.narrow(-3, 0, 2).sigmoid_()
    u.tanh_()
    if k is None:
        torch.mul(i, u, out=c)
    else:
        torch.addcmul(k, i, u, out=c)
    T = torch.tanh(c)
    torch.mul(o, T, out=h)
    return T


def _state_gradient(A: Tensor, T: Tensor, dh: Tensor, dc: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of the pre-activations and of the memory, from those of h and c."""
    dA = torch.empty_like(A)
    (i, o, u), (di, do, du) = A.unbind(-3), dA.unbind(-3)
    dc = dc + aten.tanh_backward(dh * o, T)
    torch.mul(dc, u, out=di)
    torch.mul(dh, T, out=do)
    torch.mul(dc, i, out=du)
    io, dio = A.narrow(-3, 0, 2), dA.narrow(-3, 0, 2)
    aten.sigmoid_backward.grad_input(dio, io, grad_input=dio)
    aten.tanh_backward.grad_input(du, u, grad_input=du)
    return dA, dc


def _to_rows(grad: Optional[Tensor], plan: BlockPlan) -> Optional[Tensor]:
    """The gradient of an output, ``(N, c)`` to ``(R, c)``, zero at rows without a node."""
    if grad is None:
        return None
    return grad.new_zeros(plan.rows, grad.shape[1]).index_copy_(0, plan.back, grad)


def _total(inside: Tensor, outside: Optional[Tensor], block: Block) -> Tensor:
    """The gradient of a block's states, ``(K', n', c)``."""
    rows = _rows(inside, block)
    return rows if outside is None else rows.add_(_rows(outside, block))


def _save(ctx: Any, tensors: Sequence[Tensor], blocks: Sequence[_Saved]) -> None:
    flat = [t for *of_block, of_map in blocks for t in (*of_block, *of_map)]
    ctx.save_for_backward(*tensors, *flat)
    ctx.tensors, ctx.each = len(tensors), len(flat) // max(1, len(blocks))


def _saved(ctx: Any) -> tuple[Sequence[Tensor], list[_Saved]]:
    every: Sequence[Any] = ctx.saved_tensors
    blocks = zip(*[iter(every[ctx.tensors :])] * max(1, ctx.each))
    return every[: ctx.tensors], [_Saved(S, F, A, T, tuple(rest)) for S, F, A, T, *rest in blocks]
