"""Where compiled code finds nodes and edges: rows by shard and level, edges by the row they enter.

It holds for trees up and down, and for any other graph without cycles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgltrees.cells.compiled.plans.rows import shards_of
from dgltrees.traversal.order import levels_of
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import inverse, offsets_of, run_offsets

__all__ = ["LevelPlan", "level_plan"]

Ints = NDArray[np.int64]


class LevelPlan(NamedTuple):
    """Rows and edges in the order of their levels.

    Attributes:
        bounds: ``(S, 5)`` for each shard its first row, that after its leaves, that after its last,
            its first level above the leaves and the level after its last.
        levels: ``(levels, 2)`` the first row of each level above the leaves, and that after its
            last.
        order: ``(N,)`` the node of each row.
        edges: ``(N + 1,)`` where the edges into each row begin.
        child: ``(E,)`` the row that each edge leaves.
        numbers: ``(E,)`` the number of each edge in the graph.
    """

    bounds: Ints
    levels: Ints
    order: Ints
    edges: Ints
    child: Ints
    numbers: Ints

    @property
    def largest(self) -> tuple[int, int]:
        """The numbers of nodes and of edges of the largest shard."""
        first, last = self.bounds[:, 0], self.bounds[:, 2]
        edges = self.edges[last] - self.edges[first]
        return int((last - first).max(initial=0)), int(edges.max(initial=0))


def plan_levels(batch: TreeBatch, shards: int) -> LevelPlan:
    """Plan the levels of a batch, with vectorised code and no loop over nodes.

    Arguments:
        batch: the graph.
        shards: how many shards of about the same size to cut the trees into.
    """
    src, dst, count = batch.src.numpy(), batch.dst.numpy(), batch.num_nodes
    degree = np.bincount(dst, minlength=count)
    level = levels_of(batch)
    top = int(level.max(initial=0)) + 2
    run = shards_of(batch, shards) * top + (level + 1) * (degree > 0)
    order = run.argsort(kind="stable")
    row = inverse(order)
    run = run[order]
    runs = run_offsets(run)
    begins, ends, number = runs[:-1], runs[1:], run[runs[:-1]]
    inner = number % top > 0
    each = np.arange(shards + 1) * top
    rows, low = np.searchsorted(run, each), np.searchsorted(number[inner], each)
    leaves = np.searchsorted(run, each[:-1], side="right")
    numbers = row[dst].argsort(kind="stable")
    return LevelPlan(
        np.stack([rows[:-1], leaves, rows[1:], low[:-1], low[1:]], 1),
        np.stack([begins[inner], ends[inner]], 1),
        order,
        offsets_of(degree[order]),
        row[src[numbers]],
        numbers,
    )


def level_plan(batch: TreeBatch, shards: int) -> LevelPlan:
    """:func:`plan_levels`, cached with the batch."""
    plan: LevelPlan = batch.cache.get(("levels", shards), lambda: plan_levels(batch, shards))
    return plan
