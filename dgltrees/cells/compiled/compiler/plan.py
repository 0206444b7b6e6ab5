"""Where compiled code finds nodes and edges: rows by shard and level, edges by the row they enter.

It holds for trees up and down, and for any other graph without cycles. Trees are independent, so
rows can be cut into shards of whole trees, each with its own leaves and levels: threads then never
wait for one another, and a shard stays in a cache.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from dgltrees.traversal.order import levels_of
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import inverse, offsets_of, run_offsets, starts, within

__all__ = ["LevelPlan", "level_plan"]

Ints = NDArray[np.int64]


class LevelPlan(NamedTuple):
    """Rows and edges in the order of their levels.

    Attributes:
        bounds: ``(S, 9)`` for each shard its first row, that after its leaves and that after its
            last; the same for its levels, and for its runs.
        levels: ``(levels, 3)`` the first row of each level, that after its last, and their type.
            All leaves are one level; rows of another type are another one.
        runs: ``(runs, 3)`` the same for all rows of one type, leaves apart.
        order: ``(N,)`` the node of each row.
        edges: ``(N + 1,)`` where the edges into each row begin.
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
        """The numbers of nodes and of edges of the largest shard."""
        first, last = self.bounds[:, 0], self.bounds[:, 2]
        edges = self.edges[last] - self.edges[first]
        return int((last - first).max(initial=0)), int(edges.max(initial=0))


def plan_levels(
    batch: TreeBatch, shards: int, types: Optional[Ints] = None, slots: Optional[Ints] = None
) -> LevelPlan:
    """Plan the levels of a batch, with vectorised code and no loop over nodes.

    Arguments:
        batch: the graph.
        shards: how many shards of about the same size to cut the trees into.
        types: ``(N,)`` the type of each node, from 0; without it all are 0.
        slots: ``(E,)`` the slot of each edge; without it, its place among those of its node.
    """
    src, dst, count = batch.src.numpy(), batch.dst.numpy(), batch.num_nodes
    degree = np.bincount(dst, minlength=count)
    inner, level = degree > 0, _from_own_lowest(levels_of(batch), batch.sizes.numpy())
    kinds = 1 if types is None else int(types.max(initial=0)) + 1
    top = int(level.max(initial=0)) + 1
    run = shards_of(batch, shards) * 2 + inner
    run = (run if types is None else run * kinds + types) * top + level * inner
    small = int(run.max(initial=0)) < 2**16  # then a radix sort
    order = (run.astype(np.uint16) if small else run).argsort(kind="stable")
    row, run = inverse(order), run[order]
    cuts = run_offsets(run)
    half, kind, of_level = _parts(run[cuts[:-1]], kinds, top)  # of a shard: leaves, or the rest
    levels = np.stack([cuts[:-1], cuts[1:], kind], 1)
    by_type = run_offsets(half * kinds + kind)
    runs = np.stack([cuts[by_type[:-1]], cuts[by_type[1:]], kind[by_type[:-1]]], 1)
    halves = np.arange(2 * shards + 1)
    bounds = [
        np.searchsorted(run, halves * (kinds * top)),
        np.searchsorted(half, halves),
        np.searchsorted(half[by_type[:-1]], halves),
    ]
    if kinds > 1:
        levels = levels[np.lexsort((of_level, half))]
    numbers = row[dst].argsort(kind="stable")
    return LevelPlan(
        np.stack([b[i : i + 2 * shards : 2] for b in bounds for i in range(3)], 1),
        levels,
        runs,
        order,
        offsets_of(degree[order]),
        row[src[numbers]],
        numbers,
        within(degree[order]) if slots is None else slots[numbers],
    )


def shards_of(batch: TreeBatch, shards: int) -> Ints:
    """The shard of each node, ``(N,)``: the one that holds the middle of its tree.

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
    """Levels that begin at 0 in each tree, so that full trees of all widths share their lowest."""
    sizes = sizes[sizes > 0]
    if len(sizes) < 2:
        return level
    lowest: Ints = np.minimum.reduceat(level, starts(sizes))
    return level - lowest.repeat(sizes)


def _parts(run: Ints, kinds: int, top: int) -> tuple[Ints, Ints, Ints]:
    """What a number of a run is made of."""
    rest, level = np.divmod(run, top)
    half, kind = np.divmod(rest, kinds)
    return half, kind, level


def level_plan(
    batch: TreeBatch, shards: int, types: Optional[Ints] = None, slots: Optional[Ints] = None
) -> LevelPlan:
    """:func:`plan_levels`, cached with the batch."""
    plan: LevelPlan = batch.cache.get(
        ("levels", shards),
        lambda: plan_levels(batch, shards, types, slots),
        values=[types, slots],
    )
    return plan
