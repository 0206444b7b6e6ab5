"""Groups of examples that are compared with each other: batches of whole ones, pairs within one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dgltrees.trees.sampler import BatchSampler
from dgltrees.trees.segments import offsets_of, rows_of, starts, within

__all__ = ["GroupSampler", "higher_and_lower"]


class GroupSampler:
    """The batches of each epoch, of whole groups of examples.

    Groups are to it what examples are to a :class:`~dgltrees.trees.sampler.BatchSampler`: of
    similar depth and size where ``pool`` says so, as many in a batch as the limits of examples and
    nodes allow, and a larger group is a batch by itself. The examples of a group stand side by side
    in their batch.

    Arguments:
        groups: ``(E,)`` the number of each example's group, in any order; -1 for an example that is
            in no batch.
        sizes: ``(E,)`` the number of nodes of each example.
        depths: ``(E,)``, the depth of each example; a group is as deep as its deepest.
        options: ``batch_size`` and the other arguments of the sampler.

    Raises:
        ConfigError: see the sampler.
    """

    def __init__(
        self,
        groups: NDArray[np.int64],
        sizes: NDArray[np.int64],
        *,
        depths: ArrayLike | None = None,
        **options: Any,
    ) -> None:
        ids = np.flatnonzero(groups >= 0)
        self.order = ids[np.argsort(groups[ids], kind="stable")]
        _, counts = np.unique(groups[ids], return_counts=True)
        self.offsets, first = offsets_of(counts), starts(counts)
        nodes = np.add.reduceat(sizes[self.order], first) if len(counts) else counts
        if depths is not None and len(counts):
            depths = np.maximum.reduceat(np.asarray(depths)[self.order], first)
        self.sampler = BatchSampler(nodes, depths=depths, weights=counts, **options)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch whose batches :meth:`batches` returns."""
        self.sampler.set_epoch(epoch)

    def batches(self) -> list[NDArray[np.int64]]:
        """The batches of the epoch; each is the ids ``(B,)`` of its examples."""
        return [self.order[rows_of(self.offsets, ids)] for ids in self.sampler.batches()]


def higher_and_lower(values: Tensor, groups: Tensor) -> tuple[Tensor, Tensor]:
    """All pairs of rows of one group whose first has the higher value, each side ``(P,)``.

    Arguments:
        values: ``(R,)``, none of them NaN.
        groups: ``(R,)`` the number of each row's group, in any order.

    >>> higher_and_lower(torch.tensor([2, 1, 5, 2]), torch.tensor([0, 0, 1, 0]))
    (tensor([0, 3]), tensor([1, 1]))
    """
    order = values.argsort(stable=True)
    order = order[groups[order].argsort(stable=True)]
    values, groups = values[order], groups[order]
    rows = torch.arange(len(order), device=values.device)
    new_group = torch.ones_like(rows, dtype=torch.bool)
    new_group[1:] = groups[1:] != groups[:-1]
    new_value = new_group.clone()
    new_value[1:] |= values[1:] != values[:-1]
    first = torch.where(new_group, rows, 0).cummax(0).values  # of the group
    lower = torch.where(new_value, rows, 0).cummax(0).values - first  # rows of lower value
    return order.repeat_interleave(lower), order[first.repeat_interleave(lower) + within(lower)]
