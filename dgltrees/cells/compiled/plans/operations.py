"""A plan for sequences of operations: rows of one table, step after step.

Step l of all sequences is a level. Within it come first the splits, then recurs, then merges, so
that the rows of each operation are a slice. Pushed states have their own table in the same order,
after those that earlier windows left open.
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
from dgltrees.trees.operations.kinds import Flow, Operation
from dgltrees.trees.segments import inverse

__all__ = ["OperationPlan", "StepRows", "operation_plan", "plan_operations"]

Ints = NDArray[np.int64]


class StepRows(NamedTuple):
    """The rows of one step.

    Splits are the rows from ``start`` to ``recurs``, recurs those to ``merges`` and merges those to
    ``stop``; ``pushed`` and ``merged`` are the numbers of splits and merges in earlier steps.
    """

    start: int
    recurs: int
    merges: int
    stop: int
    pushed: int
    merged: int


@dataclass(frozen=True)
class OperationPlan:
    """The row of each step in the table, and the rows that it reads.

    Attributes:
        starts: the number of START and OPEN rows, which come first.
        opens: the number of OPEN rows.
        levels: the rows of each step.
        order, back: ``(N,)``, the node of each row, and the row of each node.
        last: ``(N,)``, the row of the step before, 0 where there is none.
        top: ``(M,)``, the row in the table of pushes that each merge pops, in the order of rows.
        pushes: ``(P,)``, the row of each push: OPENs, then splits.
        of: the rows of splits, of recurs and of merges.
    """

    starts: int
    opens: int
    levels: list[StepRows]
    order: Tensor
    back: Tensor
    last: Tensor
    top: Tensor
    pushes: Tensor
    of: tuple[Tensor, Tensor, Tensor]

    def to(self, device: Union[str, torch.device]) -> OperationPlan:
        """The same plan with its tensors on ``device``."""
        names = ("order", "back", "last", "top", "pushes")
        moved = {name: getattr(self, name).to(device, non_blocking=True) for name in names}
        splits, recurs, merges = (rows.to(device, non_blocking=True) for rows in self.of)
        return replace(self, of=(splits, recurs, merges), **moved)


def plan_operations(batch: TreeBatch, operations: Ints) -> Optional[OperationPlan]:
    """Plan the rows of ``batch``, with vectorised code and no loop over nodes.

    Arguments:
        batch: the graph of :func:`~dgltrees.trees.operations.operation_graph`.
        operations: ``(N,)`` :class:`Operation` of each node.

    Returns:
        the plan, or None where the edges are not those of sequences of operations: two NEXT edges
        from or into a node, a merge without RETURN, a step without NEXT.

    Raises:
        TreeError: there is a cycle.
    """
    flow = batch.edata.get("pos")
    if flow is None:
        return None
    flows = batch.on_host(flow).numpy()
    src, dst, count = batch.src.numpy(), batch.dst.numpy(), batch.num_nodes
    is_next, returns = flows == Flow.NEXT, flows == Flow.RETURN
    before = _only(src[is_next], dst[is_next], count)
    split = _only(src[returns], dst[returns], count)
    kinds = np.where(operations == Operation.START, 0, operations)
    steps = (kinds > 0) & (kinds != Operation.OPEN)
    merges = kinds == Operation.MERGE
    if before is None or split is None or not (is_next | returns).all():
        return None
    if not (np.array_equal(before >= 0, steps) and np.array_equal(split >= 0, merges)):
        return None
    level = np.where(steps, levels_of(batch), 0)
    kinds = np.where(kinds == Operation.OPEN, 1, kinds)  # behind START, on level 0
    order = np.lexsort((kinds, level))
    back = inverse(order)
    kinds, level = kinds[order], level[order]
    pushes = np.flatnonzero(kinds == Operation.SPLIT)
    place = np.full(count, -1, np.int64)
    place[pushes] = np.arange(len(pushes))
    merge = np.flatnonzero(kinds == Operation.MERGE)
    popped = place[back[split[order[merge]]]]
    if (popped < 0).any():
        return None
    starts = int(np.count_nonzero(level == 0))
    last = before[order]
    return OperationPlan(
        starts,
        int(np.count_nonzero(pushes < starts)),
        _levels(kinds[starts:], level[starts:], starts),
        torch.from_numpy(order),
        torch.from_numpy(back),
        torch.from_numpy(np.where(last < 0, 0, back[last])),
        torch.from_numpy(popped),
        torch.from_numpy(pushes),
        (
            torch.from_numpy(pushes[pushes >= starts]),
            torch.from_numpy(np.flatnonzero(kinds == Operation.RECUR)),
            torch.from_numpy(merge),
        ),
    )


def _only(src: Ints, dst: Ints, count: int) -> Optional[Ints]:
    """The source of each node's edge, -1 without an edge; None where two edges share an end."""
    for ends in (src, dst):
        if len(ends) and np.bincount(ends).max() > 1:
            return None
    source = np.full(count, -1, np.int64)
    source[dst] = src
    return source


def _levels(kinds: Ints, level: Ints, starts: int) -> list[StepRows]:
    """The rows of each step; the first step begins at row ``starts``."""
    size = int(level.max(initial=0))
    counts = np.zeros((size, 3), np.int64)  # splits, recurs, merges of each step
    np.add.at(counts, (level - 1, kinds - 1), 1)
    ends = starts + np.cumsum(counts.ravel()).reshape(size, 3)
    begins = ends[:, 0] - counts[:, 0]
    earlier = np.cumsum(counts, 0) - counts
    columns = (begins, *ends.T, earlier[:, 0], earlier[:, 2])
    return [StepRows(*row) for row in zip(*(column.tolist() for column in columns))]


def operation_plan(
    batch: TreeBatch, operations: Ints, *, device: Union[str, torch.device] = "cpu"
) -> Optional[OperationPlan]:
    """:func:`plan_operations`, cached with the batch and moved to ``device``."""
    return batch.cache.get(
        "operations",
        lambda: plan_operations(batch, operations),
        values=[operations],
        device=device,
    )
