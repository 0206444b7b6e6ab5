"""Schedules from graphs: vectorised code, once a batch, and no loop over nodes."""

from __future__ import annotations

from typing import NamedTuple, Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.traversal.order import levels_of
from dgltrees.traversal.positions import check_positions
from dgltrees.traversal.schedule import Level, Schedule
from dgltrees.traversal.views import Groups
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import inverse, owner, run_offsets, within

__all__ = ["make_schedule"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def make_schedule(
    batch: TreeBatch,
    *,
    group: Optional[Tensor] = None,
    pos: Optional[Tensor] = None,
    slots: Optional[int] = None,
    reverse: bool = False,
) -> Schedule:
    """Plan a traversal of ``batch``.

    Arguments:
        batch: the graph.
        group: ``(N,)`` integers; nodes of equal value are made adjacent within a level.
        pos: ``(E,)`` the slot of each edge's message, if there are slots.
        slots: the width of every mailbox; without it nodes are bucketed by their degree.
        reverse: visit the levels in reverse, as DGL does: every message then reads what its source
            was before the traversal, so one level does for all.

    Raises:
        TreeError: there is a cycle, or there are no positions for the slots, or a message has a
            position that no slot can take.
    """
    src, dst, count = batch.src.numpy(), batch.dst.numpy(), batch.num_nodes
    level = levels_of(batch)
    degree = np.bincount(dst, minlength=count)
    is_leaf = degree == 0
    if reverse:
        level = (~is_leaf).astype(np.int64)
    size = int(level.max(initial=0)) + 1  # number of levels
    value = None if group is None else batch.on_host(group).numpy().astype(np.int64)
    bucket = degree if slots is None else np.minimum(degree, 1)

    # Leaves are applied group by group, and handed out level by level.
    leaves = np.flatnonzero(is_leaf)
    leaves = leaves[np.argsort(level[leaves], kind="stable")]
    by_group = np.arange(len(leaves))
    if value is not None:
        by_group = np.argsort(value[leaves], kind="stable")
    leaf_sizes = np.bincount(level[leaves], minlength=size)

    # Receiving nodes stand by level, bucket and group. Ties keep the order of the nodes, so that
    # children mostly stand as their parents do and gathers fall away.
    inner = np.flatnonzero(~is_leaf)
    keys = [bucket[inner], level[inner]]
    if value is not None:
        keys.insert(0, value[inner])
    inner = inner[np.lexsort(keys)]
    inner_sizes = np.bincount(level[inner], minlength=size)

    # Where a node stands among leaves and receiving nodes, and which row of its level it is.
    back, row = np.empty(count, np.int64), np.empty(count, np.int64)
    back[leaves] = np.arange(len(leaves))
    back[inner] = len(leaves) + np.arange(len(inner))
    row[leaves] = within(leaf_sizes)
    row[inner] = leaf_sizes[level[inner]] + within(inner_sizes)

    # Edges stand as the nodes that they enter, and among themselves as they came.
    edges = np.argsort(back[dst], kind="stable")
    src, dst = src[edges], dst[edges]
    edge_sizes = np.bincount(level[dst], minlength=size)
    hand = _hand_over(level[src], level[dst], row[src], leaf_sizes + inner_sizes, edge_sizes)
    filled = _Slots(None, None, np.zeros(size, np.bool_))
    if slots is not None:
        place = check_positions(batch, slots, pos)[edges]
        where = (back[dst] - len(leaves)) * slots + place
        filled = _fill(where, inner_sizes, edge_sizes, slots)
    calls = _calls(
        level[inner], bucket[inner], None if value is None else value[inner], degree[inner], size
    )
    return Schedule(
        levels=[
            Level(*numbers)
            for numbers in zip(
                inner_sizes.tolist(),
                edge_sizes.tolist(),
                calls.buckets,
                calls.groups,
                hand.givers,
                hand.in_order.tolist(),
                filled.full.tolist(),
                hand.takers,
                hand.give_sizes,
            )
        ],
        leaves=torch.from_numpy(leaves[by_group]),
        leaf_groups=None if value is None else _runs(value[leaves[by_group]]),
        leaf_rows=None if _is_range(by_group) else torch.from_numpy(inverse(by_group)),
        leaf_sizes=leaf_sizes.tolist(),
        inner=torch.from_numpy(inner),
        edges=torch.from_numpy(edges),
        src=torch.from_numpy(src),
        dst=torch.from_numpy(dst),
        back=torch.from_numpy(back),
        take=torch.from_numpy(hand.take),
        give=None if hand.give is None else torch.from_numpy(hand.give),
        slots=filled.edge,
        mask=filled.mask,
        initial=reverse,
    )


class _Hand(NamedTuple):
    """Who hands which rows to whom; lists and ``in_order`` have an entry a level."""

    take: Ints
    give: Optional[Ints]
    in_order: Bools
    givers: list[list[int]]
    takers: list[list[int]]
    give_sizes: list[list[int]]


def _hand_over(giver: Ints, taker: Ints, row: Ints, rows: Ints, edge_sizes: Ints) -> _Hand:
    """Plan how rows travel from the levels that make them to those that need them.

    Arguments:
        giver, taker: ``(E,)`` the levels that each edge leaves and enters.
        row: ``(E,)`` the row of its level that each edge leaves.
        rows, edge_sizes: rows of each level, and edges into it.
    """
    size = len(rows)
    if (giver + 1 == taker).all():
        moved = np.bincount(taker, row != within(edge_sizes), minlength=size) > 0
        gives = np.append(edge_sizes[1:] > 0, False)
        return _Hand(
            row,
            None,
            ~moved & (edge_sizes == np.append(0, rows[:-1])),
            [[level - 1] if n else [] for level, n in enumerate(edge_sizes.tolist())],
            [[level + 1] if given else [] for level, given in enumerate(gives.tolist())],
            [[n] if given else [] for n, given in zip(rows.tolist(), gives.tolist())],
        )
    # What a level hands over stands by taker; what a level is handed stands by giver.
    by_giver = np.lexsort((taker, giver))
    by_taker = np.lexsort((giver, taker))
    take = np.empty_like(row)
    take[by_taker] = within(edge_sizes)
    pairs, counts = np.unique(giver * size + taker, return_counts=True)
    plan = _Hand(
        take,
        row[by_giver],
        np.bincount(taker, take != within(edge_sizes), minlength=size) == 0,
        [[] for _ in range(size)],
        [[] for _ in range(size)],
        [[] for _ in range(size)],
    )
    for pair, number in zip(pairs.tolist(), counts.tolist()):
        giving, taking = divmod(pair, size)
        plan.givers[taking].append(giving)
        plan.takers[giving].append(taking)
        plan.give_sizes[giving].append(number)
    return plan


class _Calls(NamedTuple):
    """For each level the calls of the reduce function, and the runs of equal groups in each."""

    buckets: list[list[tuple[int, int]]]
    groups: list[list[Optional[Groups]]]


def _calls(level: Ints, bucket: Ints, value: Optional[Ints], degree: Ints, size: int) -> _Calls:
    """Cut the receiving nodes, which stand by level, bucket and group, into calls."""
    calls = _Calls([[] for _ in range(size)], [[] for _ in range(size)])
    offsets = run_offsets(level, bucket)
    begins = offsets[:-1]
    edges = np.add.reduceat(degree, begins).tolist() if len(begins) else []
    for at, nodes, entering in zip(level[begins].tolist(), np.diff(offsets).tolist(), edges):
        calls.buckets[at].append((nodes, entering))
        calls.groups[at].append(None if value is None else [])
    if value is not None:
        runs = run_offsets(level, bucket, value)
        which = (np.searchsorted(begins, runs[:-1], side="right") - 1).tolist()
        flat = [groups for of_level in calls.groups for groups in of_level]
        numbers = value[runs[:-1]].tolist()
        for call, number, nodes in zip(which, numbers, np.diff(runs).tolist()):
            flat[call].append((number, nodes))
    return calls


class _Slots(NamedTuple):
    """Which edge of its level fills which slot, and the levels where that needs no gather."""

    edge: Optional[Tensor]
    mask: Optional[Tensor]
    full: Bools


def _fill(where: Ints, inner_sizes: Ints, edge_sizes: Ints, slots: int) -> _Slots:
    """Put every edge into the slot ``where`` of all slots of all receiving nodes."""
    index = np.repeat(edge_sizes, inner_sizes * slots)
    index[where] = within(edge_sizes)
    ordered = index == within(inner_sizes * slots)
    level_of_slot = owner(inner_sizes * slots)
    full = np.bincount(level_of_slot, ~ordered, minlength=len(inner_sizes)) == 0
    full &= edge_sizes == inner_sizes * slots
    mask = torch.from_numpy(np.zeros((int(inner_sizes.sum()), slots), np.bool_))
    mask.view(-1)[torch.from_numpy(where)] = True
    return _Slots(torch.from_numpy(index), mask, full)


def _runs(value: Ints) -> Groups:
    offsets = run_offsets(value)
    return list(zip(value[offsets[:-1]].tolist(), np.diff(offsets).tolist()))


def _is_range(index: Ints) -> bool:
    return bool((index == np.arange(len(index))).all())
