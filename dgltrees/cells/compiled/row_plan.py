"""A plan for cells that sum over children: each row's message is added to its parent's row.

If a node only reads sums over its children, no mailboxes are needed. Nodes become rows of one
table: all leaves first, then level after level, so that a level is a slice. The messages of a level
are computed by one product per type of edge; all leaves form one such level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltrees.traversal.order import levels_of
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import Ints, inverse, offsets_of, run_offsets


class Part(NamedTuple):
    """Rows of one level whose edges have one type.

    Attributes:
        type: the type of their edges.
        start, stop: the rows.
        parent: the first parent row if the parents are consecutive rows in the same order, or -1.
    """

    type: int
    start: int
    stop: int
    parent: int


class Span(NamedTuple):
    """The rows of one level, and the parts of them that have a parent, one per type."""

    start: int
    stop: int
    parts: list[Part]


@dataclass(frozen=True)
class RowPlan:
    """The row of each node in the table, and the row of its parent.

    Attributes:
        spans: all levels, from the leaves up, so that a parent's level comes after its child's.
        order: ``(N,)`` the node of each row.
        back: ``(N,)`` the row of each node.
        parent: ``(N,)`` the row of each row's parent, the row itself at a root.
        parent_node: ``(N,)`` the node of each row's parent.
        types: ``(N,)`` the type of the edge from each row to its parent, 0 at a root.
    """

    spans: list[Span]
    order: Tensor
    back: Tensor
    parent: Tensor
    parent_node: Tensor
    types: Tensor

    @cached_property
    def by_type(self) -> list[tuple[int, slice | Tensor]]:
        """Return each type of edge with its rows, as a slice if they are adjacent."""
        rows: dict[int, list[Ints]] = {}
        for part in (part for span in self.spans for part in span.parts):
            rows.setdefault(part.type, []).append(np.arange(part.start, part.stop))
        return [
            (kind, _as_slice(np.concatenate(each), self.types.device))
            for kind, each in sorted(rows.items())
        ]

    def to(self, device: str | torch.device) -> RowPlan:
        """Return the same plan with its tensors on ``device``."""
        names = ("order", "back", "parent", "parent_node", "types")
        moved = {name: getattr(self, name).to(device, non_blocking=True) for name in names}
        return replace(self, **moved)


def plan_rows(batch: TreeBatch, types: Ints | None = None) -> RowPlan | None:
    """Plan the rows of ``batch``, with vectorised code and no loop over nodes."""
    src, dst, count = batch.src.numpy(), batch.dst.numpy(), batch.num_nodes
    if batch.depth is None and len(src) and np.bincount(src).max() > 1:
        return None  # where depths are known, they are of trees
    level = levels_of(batch)
    top = int(level.max(initial=0))
    up, inner = np.arange(count), np.zeros(count, np.bool_)
    up[src], inner[dst] = dst, True

    # Leaves are the first level; roots are the last rows of their level. The
    # rows of a run share the level and the type, and are all roots or none is.
    run, kinds = level * inner * 2 + (level == top), 1
    kind = np.zeros(count, np.int64)
    if types is not None:
        kind[src], kinds = types, int(types.max(initial=0)) + 1
        run = run * kinds + kind
    small = (top + 1) * 2 * kinds <= 2**16  # then a radix sort
    order = (run.astype(np.uint16) if small else run).argsort(kind="stable")
    back = inverse(order)
    parent_node = up.take(order)
    parent = back.take(parent_node)
    rows = order, back, parent, parent_node, kind if types is None else kind.take(order)
    return RowPlan(_spans(run.take(order), kinds, parent), *map(torch.from_numpy, rows))


def _spans(run: Ints, kinds: int, parent: Ints) -> list[Span]:
    """Return the levels and parts of rows that are sorted by their runs."""
    runs = run_offsets(run)
    number = run.take(runs[:-1])
    has_parent = number // kinds % 2 == 0
    begins, ends = runs[:-1][has_parent], runs[1:][has_parent]
    broken = offsets_of(parent[1:] - parent[:-1] != 1)  # the number of breaks so far
    first = np.where(broken[ends - 1] == broken[begins], parent[begins], -1)
    numbers = (number % kinds)[has_parent], begins, ends, first
    parts = list(map(Part, *(each.tolist() for each in numbers)))

    of_level = run_offsets(number // (2 * kinds))
    rows, behind = runs[of_level].tolist(), offsets_of(has_parent)[of_level].tolist()
    return [
        Span(start, stop, parts[a:b])
        for (start, stop), (a, b) in zip(pairwise(rows), pairwise(behind))
    ]


def row_plan(
    batch: TreeBatch, types: Ints | None = None, *, device: str | torch.device = "cpu"
) -> RowPlan | None:
    """Return :func:`plan_rows`, cached with the batch and moved to ``device``."""
    return batch.cache.get("rows", lambda: plan_rows(batch, types), values=[types], device=device)


def _as_slice(rows: Ints, device: torch.device) -> slice | Tensor:
    if rows[-1] - rows[0] + 1 == len(rows):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return torch.from_numpy(rows).to(device, non_blocking=True)
