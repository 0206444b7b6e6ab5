"""Schedules: nodes and edges of a graph in the order in which a traversal visits them.

They are computed once per batch by vectorised code without a loop over nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltrees.traversal.order import levels_of
from dgltrees.traversal.positions import check_positions
from dgltrees.traversal.views import Groups
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import Bools, Ints, inverse, owner, run_offsets, within


class Level(NamedTuple):
    """The counts of the nodes and edges of one level, on the host.

    The *rows* of a level are its leaves (nodes without incoming edges), then its receiving nodes.
    In a tree all edges of a level come from rows of the level before. In other graphs any earlier
    level may be a *producer* of rows that the level reads, and any later level a *consumer*.

    Attributes:
        nodes: the number of receiving nodes.
        edges: the number of edges into them.
        buckets: the number of nodes and of their edges for each call of the reduce function.
        groups: the groups of the nodes of each of these calls.
        producers: the levels whose rows the edges leave, ascending.
        in_order: whether the rows that the producers send are in the order of the edges.
        slots_full: whether every slot is filled, in the order of the edges.
        consumers: the later levels that need rows of this one.
        send_sizes: the number of rows for each consumer.
    """

    nodes: int
    edges: int
    buckets: list[tuple[int, int]]
    groups: list[Groups | None]
    producers: list[int]
    in_order: bool
    slots_full: bool
    consumers: list[int]
    send_sizes: list[int]


@dataclass(frozen=True)
class Schedule:
    """Nodes and edges in the order of their levels.

    Attributes:
        levels: the levels; level 0 has only leaves.
        leaves: ``(leaves,)``, the nodes without incoming edges, in the order of their update.
        leaf_groups: the groups of the leaves.
        leaf_rows: ``(leaves,)``, the index that sorts the leaves by their levels; None if they are
            already sorted.
        leaf_sizes: the number of leaves in each level.
        inner: ``(N - leaves,)`` the receiving nodes, level by level.
        edges: ``(E,)`` the edges, level by level.
        src, dst: ``(E,)`` the ends of these edges.
        back: ``(N,)`` the index of each node among the leaves by level, then the receiving nodes.
        gather: ``(E,)`` the index of each edge's source among the rows sent to its level.
        send: ``(rows sent,)`` the rows that the levels send; None if each level sends all its rows
            to the next.
        slots: ``(slots of all levels,)``, the edge in each slot, counted within the level; the
            number of edges of the level for an empty slot. None without slots.
        mask: ``(N - leaves, slots)`` bool, the slots that are filled, or None.
        initial: whether messages read the fields from before the traversal (``reverse=True``).
    """

    levels: list[Level]
    leaves: Tensor
    leaf_groups: Groups | None
    leaf_rows: Tensor | None
    leaf_sizes: list[int]
    inner: Tensor
    edges: Tensor
    src: Tensor
    dst: Tensor
    back: Tensor
    gather: Tensor
    send: Tensor | None
    slots: Tensor | None
    mask: Tensor | None
    initial: bool

    @property
    def groups(self) -> Groups | None:
        """Return the groups of the leaves, then of the receiving nodes; None without groups."""
        if self.leaf_groups is None:
            return None
        calls = (groups for level in self.levels for groups in level.groups)
        return [*self.leaf_groups, *(run for groups in calls for run in groups or ())]

    def to(self, device: str | torch.device) -> Schedule:
        """Return the same schedule with its tensors on ``device``."""
        moved: dict[str, Any] = {
            name: value.to(device, non_blocking=True)
            for name, value in vars(self).items()
            if isinstance(value, Tensor)
        }
        return replace(self, **moved)


def make_schedule(
    batch: TreeBatch,
    *,
    group: Tensor | None = None,
    pos: Tensor | None = None,
    slots: int | None = None,
    reverse: bool = False,
) -> Schedule:
    """Compute the schedule of a traversal of ``batch``.

    Arguments:
        batch: the graph.
        group: ``(N,)`` integers; nodes of equal value become adjacent within a level.
        pos: ``(E,)``, the slot of each edge's message; required with ``slots``.
        slots: the width of every mailbox; without it, nodes are bucketed by their degree.
        reverse: visit the levels in reverse order, as DGL does. Every message then reads the fields
            of its source from before the traversal, so that one level is enough.

    Returns:
        the schedule, on the CPU.

    Raises:
        TreeError: the graph has a cycle; or ``slots`` is given and positions are missing or out of
            range.

    Example:
        >>> from dgltrees import Forest
        >>> from dgltrees.traversal import make_schedule
        >>> batch = Forest.build([-1, 0, 0, 2]).batch()
        >>> schedule = make_schedule(batch)
        >>> schedule.leaves, [level.nodes for level in schedule.levels]
        (tensor([3, 1]), [0, 1, 1])
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

    # Leaves are updated group by group, and sent level by level.
    leaves = np.flatnonzero(is_leaf)
    leaves = leaves[np.argsort(level[leaves], kind="stable")]
    by_group = np.arange(len(leaves))
    if value is not None:
        by_group = np.argsort(value[leaves], kind="stable")
    moved = not np.array_equal(by_group, np.arange(len(leaves)))
    leaf_sizes = np.bincount(level[leaves], minlength=size)

    # Receiving nodes are sorted by level, bucket and group. Ties keep the order of the nodes, so
    # that children are mostly in the order of their parents and few gathers are needed.
    inner = np.flatnonzero(~is_leaf)
    keys = [bucket[inner], level[inner]]
    if value is not None:
        keys.insert(0, value[inner])
    inner = inner[np.lexsort(keys)]
    inner_sizes = np.bincount(level[inner], minlength=size)

    # The index of a node among leaves and receiving nodes, and its row within its level.
    back, row = np.empty(count, np.int64), np.empty(count, np.int64)
    back[leaves] = np.arange(len(leaves))
    back[inner] = len(leaves) + np.arange(len(inner))
    row[leaves] = within(leaf_sizes)
    row[inner] = leaf_sizes[level[inner]] + within(inner_sizes)

    # Edges are sorted by the nodes that they enter; ties keep the order of the edges.
    edges = np.argsort(back[dst], kind="stable")
    src, dst = src[edges], dst[edges]
    edge_sizes = np.bincount(level[dst], minlength=size)
    sends = plan_sends(level[src], level[dst], row[src], leaf_sizes + inner_sizes, edge_sizes)
    filled = Slots(None, None, np.zeros(size, np.bool_))
    if slots is not None:
        place = check_positions(batch, slots, pos)[edges]
        slot_of_edge = (back[dst] - len(leaves)) * slots + place
        filled = _fill(slot_of_edge, inner_sizes, edge_sizes, slots)
    calls = _calls(
        level[inner], bucket[inner], None if value is None else value[inner], degree[inner], size
    )
    return assembled(
        (leaf_sizes, inner_sizes, edge_sizes),
        sends,
        calls,
        filled,
        {"leaves": leaves[by_group], "inner": inner, "back": back},
        {"edges": edges, "src": src, "dst": dst},
        leaf_groups=None if value is None else _runs(value[leaves[by_group]]),
        leaf_rows=torch.from_numpy(inverse(by_group)) if moved else None,
        initial=reverse,
    )


