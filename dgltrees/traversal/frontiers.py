"""Schedules of given frontiers: sets of nodes that receive messages, one set after another."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltrees.traversal.plan import Calls, Schedule, Slots, assembled, plan_sends
from dgltrees.trees.segments import Ints, run_offsets, within


class TypeCall(NamedTuple):
    """The receivers of messages along the edges of one type in one level.

    Attributes:
        type: the number of the type.
        number: the number of the call among those of the type.
        buckets: the number of nodes and of their edges for each call of the reduce function.
        rows: the rows of the nodes in their level, or None for all nodes of the level.
    """

    type: int
    number: int
    buckets: list[tuple[int, int]]
    rows: Tensor | None

    @property
    def edges(self) -> int:
        """Return the number of edges."""
        return sum(edges for _, edges in self.buckets)


def frontier_schedule(
    time: Ints, src: Ints, dst: Ints, kind: Ints, ids: Ints
) -> tuple[Schedule, list[list[TypeCall]]]:
    """Compute the schedule of a traversal in which no node is in two frontiers.

    Level 0 has the fields from before the traversal: of nodes in no frontier, and of nodes that
    are read before their own frontier. Level ``t`` is frontier ``t``. All its nodes are receiving
    nodes, with or without messages. Its edges are sorted by type, number of messages, and node.

    Arguments:
        time: ``(N,)`` the frontier of each node, from 1; 0 for a node in no frontier.
        src, dst: ``(E,)`` the ends of the edges into these nodes, in the order of the messages.
        kind, ids: ``(E,)`` the type of each edge, and its number for the functions.

    Returns:
        the schedule, and the calls of each level in the order of its edges, on the CPU.
    """
    count, size = len(time), int(time.max(initial=0)) + 1
    initial = time == 0
    initial[src[time[src] >= time[dst]]] = True
    leaves, inner = np.flatnonzero(initial), np.argsort(time, kind="stable")
    inner = inner[time[inner] > 0]
    nodes = np.bincount(time[inner], minlength=size)
    leaf_sizes = np.zeros(size, np.int64)
    leaf_sizes[0] = len(leaves)
    row, leaf_row, back = np.zeros((3, count), np.int64)
    row[inner] = within(nodes)
    leaf_row[leaves] = back[leaves] = np.arange(len(leaves))
    back[inner] = len(leaves) + np.arange(len(inner))

    _, pair, counts = np.unique(kind * count + dst, return_inverse=True, return_counts=True)
    messages: Ints = counts[pair.reshape(-1)]  # of the type of the edge, into the same node
    order = np.lexsort((back[dst], messages, kind, time[dst]))
    src, dst, kind, messages = src[order], dst[order], kind[order], messages[order]
    level = time[dst]
    producer = np.where(time[src] < level, time[src], 0)
    sources = np.where(producer > 0, row[src], leaf_row[src])
    edges = np.bincount(level, minlength=size)
    sends = plan_sends(producer, level, sources, leaf_sizes + nodes, edges)
    first = run_offsets(level, kind, dst)[:-1]  # the first edge of each type into each node
    schedule = assembled(
        (leaf_sizes, nodes, edges),
        sends,
        Calls(
            [[(n, e)] if n else [] for n, e in zip(nodes.tolist(), edges.tolist())],
            [[None] if n else [] for n in nodes.tolist()],
        ),
        Slots(None, None, np.zeros(size, np.bool_)),
        {"leaves": leaves, "inner": inner, "back": back},
        {"edges": ids[order], "src": src, "dst": dst},
        leaf_groups=None,
        leaf_rows=None,
        initial=False,
    )
    return schedule, _calls(level[first], kind[first], messages[first], row[dst[first]], nodes)


def _calls(
    level: Ints, kind: Ints, messages: Ints, rows: Ints, nodes: Ints
) -> list[list[TypeCall]]:
    """Cut the receivers of each type, sorted by level, type and number of messages, into calls."""
    calls: list[list[TypeCall]] = [[] for _ in nodes]
    numbers: Counter[int] = Counter()
    for begin, end in pairwise(run_offsets(level, kind).tolist()):
        at, of_type = int(level[begin]), int(kind[begin])
        degrees, counts = np.unique(messages[begin:end], return_counts=True)
        buckets = list(zip(counts.tolist(), (counts * degrees).tolist()))
        here = rows[begin:end]
        every = np.array_equal(here, np.arange(nodes[at]))
        receivers = None if every else torch.from_numpy(here)
        calls[at].append(TypeCall(of_type, numbers[of_type], buckets, receivers))
        numbers[of_type] += 1
    return calls
