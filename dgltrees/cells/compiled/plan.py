"""The order of nodes and edges for compiled code: rows by shard and level, edges by target row.

It supports trees in both directions, and any other graph without cycles. Trees are independent, so
rows can be cut into shards of whole trees with separate leaves and levels. Threads never wait for
each other, and a shard stays in a cache. A batch whose tables would need too much memory is cut
into pieces, also within trees. A piece begins with rows whose states are given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgltrees.traversal.order import levels_of
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import Bools, Ints, inverse, offsets_of, run_offsets, starts, within


class LevelPlan(NamedTuple):
    """Rows and edges in the order of their levels.

    Attributes:
        bounds: ``(S, 11)`` for each shard its first row, and the rows after its given rows, leaves
            and last row; its first level of leaves and of other nodes, and the level after its
            last; the first level in which children may have children; its first run of leaves and
            of other nodes, and the run after its last.
        levels: ``(levels, 3)`` the first row of each level, the row after its last, and their type.
            All leaves are one level; rows of another type are another level.
        runs: ``(runs, 3)`` the same for all rows of one type, with leaves separate.
        order: ``(N,)`` the node of each row.
        edges: ``(N + 1,)`` the index of the first edge into each row.
        child: ``(E,)`` the row that each edge leaves.
        numbers: ``(E,)`` the number of each edge in the graph.
        slots: ``(E,)`` the slot of each edge.
    """

    bounds: Ints
    levels: Ints
    runs: Ints
    order: Ints
    edges: Ints
    child: Ints
    numbers: Ints
    slots: Ints

    @property
    def largest(self) -> tuple[int, int]:
        """Return the numbers of nodes and of edges of the largest shard."""
        first, last = self.bounds[:, 0], self.bounds[:, 3]
        edges = self.edges[last] - self.edges[first]
        return int((last - first).max(initial=0)), int(edges.max(initial=0))


class _Nodes(NamedTuple):
    """Nodes to plan: the edges between them, and the shard, level and type of each.

    ``given`` are those whose states are known; no edges enter them.
    """

    src: Ints
    dst: Ints
    shard: Ints
    level: Ints
    types: Ints | None
    slots: Ints | None
    given: Bools | None = None


def level_plan(
    batch: TreeBatch,
    shards: int,
    rows: int | None = None,
    types: Ints | None = None,
    slots: Ints | None = None,
) -> list[LevelPlan]:
    """Plan the pieces of a batch, with vectorised code and no loop over nodes; cached with it."""
    return batch.cache.get(
        ("levels", shards, rows),
        lambda: _pieces(batch, shards, rows, types, slots),
        values=[types, slots],
    )


def _pieces(
    batch: TreeBatch, shards: int, rows: int | None, types: Ints | None, slots: Ints | None
) -> list[LevelPlan]:
    """Return the plan of each piece."""
    level = _from_own_lowest(levels_of(batch), batch.sizes.numpy())
    whole = _Nodes(
        batch.src.numpy(), batch.dst.numpy(), shards_of(batch, shards), level, types, slots
    )
    if rows is None:
        return [_planned(whole, shards)]
    order = np.lexsort((whole.level, whole.shard))
    rank = inverse(order)
    numbers = rank[whole.dst].argsort(kind="stable")
    ends = np.searchsorted(rank[whole.dst[numbers]], np.arange(0, len(order) + rows, rows))
    local, pieces = np.empty(len(order), np.int64), []
    for number, first in enumerate(range(0, len(order), rows)):
        own = order[first : first + rows]
        edges = numbers[ends[number] : ends[number + 1]]
        src, dst = whole.src[edges], whole.dst[edges]
        before = np.unique(src[rank[src] < first])
        nodes = np.concatenate([before, own])
        local[nodes] = np.arange(len(nodes))
        given = np.arange(len(nodes)) < len(before)
        part = _Nodes(
            local[src],
            local[dst],
            whole.shard[nodes] - whole.shard[own[0]],
            whole.level[nodes] * ~given,
            None if types is None else types[nodes] * ~given,
            None if slots is None else slots[edges],
            given,
        )
        plan = _planned(part, int(part.shard[-1]) + 1)
        pieces.append(plan._replace(order=nodes[plan.order], numbers=edges[plan.numbers]))
    return pieces


def _planned(nodes: _Nodes, shards: int) -> LevelPlan:
    src, dst, shard, level, types, slots, given = nodes
    count = len(shard)
    degree = np.bincount(dst, minlength=count)
    inner = degree > 0
    third = 1 + inner if given is None else 1 + inner - given  # given, leaves, others
    kinds = 1 if types is None else int(types.max(initial=0)) + 1
    top = int(level.max(initial=0)) + 1
    run = shard * 3 + third
    run = (run if types is None else run * kinds + types) * top + level * inner
    small = int(run.max(initial=0)) < 2**16  # then a radix sort
    order = (run.astype(np.uint16) if small else run).argsort(kind="stable")
    row, run = inverse(order), run[order]
    cuts = run_offsets(run)
    rest, of_level = np.divmod(run[cuts[:-1]], top)
    part, kind = np.divmod(rest, kinds)
    levels = np.stack([cuts[:-1], cuts[1:], kind], 1)
    by_type = run_offsets(part * kinds + kind)
    runs = np.stack([cuts[by_type[:-1]], cuts[by_type[1:]], kind[by_type[:-1]]], 1)
    if kinds > 1:
        levels = levels[np.lexsort((of_level, part))]
    parts = np.arange(3 * shards + 1)
    rows = np.searchsorted(run, parts * (kinds * top))
    begins = np.searchsorted(part, parts)
    begins_of_runs = np.searchsorted(part[by_type[:-1]], parts)
    leaf, low, high = (begins[i::3][:shards] for i in (1, 2, 3))
    above = np.minimum(low + 1, high) if given is None else low
    numbers = row[dst].argsort(kind="stable")
    return LevelPlan(
        np.stack(
            [rows[i::3][:shards] for i in range(4)]
            + [leaf, low, high, above]
            + [begins_of_runs[i::3][:shards] for i in (1, 2, 3)],
            1,
        ),
        levels,
        runs,
        order,
        offsets_of(degree[order]),
        row[src[numbers]],
        numbers,
        within(degree[order]) if slots is None else slots[numbers],
    )


def shards_of(batch: TreeBatch, shards: int) -> Ints:
    """Return the shard of each node, ``(N,)``: the one that contains the middle of its tree.

    If an edge would lead from one shard to another, all nodes are in shard 0.
    """
    if shards > 1:
        sizes = batch.sizes.numpy()
        middle = sizes.cumsum() - sizes // 2
        shard: Ints = np.minimum(middle * shards // max(batch.num_nodes, 1), shards - 1)
        shard = shard.repeat(sizes)
        if (shard[batch.src.numpy()] == shard[batch.dst.numpy()]).all():
            return shard
    return np.zeros(batch.num_nodes, np.int64)


def _from_own_lowest(level: Ints, sizes: Ints) -> Ints:
    """Shift levels to begin at 0 in each tree, so that full trees share their lowest levels."""
    sizes = sizes[sizes > 0]
    if len(sizes) < 2:
        return level
    lowest: Ints = np.minimum.reduceat(level, starts(sizes))
    return level - lowest.repeat(sizes)
