"""A policy's operations, chosen step by step from the state that the steps before have led to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from dgltrees.cells.rrnet import RRNetCell
from dgltrees.papers.rrnet.graphs import Operation
from dgltrees.papers.rrnet.models.policy import Policy, legal, legal_between_words
from dgltrees.papers.rrnet.models.stepping import RRNetState, advance
from dgltrees.trees.segments import starts

__all__ = ["Consume", "Steps", "choose"]

Consume = Literal["step", "recur"]
"""Which operations consume their token: each one, or RECUR alone."""


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
    """The operations of sentences, and whether each is a given one, ``(L,)`` bool, on the CPU.

    Arguments:
        policy, cell: the networks.
        pick: from scores ``(n, 3)`` to actions ``(n,)``.
        x: ``(S, m)`` the vectors of all tokens, sentence after sentence.
        sizes: ``(T,)`` int64 on the CPU, the number of tokens of each sentence.
        given: operations that are not chosen.
        state: the state in which the sentences begin.
        h_mask: ``(T, d)``, the dropout masks of h.
        consume: which operations consume their token.
        ends: whether, if RECUR alone consumes, sub-trees are merged at the end of a sentence.
    """
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
        action = pick(policy.score(state.h, e, is_legal.to(x.device))).cpu()
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
