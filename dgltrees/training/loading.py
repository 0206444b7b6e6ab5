"""Batches for training and evaluation, created on demand or in advance by worker processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.multiprocessing import get_context
from torch.utils.data import DataLoader, Dataset

from dgltrees.errors import ConfigError
from dgltrees.models.streaming import batches_of_similar
from dgltrees.settings.layers import Settings
from dgltrees.tasks.task import Batches, Task
from dgltrees.trees import BatchSampler, LabeledTrees, TreeBatch
from dgltrees.trees.sampler import GroupSampler
from dgltrees.trees.saved import is_on_disk
from dgltrees.trees.segments import run_offsets


def whole_groups(task: Task, data: LabeledTrees) -> NDArray[np.int64] | None:
    """Return the group of each example, ``(E,)``, if batches consist of whole groups, else None."""
    return task.groups(data) if task.whole_groups else None


def automatic_batch_size(examples: int) -> int:
    """Return the batch size for a number of training examples: 32, or fewer for 30 steps an epoch.

    It is at least 4. Small data sets thus get enough steps in the epochs that large ones need.
    """
    return min(32, max(4, examples // 30))


def training_sampler(settings: Settings, data: LabeledTrees) -> Batches:
    """Return the batches of every epoch."""
    task, loop = settings.task, settings.training
    batch_size = loop.batch_size or automatic_batch_size(len(data))
    in_order = task.training_batches(data, settings.data, batch_size)
    if in_order is not None:
        return in_order
    options: dict[str, Any] = {
        "depths": data.depths if loop.bucket_by == "depth" else None,
        "batch_size": batch_size,
        "max_nodes": loop.max_nodes,
        "bucket_batches": loop.bucket_batches,
        "seed": loop.seed,
    }
    groups = whole_groups(task, data)
    if groups is None:
        return BatchSampler(data.sizes, **options)
    return GroupSampler(np.where(task.labeled(data), groups, -1), data.sizes, **options)


def evaluation_batches(task: Task, data: LabeledTrees, max_nodes: int) -> list[NDArray[Any]]:
    """Return batches with every example once and at most ``max_nodes`` nodes.

    An example with more nodes is a batch by itself.
    """
    in_order = task.evaluation_batches(data, max_nodes)
    if in_order is not None:
        return in_order
    if len(data) and data.forest.num_nodes <= max_nodes:
        return [np.arange(len(data))]
    groups = whole_groups(task, data)
    if groups is not None:
        return GroupSampler(groups, data.sizes, max_nodes=max_nodes, shuffle=False).batches()
    return batches_of_similar(data.sizes, data.depths, max_nodes=max_nodes)


def part_of_batch(
    ids: NDArray[Any], groups: NDArray[np.int64] | None, rank: int, world: int
) -> tuple[NDArray[Any], bool]:
    """Return a process's part of a batch, and whether it counts.

    All processes must compute gradients. If there are fewer examples (or groups) than processes,
    processes without a part get the first example, which does not count.
    """
    starts = np.arange(len(ids)) if groups is None else run_offsets(groups[ids])[:-1]
    counts = rank < len(starts)
    unit = np.arange(len(starts)).repeat(np.diff([*starts, len(ids)]))
    return ids[unit % world == rank if counts else unit == 0], counts


CHUNK = 8
"""Number of batches per message between processes; a message costs as much as a small batch."""


class Loader:
    """A loader of batches of a task's examples in a given order.

    Workers are forked from a server process, so that they inherit no threads. They live as long as
    the loader, and use no random numbers.

    Arguments:
        task: the task.
        data: the examples.
        num_workers: number of processes that prepare batches in advance; with 0, batches are
            created when they are needed.
    """

    def __init__(self, task: Task, data: LabeledTrees, num_workers: int) -> None:
        self.task, self.data, self.num_workers = task, data, num_workers
        self.chunks: list[Sequence[NDArray[Any]]] = []
        if num_workers and is_on_disk(data.forest):
            raise ConfigError(
                f"expected training.num_workers 0 with a forest on disk, got {num_workers}; leave "
                "it out, as workers would load all trees into memory"
            )
        if num_workers:
            context: Any = get_context("forkserver")
            context.set_forkserver_preload([__name__])  # imported once, not by every worker
            self.ahead: DataLoader[Any] = DataLoader(
                _Chunks(task, data),
                batch_size=None,
                sampler=self.chunks,
                num_workers=num_workers,
                collate_fn=_packed,
                multiprocessing_context=context,
                persistent_workers=True,
                generator=torch.Generator(),  # it would draw a seed from that of dropout
            )

    def __call__(self, order: Sequence[NDArray[Any]]) -> Iterator[tuple[TreeBatch, Tensor]]:
        """Yield batches and targets of the examples in each entry of ``order``."""
        if not self.num_workers:
            return (self.task.batch(self.data, ids) for ids in order)
        self.chunks[:] = [order[at : at + CHUNK] for at in range(0, len(order), CHUNK)]
        try:
            chunks = iter(self.ahead)
        except (EOFError, OSError) as error:  # from here, or from the server of the workers
            raise ConfigError(
                f"cannot start {self.num_workers} processes for training.num_workers "
                f"({str(error) or type(error).__name__}); lower it, or raise the limits of open "
                "files and processes"
            ) from None
        return ((batch, torch.from_numpy(rows)) for chunk in chunks for batch, rows in chunk)


class _Chunks(Dataset[list[tuple[TreeBatch, Tensor]]]):
    """A dataset that is indexed by the example ids of several batches.

    It is sent to the workers without the task's readers, which may be local functions that pickle
    cannot send.
    """

    def __init__(self, task: Task, data: LabeledTrees) -> None:
        self.task, self.data = replace(task, formats={}), data

    def __getitem__(self, chunk: Sequence[NDArray[Any]]) -> list[tuple[TreeBatch, Tensor]]:
        return [self.task.batch(self.data, ids) for ids in chunk]


def _packed(chunk: Any) -> list[tuple[TreeBatch, NDArray[Any]]]:
    """Convert tensors to arrays, which are sent by value and need no shared memory each."""
    return [(batch, targets.numpy()) for batch, targets in chunk]
