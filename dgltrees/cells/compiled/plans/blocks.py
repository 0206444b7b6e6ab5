"""A plan for cells with parameters for each type of node: blocks of rows, type by type.

The type of a node (its operator) selects the matrices that its children are multiplied with. The
inner nodes of a level become a block of ``(K', n')`` rows, padded to the most frequent type, so
that one batched product serves all types. Padding rows have no children and no parent. Where
padding would cost more than it saves, every type has its own blocks.
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
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import starts

__all__ = ["Block", "BlockPlan", "Panel", "block_plan", "plan_blocks"]

Ints = NDArray[np.int64]

# The cost of one more block per level, in multiplications of the forward pass: on a CPU core about
# a hundred calls forwards and backwards, a quarter of a millisecond.
BLOCK = 500_000


class Panel(NamedTuple):
    """Types whose rows share blocks.

    Attributes:
        types: adjacent types, K' of them.
        filled: the positions at which any of their nodes has a child.
    """

    types: slice
    filled: list[int]


class Block(NamedTuple):
    """Rows of one level.

    Attributes:
        panel: the index of the panel with their types.
        types: K', the number of types.
        start: the first row.
        length: n', the number of rows of each type.
    """

    panel: int
    types: int
    start: int
    length: int


@dataclass(frozen=True)
class BlockPlan:
    """The row of each node in the table, and the rows of its children.

    The leaves are the first rows, in the order of the nodes; the blocks follow from the lowest
    level up. One more row, number ``rows``, stands for all absent children.

    Attributes:
        panels: the types that occur.
        blocks: the rows above the leaves.
        rows: R, the number of rows, leaves included.
        slots: ``(L * (R - leaves),)`` the rows of the children: for each block ``(K', L, n')``.
        leaves: the nodes without children.
        back: ``(N,)`` the row of each node.
    """

    panels: list[Panel]
    blocks: list[Block]
    rows: int
    slots: Tensor
    leaves: Tensor
    back: Tensor

    @cached_property
    def children(self) -> tuple[Tensor, ...]:
        """The part of ``slots`` that belongs to each block."""
        width = len(self.slots) // max(1, self.rows - len(self.leaves))
        return self.slots.split_with_sizes([b.types * b.length * width for b in self.blocks])

    def to(self, device: Union[str, torch.device]) -> BlockPlan:
        """The same plan with its tensors on ``device``."""
        names = ("slots", "leaves", "back")
        moved = {name: getattr(self, name).to(device, non_blocking=True) for name in names}
        return replace(self, **moved)


def plan_blocks(batch: TreeBatch, types: Ints, slots: int, cost: int) -> Optional[BlockPlan]:
    """Plan the blocks of ``batch``, with vectorised code and no loop over nodes.

    Arguments:
        batch: the graph.
        types: ``(E,)`` type of the node that the edge enters, times ``slots``, plus the position.
        slots: L, the positions of children.
        cost: the multiplications per row in the forward pass.

    Returns:
        the plan, or None where a node has two parents.

    Raises:
        TreeError: there is a cycle.
    """
    src, dst, count = batch.src.numpy(), batch.dst.numpy(), batch.num_nodes
    if len(src) and np.bincount(src, minlength=count).max() > 1:
        return None
    kind = np.full(count, -1, np.int64)
    kind[dst] = types // slots
    leaves, inner = np.flatnonzero(kind < 0), np.flatnonzero(kind >= 0)
    back = np.empty(count, np.int64)
    back[leaves] = np.arange(len(leaves))

    # Inner nodes are never on level 0, and every higher level has at least one.
    level, kind = levels_of(batch)[inner] - 1, kind[inner]
    first = int(kind.min()) if len(kind) else 0
    kind -= first
    counts = _table(level, kind, int(kind.max(initial=0)) + 1)  # (levels, K')
    lengths, width = _lengths(counts, cost)  # (levels, K' / width)
    first_row = starts((lengths * width).ravel()).reshape(lengths.shape)  # of each block
    order = np.lexsort((kind, level))
    level, kind = level[order], kind[order]
    begins = starts(counts.ravel()).reshape(counts.shape)
    at = np.arange(len(order)) - begins[level, kind]  # among the nodes of its level and type
    part, rank = kind // width, kind % width
    back[inner[order]] = len(leaves) + first_row[level, part] + rank * lengths[level, part] + at

    start, length = np.zeros((2, count), np.int64)  # of each node, for the slots of its children
    start[inner[order]] = slots * (first_row[level, part] + rank * lengths[level, part]) + at
    length[inner[order]] = lengths[level, part]
    rows = len(leaves) + int(lengths.sum()) * width
    children = np.full(slots * (rows - len(leaves)), rows)
    children[start[dst] + types % slots * length[dst]] = back[src]
    used = np.flatnonzero(lengths.any(0)).tolist()
    filled = _table(types // slots - first, types % slots, slots)  # (K', L)
    return BlockPlan(
        [
            Panel(
                slice(first + k * width, first + (k + 1) * width),
                np.flatnonzero(filled[k * width : (k + 1) * width].any(0)).tolist(),
            )
            for k in used
        ],
        [
            Block(panel, width, len(leaves) + begin, n)
            for begins, sizes in zip(first_row[:, used].tolist(), lengths[:, used].tolist())
            for panel, (begin, n) in enumerate(zip(begins, sizes))
            if n
        ],
        rows,
        torch.from_numpy(children),
        torch.from_numpy(leaves),
        torch.from_numpy(back),
    )


def block_plan(
    batch: TreeBatch,
    types: Ints,
    slots: int,
    cost: int,
    *,
    device: Union[str, torch.device] = "cpu",
) -> Optional[BlockPlan]:
    """:func:`plan_blocks`, cached with the batch and moved to ``device``."""
    return batch.cache.get(
        ("blocks", slots, cost),
        lambda: plan_blocks(batch, types, slots, cost),
        values=[types],
        device=device,
    )


def _table(row: Ints, column: Ints, columns: int) -> Ints:
    """The counts of all pairs (row, column)."""
    rows = int(row.max(initial=-1)) + 1
    return np.bincount(row * columns + column, minlength=rows * columns).reshape(rows, columns)


def _lengths(counts: Ints, cost: int) -> tuple[Ints, int]:
    """The length of each block of each level, and the number of types per block: all or one."""
    longest = counts.max(1, initial=0, keepdims=True)
    idle = int(longest.sum()) * counts.shape[1] - int(counts.sum())
    saved = np.count_nonzero(counts) - len(counts)
    if idle * cost > saved * BLOCK:
        return counts, 1
    return longest, counts.shape[1]