def assembled(
    sizes: tuple[Ints, Ints, Ints],
    sends: Sends,
    calls: Calls,
    filled: Slots,
    *arrays: Mapping[str, Ints],
    **others: Any,
) -> Schedule:
    """Assemble the parts of a schedule."""
    leaf_sizes, inner_sizes, edge_sizes = (each.tolist() for each in sizes)
    levels = zip(
        inner_sizes,
        edge_sizes,
        calls.buckets,
        calls.groups,
        sends.producers,
        sends.in_order.tolist(),
        filled.full.tolist(),
        sends.consumers,
        sends.send_sizes,
    )
    tensors: dict[str, Any] = {
        name: torch.from_numpy(array) for each in arrays for name, array in each.items()
    }
    return Schedule(
        levels=[Level(*numbers) for numbers in levels],
        leaf_sizes=leaf_sizes,
        gather=torch.from_numpy(sends.gather),
        send=None if sends.send is None else torch.from_numpy(sends.send),
        slots=filled.edge,
        mask=filled.mask,
        **tensors,
        **others,
    )


class Sends(NamedTuple):
    """The rows that levels send to later ones; lists and ``in_order`` have an entry per level."""

    gather: Ints
    send: Ints | None
    in_order: Bools
    producers: list[list[int]]
    consumers: list[list[int]]
    send_sizes: list[list[int]]


