"""A plan for cells whose children add up: rows of nodes, each row handed to its parent's row.

Where a node only ever sees sums over its children, nothing needs to be put into mailboxes. Nodes
become rows of one table: all leaves first, then level after level, so that a level is a slice. What
a row adds to its parent is computed where the row stands, with one product for all rows of a level
whose edges have the same type; all leaves are one such level.

Trees do not know of each other, so the table can be cut into shards of whole trees, each with
leaves and levels of its own: threads then never wait for one another, and a shard stays in a cache.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Optional, Union

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.traversal.order import levels_of
from dgltrees.traversal.plan import changes
from dgltrees.trees.batch import TreeBatch

__all__ = ["Part", "RowPlan", "Span", "num_levels", "plan_rows", "rows_of", "shards_of"]

Ints = NDArray[np.int64]


class Part(NamedTuple):
    """Rows of one level whose edges have one type.

    Attributes:
        type: of their edges.
        start, stop: the rows.
        parent: the first parent row where parent rows follow one another as the rows do, or -1.
    """

    type: int
    start: int
    stop: int
    parent: int


class Span(NamedTuple):
    """One level: its rows, and by type those of them that have a parent."""

    start: int
    stop: int
    parts: list[Part]


@dataclass(frozen=True)
class RowPlan:
    """Where nodes stand in the table, and whom each row is handed to.

    Attributes:
        levels: ``(levels, 4)`` of each level its first row, the row behind its last, and likewise
            its parts; shard after shard, the leaves of each first, then level after level: a
            parent's level comes after its child's.
        parts: ``(parts, 4)`` the numbers of each :class:`Part`.
        shards: ``(S + 1,)`` where each shard's levels begin; its last entry is their number.
        order: ``(N,)`` the node of each row.
        back: ``(N,)`` the row of each node.
        parent: ``(N,)`` the row of each row's parent, the row itself at a root.
        parent_node: ``(N,)`` the node of each row's parent.
        types: ``(N,)`` the type of the edge from each row to its parent, 0 at a root.
        by_type: for each type the rows whose edges have it, as a slice where they are adjacent.
    """

    levels: Ints
    parts: Ints
    shards: Ints
    order: Tensor
    back: Tensor
    parent: Tensor
    parent_node: Tensor
    types: Tensor
    by_type: list[tuple[int, Union[slice, Tensor]]]

    @cached_property
    def spans(self) -> list[Span]:
        """The levels with their parts."""
        parts = [Part(*numbers) for numbers in self.parts.tolist()]
        return [Span(start, stop, parts[a:b]) for start, stop, a, b in self.levels.tolist()]

    @cached_property
    def bounds(self) -> Ints:
        """``(S, 3)`` of each shard its first row, its first that receives, and the one behind."""
        first, last = self.shards[:-1], self.shards[1:] - 1
        rows = np.zeros((len(first), 3), np.int64)
        some = last >= first
        first, last = first[some], last[some]
        levels = self.levels
        rows[some] = np.stack([levels[first, 0], levels[first, 1], levels[last, 1]], 1)
        return rows

    @cached_property
    def inner(self) -> Ints:
        """``(S + 1,)`` how many rows that receive there are before each shard, and in all."""
        counts = np.cumsum(self.bounds[:, 2] - self.bounds[:, 1])
        return np.append(0, counts)

    @property
    def largest(self) -> int:
        """The rows of the largest shard."""
        return int((self.bounds[:, 2] - self.bounds[:, 0]).max(initial=0))

    def to(self, device: Union[str, torch.device]) -> RowPlan:
        """The same plan with its tensors on ``device``."""
        names = ("order", "back", "parent", "parent_node", "types")
        by_type = [
            (kind, rows.to(device) if isinstance(rows, Tensor) else rows)
            for kind, rows in self.by_type
        ]
        moved = {name: getattr(self, name).to(device, non_blocking=True) for name in names}
        return replace(self, by_type=by_type, **moved)


def num_levels(batch: TreeBatch) -> int:
    """The number of levels, which for trees is one more than the depth of the deepest node."""
    depth = levels_of(batch) if batch.depth is None else batch.depth
    return int(depth.max(initial=0)) + 1


def plan_rows(batch: TreeBatch, types: Optional[Ints] = None, shards: int = 1) -> Optional[RowPlan]:
    """Plan the rows of ``batch``, with vectorised code and no loop over nodes.

    Arguments:
        batch: the graph.
        types: ``(E,)`` the type of each edge; all 0, if not given.
        shards: into how many the trees are cut, of about as many nodes each.

    Returns:
        the plan, or None where a node has two parents.

    Raises:
        TreeError: there is a cycle.
    """
    src, dst, count = batch.src.numpy(), batch.dst.numpy(), batch.num_nodes
    if len(src) and np.bincount(src, minlength=count).max() > 1:
        return None
    level = levels_of(batch)
    up = np.arange(count)
    up[src] = dst
    kind = np.zeros(count, np.int64)
    if types is not None:
        kind[src] = types
    is_leaf, is_root = np.ones(count, np.bool_), up == np.arange(count)
    is_leaf[dst] = False
    shard = shards_of(batch, shards)

    # Leaves are one level, the first of their shard; roots stand behind the rest of their level.
    # Receiving nodes never are on level 0. A run is of one level and type, and all roots or none.
    level = np.where(is_leaf, 0, level)
    deepest, kinds = int(level.max(initial=0)) + 1, int(kind.max(initial=0)) + 1
    run = ((shard * deepest + level) * 2 + is_root) * kinds + kind
    small = int(run.max(initial=0)) < 2**16  # then a radix sort
    order = np.argsort(run.astype(np.uint16) if small else run, kind="stable")
    back = np.empty(count, np.int64)
    back[order] = np.arange(count)
    parent = back[up[order]]
    kind, is_root, run = kind[order], is_root[order], run[order]

    levels, parts = _cut(run, parent, kind, is_root, kinds)
    bounds = np.append(0, np.cumsum(np.bincount(run[levels[:, 0]] // (deepest * 2 * kinds))))
    return RowPlan(
        levels,
        parts,
        bounds,
        torch.from_numpy(order),
        torch.from_numpy(back),
        torch.from_numpy(parent),
        torch.from_numpy(order[parent]),
        torch.from_numpy(kind),
        [(k, _as_slice(np.flatnonzero((kind == k) & ~is_root))) for k in range(kinds)],
    )


def shards_of(batch: TreeBatch, shards: int) -> Ints:
    """``(N,)`` the shard of each node: that of so many in which the middle of its tree lies."""
    if shards == 1:
        return np.zeros(batch.num_nodes, np.int64)
    sizes = batch.sizes.numpy()
    middle = np.cumsum(sizes) - sizes // 2
    return np.repeat(np.minimum(middle * shards // max(batch.num_nodes, 1), shards - 1), sizes)


def _cut(
    run: Ints, parent: Ints, kind: Ints, is_root: NDArray[np.bool_], kinds: int
) -> tuple[Ints, Ints]:
    """Levels and parts of rows that are sorted by their runs."""
    begins = changes(run)
    stops = np.append(begins[1:], len(run))[: len(begins)]
    # How often parents do not follow one another within a run: the step to the next is no matter.
    broken = np.append(np.cumsum(np.diff(parent) != 1), 0)
    inside = broken[stops - 2] - np.where(begins > 0, broken[begins - 1], 0)
    in_order = (inside == 0) | (stops - begins == 1)
    parts = np.stack([kind[begins], begins, stops, np.where(in_order, parent[begins], -1)], 1)
    has_parent = ~is_root[begins]

    first = changes(run[begins] // (2 * kinds))
    behind = np.append(0, np.cumsum(has_parent))
    rows = np.append(begins[first], len(run))
    runs = np.append(first, len(begins))
    levels = np.stack([rows[:-1], rows[1:], behind[runs[:-1]], behind[runs[1:]]], 1)
    return levels, parts[has_parent]


def rows_of(
    batch: TreeBatch,
    types: Optional[Ints] = None,
    shards: int = 1,
    *,
    device: Union[str, torch.device] = "cpu",
) -> Optional[RowPlan]:
    """:func:`plan_rows` on a device, made at the first call and kept with the batch."""
    kinds = np.zeros(len(batch.src), np.int64) if types is None else types
    known: list[tuple[Ints, dict[torch.device, Optional[RowPlan]]]]
    known = batch.memo.setdefault(("rows", shards), [])
    by_device = next((plans for made_for, plans in known if np.array_equal(kinds, made_for)), None)
    if by_device is None:
        by_device = {torch.device("cpu"): plan_rows(batch, types, shards)}
        known.append((kinds.copy(), by_device))
    device = torch.device(device)
    if device not in by_device:
        plan = by_device[torch.device("cpu")]
        by_device[device] = None if plan is None else plan.to(device)
    return by_device[device]


def _as_slice(rows: Ints) -> Union[slice, Tensor]:
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return torch.from_numpy(rows)
