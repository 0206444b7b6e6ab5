"""A plan for full trees: a level is a slice of one table, and its children the rows before it.

Trees of all widths share the table, the widest first, so that the nodes of a level that have a
parent are its first rows: reading the children of a level is a slice and a reshape, not a gather.
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
        n: the number of rows.
        rows: their place in the table.
        below: the rows of their children, b per row.
        inner: their place in tables without leaves.
    """

    n: int
    rows: slice
    below: slice
    inner: slice

    def children(self, table: Tensor) -> Tensor:
        """The rows of the children, ``(n, b c)``, of a table ``(N, c)``."""
        return table[self.below].view(self.n, -1)


@dataclass(frozen=True)
class FullLevels:
    """The row of each node of full trees in a table of all levels, leaves first.

    Attributes:
        branching: b, the number of children of every inner node.
        leaves: the number of leaves, which are the first rows.
        levels: the levels above the leaves. The children of a level of n rows are the first
            ``b * n`` rows of the level below, in its order; the other rows there are roots.
        order: ``(N,)`` the node of each row.
        back: ``(N,)`` the row of each node.
    """

    branching: int
    leaves: int
    levels: list[FullLevel]
    order: Tensor
    back: Tensor

    def children(self, table: Tensor) -> Tensor:
        """The children of all inner rows, ``(inner, b c)``; a view if all trees have one width."""
        inner = len(self.order) - self.leaves
        parts = [level.below for level in self.levels]
        if all(part.stop == following.start for part, following in zip(parts, parts[1:])):
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
    """The plan of a batch, cached with it and moved to ``device``.

    Returns:
        the plan, or None if a tree is not full, or its sub-trees overlap.
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
        rows = slice(start + below, start + below + n)
        children = slice(start, start + branching * n)
        levels.append(FullLevel(n, rows, children, slice(inner, inner + n)))
        start, inner = rows.start, inner + n
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
