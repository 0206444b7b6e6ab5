"""A recurrent-recursive network that runs step by step, with a stack of tensors.

It is needed if a policy chooses the operations, since they depend on the state. Parameters,
equations and results are those of the traversal of the operation graph
(:class:`~dgltrees.cells.RRNetCell`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from dgltrees.cells.rrnet import RRNetCell, Step
from dgltrees.errors import ConfigError, TreeError
from dgltrees.papers.rrnet.models.policy import ILLEGAL, Policy, legal, legal_between_words
from dgltrees.trees.kinds import Operation
from dgltrees.trees.segments import inverse, starts


class RRNetState(NamedTuple):
    """The state of B sequences between two steps.

    Attributes:
        h, c: ``(B, d)``, state and memory.
        stack, stack_c: ``(B, K, d)``, the pushed states and memories, bottom first; rows from
            ``size`` on are arbitrary.
        size: ``(B,)`` int64 on the CPU, the number of open subtrees.
    """

    h: Tensor
    c: Tensor
    stack: Tensor
    stack_c: Tensor
    size: Tensor

    def select(self, rows: Tensor) -> RRNetState:
        """Return the state of the sequences ``rows``, a tensor of indices on the CPU."""
        index = rows.to(self.h.device)
        h, c, stack, stack_c = (t.index_select(0, index) for t in self[:4])
        return RRNetState(h, c, stack, stack_c, self.size[rows])


def initial_state(cell: RRNetCell, count: int, max_open: int) -> RRNetState:
    """Return the state before the first token: zeros, and an empty stack."""
    like, d = cell.U, cell.hidden_size
    h, c = like.new_zeros(count, d), like.new_zeros(count, d)
    stack = like.new_zeros(count, max_open, d)
    stack_c = torch.zeros_like(stack) if cell.pushes_memory else like.new_zeros(count, max_open, 0)
    return RRNetState(h, c, stack, stack_c, torch.zeros(count, dtype=torch.long))


def advance(
    cell: RRNetCell,
    x: Tensor,
    operations: Tensor,
    state: RRNetState,
    mask: Tensor | None = None,
    *,
    in_place: bool = False,
) -> RRNetState:
    """Compute one step of each sequence."""
    op = operations.cpu()
    _check(op, state)
    order = torch.argsort(op, stable=True)
    counts = torch.bincount(op, minlength=len(Operation)).tolist()
    groups = [(value, count) for value, count in enumerate(counts) if count]
    index, back = order.to(x.device), inverse(order).to(x.device)
    size = state.size[order].to(x.device)
    top = (size - 1).clamp_(min=0)
    x, h, c = (each.index_select(0, index) for each in (x, state.h, state.c))
    parts = x.split_with_sizes([count for _, count in groups])
    W, b = cell.W.unbind(), cell.b.unbind()
    units = (value - 1 for value, _ in groups)
    wx = torch.cat([torch.addmm(b[unit], part, W[unit]) for part, unit in zip(parts, units)])
    top_c = state.stack_c[index, top] if cell.pushes_memory else c
    last = Step(h, c, state.stack[index, top], top_c)
    step = cell.step(x, wx, last, groups, None if mask is None else mask.index_select(0, index))
    splits = counts[Operation.SPLIT]  # they come first
    places = index[:splits], size[:splits]
    stack, stack_c = state.stack, state.stack_c
    if splits:
        index_put = Tensor.index_put_ if in_place else Tensor.index_put
        stack = index_put(stack, places, step.down[:splits])
        stack_c = (
            index_put(stack_c, places, step.down_c[:splits]) if cell.pushes_memory else stack_c
        )
    change = (op == Operation.SPLIT).long() - (op == Operation.MERGE).long()
    h, c = step.h.index_select(0, back), step.c.index_select(0, back)
    return RRNetState(h, c, stack, stack_c, state.size + change)


def _check(op: Tensor, state: RRNetState) -> None:
    max_open = state.stack.shape[1]
    for wrong, message in (
        ((op < Operation.SPLIT) | (op > Operation.MERGE), "expected SPLIT, RECUR or MERGE"),
        ((op == Operation.MERGE) & (state.size == 0), "expected a split for every merge"),
        (
            (op == Operation.SPLIT) & (state.size == max_open),
            f"expected at most {max_open} open subtrees, the limit of the stack",
        ),
    ):
        if wrong.any():
            row = int(wrong.byte().argmax())
            got = f"{int(op[row])} with {int(state.size[row])} open"
            raise TreeError(f"{message}, got operation {got}", tree=row)


Consume = Literal["step", "recur"]
"""The operations that consume their token: all, or only RECUR."""


class Steps(NamedTuple):
    """The operations of T sentences.

    Attributes:
        operations: ``(L,)``, sentence after sentence; START where a policy has to choose.
        sizes: ``(T,)`` int64 on the CPU, the number of operations of each sentence.
    """

    operations: Tensor
    sizes: Tensor


def choose(
    policy: Policy,
    cell: RRNetCell,
    pick: Callable[[Tensor], Tensor],
    x: Tensor,
    sizes: Tensor,
    given: Steps,
    state: RRNetState,
    h_mask: Tensor | None = None,
    *,
    consume: Consume,
    ends: bool,
) -> tuple[Steps, Tensor]:
    """Choose the operations of sentences step by step."""
    max_open, ends = state.stack.shape[1], ends and consume == "recur"
    x = torch.cat([x, x.new_zeros(1, x.shape[1])])  # there is no token after the last
    known = torch.cat([given.operations.cpu(), torch.tensor([int(Operation.START)])])
    rows = torch.argsort(sizes, descending=True, stable=True)  # the longest first
    state, left, token = state.select(rows), sizes[rows], starts(sizes)[rows]
    next_known, no_more = starts(given.sizes)[rows], given.sizes.cumsum(0)[rows]
    last = torch.full_like(rows, int(Operation.START))
    taken = []
    while True:
        active = (left > 0) | (state.size > 0) if ends else left > 0
        if not active.all():
            state = state.select(active.nonzero()[:, 0])
            each = (rows, left, token, next_known, no_more, last)
            rows, left, token, next_known, no_more, last = (column[active] for column in each)
        if not len(rows):
            break
        e = x.index_select(0, torch.where(left > 0, token, len(x) - 1).to(x.device))
        if consume == "recur":
            is_legal = legal_between_words(state.size, max_open, last, left > 0)
        else:
            is_legal = legal(state.size, max_open)
        scores = policy.score(state.h, e, is_legal.to(x.device))
        if not (scores.max(1).values > ILLEGAL / 2).all():  # or NaN
            raise ConfigError(
                "no legal operation has a score: training has diverged; lower training.lr or set "
                "training.max_grad_norm"
            )
        action = pick(scores).cpu()
        chosen = known[torch.where(next_known < no_more, next_known, len(known) - 1)]
        last = torch.where(chosen > 0, chosen, action + 1)
        mask = None if h_mask is None else h_mask.index_select(0, rows.to(x.device))
        state = advance(cell, e, last, state, mask, in_place=True)
        taken.append(torch.stack([rows, last, (chosen > 0).long()]))
        consumed = (last == Operation.RECUR) | (consume == "step")
        left, token, next_known = left - consumed.long(), token + consumed.long(), next_known + 1
    row, operations, from_data = torch.cat(taken, 1)
    order = torch.argsort(row, stable=True)
    counts = torch.bincount(row, minlength=len(sizes))
    return Steps(operations[order], counts), from_data[order].bool()
