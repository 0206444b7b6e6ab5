"""A recurrent-recursive network step by step: a token in, the state out, a stack in between.

It has the parameters and the equations of the way along the graph
(:class:`~dgltrees.cells.RRNetCell`); for equal operations both give equal values and gradients. It
is for operations that depend on the state: those a policy chooses, and texts that are still going
on.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

import torch
from torch import Tensor

from dgltrees.cells.rrnet import RRNetCell, Step
from dgltrees.errors import TreeError
from dgltrees.trees.operations import Operation
from dgltrees.trees.segments import inverse

__all__ = ["ReaderState", "advance", "begin"]


class ReaderState(NamedTuple):
    """What B sequences have been read to.

    Attributes:
        h, c: ``(B, d)``.
        stack, stack_c: ``(B, K, d)``, what splits have pushed, bottom first; places from ``size``
            on hold arbitrary numbers.
        size: ``(B,)`` int64 on the CPU, how many sub-trees are open.
    """

    h: Tensor
    c: Tensor
    stack: Tensor
    stack_c: Tensor
    size: Tensor

    def first(self, count: int) -> ReaderState:
        """The state of the first sequences, not a copy."""
        return ReaderState(*(t[:count] for t in self))

    def select(self, rows: Tensor) -> ReaderState:
        """The state of some sequences."""
        there = rows.to(self.h.device)
        h, c, stack, stack_c = (t.index_select(0, there) for t in self[:4])
        return ReaderState(h, c, stack, stack_c, self.size[rows])


def begin(cell: RRNetCell, count: int, limit: int) -> ReaderState:
    """The state before the first token: zeros, and an empty stack.

    Arguments:
        cell: the network.
        count: B.
        limit: K, how many sub-trees can be open at a time.
    """
    like, d = cell.U, cell.hidden_size
    h, c = like.new_zeros(count, d), like.new_zeros(count, d)
    stack = like.new_zeros(count, limit, d)
    memories = torch.zeros_like(stack) if cell.stack_cell else like.new_zeros(count, limit, 0)
    return ReaderState(h, c, stack, memories, torch.zeros(count, dtype=torch.long))


def advance(
    cell: RRNetCell,
    x: Tensor,
    operations: Tensor,
    state: ReaderState,
    mask: Optional[Tensor] = None,
    *,
    in_place: bool = False,
) -> ReaderState:
    """One step of each sequence.

    Arguments:
        cell: the network.
        x: ``(B, m)`` the input of the step.
        operations: ``(B,)`` :class:`Operation`.
        state: the state before.
        mask: ``(B, d)`` what h is multiplied with where it is read.
        in_place: push on the stack of ``state`` itself, which is not to be used again; without
            gradients alone.

    Raises:
        TreeError: a merge finds an empty stack, a split a full one, or there is no such operation.
    """
    op = operations.cpu()
    _check(op, state)
    order = torch.argsort(op, stable=True)
    counts = torch.bincount(op, minlength=len(Operation)).tolist()
    groups = [(value, count) for value, count in enumerate(counts) if count]
    there, back = order.to(x.device), inverse(order).to(x.device)
    size = state.size[order].to(x.device)
    top = (size - 1).clamp_(min=0)
    x, h, c = (each.index_select(0, there) for each in (x, state.h, state.c))
    parts = x.split_with_sizes([count for _, count in groups])
    W, b = cell.W.unbind(), cell.b.unbind()
    own = zip(parts, (value - 1 for value, _ in groups))
    wx = torch.cat([torch.addmm(b[unit], part, W[unit]) for part, unit in own])
    top_c = state.stack_c[there, top] if cell.stack_cell else c
    last = Step(h, c, state.stack[there, top], top_c)
    own_mask = None if mask is None else mask.index_select(0, there)
    step = cell.step(x, wx, last, groups, own_mask)
    splits = counts[Operation.SPLIT]  # they stand first
    places = there[:splits], size[:splits]
    stack, stack_c = state.stack, state.stack_c
    if splits:
        put = Tensor.index_put_ if in_place else Tensor.index_put
        stack = put(stack, places, step.down[:splits])
        stack_c = put(stack_c, places, step.down_c[:splits]) if cell.stack_cell else stack_c
    change = (op == Operation.SPLIT).long() - (op == Operation.MERGE).long()
    h, c = step.h.index_select(0, back), step.c.index_select(0, back)
    return ReaderState(h, c, stack, stack_c, state.size + change)


def _check(op: Tensor, state: ReaderState) -> None:
    limit = state.stack.shape[1]
    for wrong, message in (
        ((op < Operation.SPLIT) | (op > Operation.MERGE), "expected SPLIT, RECUR or MERGE"),
        ((op == Operation.MERGE) & (state.size == 0), "expected a split for every merge"),
        (
            (op == Operation.SPLIT) & (state.size == limit),
            f"expected at most {limit} open sub-trees, the limit of the stack",
        ),
    ):
        if wrong.any():
            row = int(wrong.byte().argmax())
            got = f"{int(op[row])} with {int(state.size[row])} open"
            raise TreeError(f"{message}, got operation {got}", tree=row)