def plan_sends(producer: Ints, consumer: Ints, row: Ints, rows: Ints, edge_sizes: Ints) -> Sends:
    """Determine the rows that each level sends to each later level."""
    size = len(rows)
    if (producer + 1 == consumer).all():
        moved = np.bincount(consumer, row != within(edge_sizes), minlength=size) > 0
        sends = np.append(edge_sizes[1:] > 0, False)
        return Sends(
            row,
            None,
            ~moved & (edge_sizes == np.append(0, rows[:-1])),
            [[level - 1] if n else [] for level, n in enumerate(edge_sizes.tolist())],
            [[level + 1] if some else [] for level, some in enumerate(sends.tolist())],
            [[n] if some else [] for n, some in zip(rows.tolist(), sends.tolist())],
        )
    # The rows that a level sends are sorted by consumer, those that it receives by producer.
    by_producer = np.lexsort((consumer, producer))
    by_consumer = np.lexsort((producer, consumer))
    gather = np.empty_like(row)
    gather[by_consumer] = within(edge_sizes)
    pairs, counts = np.unique(producer * size + consumer, return_counts=True)
    plan = Sends(
        gather,
        row[by_producer],
        np.bincount(consumer, gather != within(edge_sizes), minlength=size) == 0,
        [[] for _ in range(size)],
        [[] for _ in range(size)],
        [[] for _ in range(size)],
    )
    for pair, number in zip(pairs.tolist(), counts.tolist()):
        sender, receiver = divmod(pair, size)
        plan.producers[receiver].append(sender)
        plan.consumers[sender].append(receiver)
        plan.send_sizes[sender].append(number)
    return plan


class Calls(NamedTuple):
    """The calls of the reduce function on each level, and the runs of equal groups in each."""

    buckets: list[list[tuple[int, int]]]
    groups: list[list[Groups | None]]


def _calls(level: Ints, bucket: Ints, value: Ints | None, degree: Ints, size: int) -> Calls:
    """Cut the receiving nodes, sorted by level, bucket and group, into calls."""
    calls = Calls([[] for _ in range(size)], [[] for _ in range(size)])
    offsets = run_offsets(level, bucket)
    begins = offsets[:-1]
    edges = np.add.reduceat(degree, begins).tolist() if len(begins) else []
    for number, nodes, entering in zip(level[begins].tolist(), np.diff(offsets).tolist(), edges):
        calls.buckets[number].append((nodes, entering))
        calls.groups[number].append(None if value is None else [])
    if value is not None:
        runs = run_offsets(level, bucket, value)
        call_of_run = (np.searchsorted(begins, runs[:-1], side="right") - 1).tolist()
        flat = [groups for of_level in calls.groups for groups in of_level]
        numbers = value[runs[:-1]].tolist()
        for call, number, nodes in zip(call_of_run, numbers, np.diff(runs).tolist()):
            flat[call].append((number, nodes))
    return calls


class Slots(NamedTuple):
    """The edge in each slot, counted within its level, and the levels that need no gather."""

    edge: Tensor | None
    mask: Tensor | None
    full: Bools


def _fill(slot_of_edge: Ints, inner_sizes: Ints, edge_sizes: Ints, slots: int) -> Slots:
    """Put every edge into its slot, numbered over all slots of all receiving nodes."""
    index = np.repeat(edge_sizes, inner_sizes * slots)
    index[slot_of_edge] = within(edge_sizes)
    ordered = index == within(inner_sizes * slots)
    level_of_slot = owner(inner_sizes * slots)
    full = np.bincount(level_of_slot, ~ordered, minlength=len(inner_sizes)) == 0
    full &= edge_sizes == inner_sizes * slots
    mask = torch.from_numpy(np.zeros((int(inner_sizes.sum()), slots), np.bool_))
    mask.view(-1)[torch.from_numpy(slot_of_edge)] = True
    return Slots(torch.from_numpy(index), mask, full)


def _runs(value: Ints) -> Groups:
    offsets = run_offsets(value)
    return list(zip(value[offsets[:-1]].tolist(), np.diff(offsets).tolist()))
