"""The samplers of training and evaluation, and the part of a batch that a process computes."""

from __future__ import annotations

from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

from dgltrees.tasks.task import Task
from dgltrees.training.settings import TrainingSettings
from dgltrees.trees import BatchSampler, Examples
from dgltrees.trees.groups import GroupSampler
from dgltrees.trees.segments import run_offsets
from dgltrees.trees.windows import WindowSampler

__all__ = ["evaluation_batches", "part_of_batch", "training_sampler", "whole_groups"]

STREAMS = 10
"""The number of streams of a text in evaluation; each starts without context."""


def whole_groups(task: Task, data: Examples) -> Optional[NDArray[np.int64]]:
    """The group of each example, ``(E,)``, where batches hold whole ones; otherwise None."""
    return task.groups(data) if task.whole_groups else None


def training_sampler(
    task: Task, data: Examples, settings: TrainingSettings, window: int
) -> Union[BatchSampler, GroupSampler, WindowSampler]:
    """The batches of every epoch.

    Arguments:
        task: the task.
        data: training examples.
        settings: the settings of the training loop.
        window: for running text, the number of words of each stream in a batch.

    Raises:
        TreeError: a text is too short for the number of streams.
    """
    if not task.stateful:
        options: dict[str, Any] = {
            "depths": data.depths if settings.bucket_by == "depth" else None,
            "batch_size": settings.batch_size,
            "max_nodes": settings.max_nodes,
            "pool": settings.pool,
            "seed": settings.seed,
        }
        groups = whole_groups(task, data)
        if groups is None:
            return BatchSampler(data.sizes, **options)
        return GroupSampler(np.where(task.labeled(data), groups, -1), data.sizes, **options)
    rows = len(task.targets(data))
    return WindowSampler(rows, streams=settings.batch_size, window=window)


def evaluation_batches(task: Task, data: Examples, max_nodes: int) -> list[NDArray[Any]]:
    """Batches with every example once and at most ``max_nodes`` nodes, unless one is larger.

    Raises:
        TreeError: a text has only one word.
    """
    if not task.stateful:
        if len(data) and data.forest.num_nodes <= max_nodes:
            return [np.arange(len(data))]
        groups = whole_groups(task, data)
        if groups is not None:
            return GroupSampler(groups, data.sizes, max_nodes=max_nodes, shuffle=False).batches()
        order = np.lexsort((data.sizes, data.depths))  # alike trees meet: fewer levels in all
        sampler = BatchSampler(data.sizes[order], max_nodes=max_nodes, shuffle=False)
        return [order[ids] for ids in sampler.batches()]
    rows = len(task.targets(data))
    streams = min(STREAMS, max(1, rows // 2))
    return WindowSampler(rows, streams=streams, window=max(1, max_nodes // streams)).batches()


def part_of_batch(
    ids: NDArray[Any], groups: Optional[NDArray[np.int64]], rank: int, world: int
) -> tuple[NDArray[Any], bool]:
    """A process's part of a batch, and whether it counts.

    All processes must compute gradients: where there are fewer examples, or groups, than processes,
    those without a part get the first one, which does not count.

    Arguments:
        ids: the examples of the batch.
        groups: see :func:`whole_groups`; a group is in one part.
        rank, world: the number of the process, and how many there are.
    """
    starts = np.arange(len(ids)) if groups is None else run_offsets(groups[ids])[:-1]
    counts = rank < len(starts)
    unit = np.arange(len(starts)).repeat(np.diff([*starts, len(ids)]))
    return ids[unit % world == rank if counts else unit == 0], counts
