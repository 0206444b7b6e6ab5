"""A plan for cells in which a node hears from one other node at most, its source.

Nodes become rows of one table, level after level, and within a level type after type of the edge
in, so that a level is a slice and all rows of one type in it another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Optional, Union

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.traversal.order import levels_of
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import run_offsets

__all__ = ["Run", "SourcePlan", "plan_sources", "source_plan"]

Ints = NDArray[np.int64]


class Run(NamedTuple):
    """Rows ``start`` to ``stop`` of one level, whose edges have one type."""

    type: int
    start: int
    stop: int


@dataclass(frozen=True)
class SourcePlan:
    """Where nodes stand in the table, and whom each row hears.

    Attributes:
        levels: the runs of each level, those of nodes without a source first.
        order: ``(N,)`` the node of each row.
        back: ``(N,)`` the row of each node.
        source: ``(N,)`` the row of each row's source, N where there is none.
        by_type: ``(type, rows)``, the rows of nodes that have a source.
    """

    levels: list[list[Run]]
    order: Tensor
    back: Tensor
    source: Tensor
    by_type: list[tuple[int, Tensor]]

    def to(self, device: Union[str, torch.device]) -> SourcePlan:
        """The same plan with its tensors on ``device``."""
        names = ("order", "back", "source")
        moved = {name: getattr(self, name).to(device, non_blocking=True) for name in names}
        by_type = [(kind, rows.to(device, non_blocking=True)) for kind, rows in self.by_type]
        return replace(self, by_type=by_type, **moved)


def plan_sources(batch: TreeBatch, types: Optional[Ints] = None) -> Optional[SourcePlan]:
    """Plan the rows of ``batch``, with vectorised code and no loop over nodes.

    Arguments:
        batch: the graph.
        types: ``(N,)`` the type of the edge into each node; all 0, if not given.

    Returns:
        the plan, or None where a node has two sources.

    Raises:
        TreeError: there is a cycle.
    """
    src, dst, count = batch.src.numpy(), batch.dst.numpy(), batch.num_nodes
    if len(dst) and np.bincount(dst, minlength=count).max() > 1:
        return None
    source = np.full(count, -1, np.int64)
    source[dst] = src
    kind = np.zeros(count, np.int64) if types is None else types
    # Chains are levelled from their ends, so that a node without a source may stand on any level;
    # since nothing is done about it there, all of them can stand on the first.
    level = np.where(source < 0, 0, levels_of(batch) + 1)
    order = np.lexsort((kind, level))
    back = np.empty(count + 1, np.int64)
    back[order], back[-1] = np.arange(count), count  # so that source -1 becomes row N
    level, kind = level[order], kind[order]
    offsets = run_offsets(level, kind)
    begins, ends = offsets[:-1], offsets[1:]
    runs = [Run(*run) for run in zip(kind[begins].tolist(), begins.tolist(), ends.tolist())]
    cuts = run_offsets(level[begins]).tolist()
    has_source = source[order] >= 0
    return SourcePlan(
        [runs[i:j] for i, j in zip(cuts, cuts[1:])],
        torch.from_numpy(order),
        torch.from_numpy(back[:-1]),
        torch.from_numpy(back[source[order]]),
        [
            (value, torch.from_numpy(np.flatnonzero((kind == value) & has_source)))
            for value in np.unique(kind[has_source]).tolist()
        ],
    )


def source_plan(
    batch: TreeBatch, types: Optional[Ints] = None, *, device: Union[str, torch.device] = "cpu"
) -> Optional[SourcePlan]:
    """:func:`plan_sources` on a device, cached."""
    return batch.cache.get(
        "sources", lambda: plan_sources(batch, types), values=[types], device=device
    )
