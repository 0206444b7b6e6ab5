"""A plan for full trees: a level is a slice of one table, and its children the rows before it.

Trees of all widths stand together, the widest first, so that those that go on above a level are its
first rows: reading the children of a level is a slice and a reshape, and nothing is gathered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Optional, Union

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.builders.full import FullShape, full_shape
from dgltrees.trees.segments import inverse, ranges, starts

__all__ = ["FullLevel", "FullLevels", "full_levels"]


Ints = NDArray[np.int64]


class FullLevel(NamedTuple):
    """A level above the leaves.

    Attributes:
        n: its rows.
        own: where they stand.
        below: where their children stand, b to a row.
        inner: where they stand in tables without leaves.
    """

    n: int
    own: slice
    below: slice
    inner: slice

    def children(self, table: Tensor) -> Tensor:
        """``(n, b c)`` of a table ``(N, c)``."""
        return table[self.below].view(self.n, -1)


@dataclass(frozen=True)
class FullLevels:
    """Where the nodes of full trees stand in a table of all levels, leaves first.

    Attributes:
        branching: b.
        leaves: rows of the leaves.
        levels: those above them. The first ``b * n`` rows below a level of n are its children, in
            its order, and the others roots.
        order: ``(N,)`` the node of each row.
        back: ``(N,)`` the row of each node.
    """

    branching: int
    leaves: int
    levels: list[FullLevel]
    order: Tensor
    back: Tensor

    def children(self, table: Tensor) -> Tensor:
        """``(inner, b c)`` of a table ``(N, c)``; a view where all trees are of one width."""
        inner = len(self.order) - self.leaves
        parts = [level.below for level in self.levels]
        if all(one.stop == next_one.start for one, next_one in zip(parts, parts[1:])):
            return table[: inner * self.branching].view(inner, self.branching * table.shape[1])
        return torch.cat([level.children(table) for level in self.levels])

    def to(self, device: Union[str, torch.device]) -> FullLevels:
        """The same plan with its tensors on ``device``."""

        def move(rows: Tensor) -> Tensor:
            return rows.to(device, non_blocking=True)

        return replace(self, order=move(self.order), back=move(self.back))


def full_levels(
    batch: TreeBatch, *, device: Union[str, torch.device] = "cpu"
) -> Optional[FullLevels]:
    """The cached plan of a batch, on a device.

    Returns:
        None of trees that are not full, or whose sub-trees overlap.
    """
    shape = full_shape(batch)
    if shape is None or shape.stride != shape.branching:
        return None
    return batch.cache.get("full_levels", lambda: _plan(shape, batch), device=device)


def _plan(shape: FullShape, batch: TreeBatch) -> FullLevels:
    sizes, order = _order(shape, batch.sizes.numpy())
    rows = map(torch.from_numpy, (order, inverse(order)))
    return FullLevels(shape.branching, sum(sizes[:1]), _levels(shape.branching, sizes), *rows)


def _levels(branching: int, sizes: list[int]) -> list[FullLevel]:
    levels, start, inner = [], 0, 0
    for below, n in zip(sizes, sizes[1:]):
        own = slice(start + below, start + below + n)
        children = slice(start, start + branching * n)
        levels.append(FullLevel(n, own, children, slice(inner, inner + n)))
        start, inner = own.start, inner + n
    return levels


def _order(shape: FullShape, nodes: Ints) -> tuple[list[int], Ints]:
    """The rows of each level, and the node of each row."""
    width = np.array(shape.widths, np.int64)
    trees = np.argsort(-width, kind="stable")
    width, first = width[trees], starts(nodes)[trees]
    sizes, parts = [], []
    while len(width):
        parts.append(ranges(first, width))
        sizes.append(int(width.sum()))
        first, width = first + width, width // shape.branching
        first, width = first[width > 0], width[width > 0]
    return sizes, np.concatenate(parts) if parts else np.zeros(0, np.int64)
