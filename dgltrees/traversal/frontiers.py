"""Schedules of given frontiers: sets of nodes that receive messages, one set after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from dgltrees.traversal.plan import plan_sends
from dgltrees.traversal.schedule import Level, Schedule, TypeCall
from dgltrees.trees.segments import owner, ranges, run_offsets, starts, within

Ints = NDArray[np.int64]


def frontier_schedule(time: Ints, src: Ints, dst: Ints, kind: Ints, ids: Ints) -> Schedule:
    """Compute the schedule of a traversal in which no node is in two frontiers.

    Level 0 has the fields from before the traversal: of nodes in no frontier, and of nodes that
    are read before their own frontier. Level ``t`` is frontier ``t``. All its nodes are receiving
    nodes, with or without messages. Its edges are sorted by type, number of messages, and node.

    Arguments:
        time: ``(N,)`` the frontier of each node, from 1; 0 for a node in no frontier.
        src, dst: ``(E,)`` the ends of the edges into these nodes, in the order of the messages.
        kind, ids: ``(E,)`` the type of each edge, and its number for the functions.

    Returns:
        the schedule, on the CPU.
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
    return Schedule(
        levels=[
            Level(n, e, [(n, e)] if n else [], [None] if n else [], *rest)
            for n, e, *rest in zip(
                nodes.tolist(),
                edges.tolist(),
                sends.producers,
                sends.in_order.tolist(),
                [False] * size,
                sends.consumers,
                sends.send_sizes,
            )
        ],
        leaves=torch.from_numpy(leaves),
        leaf_groups=None,
        leaf_rows=None,
        leaf_sizes=leaf_sizes.tolist(),
        inner=torch.from_numpy(inner),
        edges=torch.from_numpy(ids[order]),
        src=torch.from_numpy(src),
        dst=torch.from_numpy(dst),
        back=torch.from_numpy(back),
        gather=torch.from_numpy(sends.gather),
        send=None if sends.send is None else torch.from_numpy(sends.send),
        slots=None,
        mask=None,
        initial=False,
        calls=_calls(level[first], kind[first], messages[first], row[dst[first]], nodes),
        rows=torch.from_numpy(row[dst[first]]),
    )


def _calls(
    level: Ints, kind: Ints, messages: Ints, rows: Ints, nodes: Ints
) -> list[list[TypeCall]]:
    """Cut the receivers of each type, sorted by level, type and number of messages, into calls."""
    calls: list[list[TypeCall]] = [[] for _ in nodes]
    for begin, end in pairwise(run_offsets(level, kind).tolist()):
        number = int(level[begin])
        degrees, counts = np.unique(messages[begin:end], return_counts=True)
        buckets = list(zip(counts.tolist(), (counts * degrees).tolist()))
        full = np.array_equal(rows[begin:end], np.arange(nodes[number]))
        calls[number].append(TypeCall(int(kind[begin]), buckets, full))
    return calls


def into_nodes(frontiers: Sequence[Ints], dst: Ints, num_nodes: int) -> Iterator[tuple[Ints, Ints]]:
    """Iterate over the longest runs of frontiers without a node that occurs again.

    Arguments:
        frontiers: the nodes of each frontier.
        dst: ``(E,)`` the node that each edge enters.
        num_nodes: the number of nodes.

    Returns:
        for each run, ``time`` of :func:`frontier_schedule`, and all edges into its nodes.
    """
    edges, degree = np.argsort(dst, kind="stable"), np.bincount(dst, minlength=num_nodes)
    first = starts(degree)
    for run, time in _runs(frontiers, num_nodes):
        nodes = np.concatenate(frontiers[run])
        yield time, edges[ranges(first[nodes], degree[nodes])]


def along_edges(
    frontiers: Sequence[Ints], dst: Ints, num_nodes: int
) -> Iterator[tuple[Ints, Ints]]:
    """Do the same as :func:`into_nodes` for frontiers of edges."""
    for run, time in _runs([dst[edges] for edges in frontiers], num_nodes):
        yield time, np.concatenate(frontiers[run])


def _runs(frontiers: Sequence[Ints], num_nodes: int) -> Iterator[tuple[slice, Ints]]:
    """Cut frontiers where a node occurs again; iterate over the runs, with times of nodes."""
    last, begin = np.full(num_nodes, -1), 0
    for number in range(len(frontiers) + 1):
        ends = number == len(frontiers)
        if (ends and number > begin) or (not ends and (last[frontiers[number]] >= begin).any()):
            run, time = slice(begin, number), np.zeros(num_nodes, np.int64)
            sizes = np.array([len(frontier) for frontier in frontiers[run]])
            time[np.concatenate(frontiers[run])] = 1 + owner(sizes)
            yield run, time
            begin = number
        if not ends:
            last[frontiers[number]] = number
