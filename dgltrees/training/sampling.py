"""The samplers of training and evaluation, and the part of a batch that a process computes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.models.streaming import batches_of_similar
from dgltrees.tasks.task import Batches, Task
from dgltrees.training.settings import Settings
from dgltrees.trees import BatchSampler, Examples
from dgltrees.trees.groups import GroupSampler
from dgltrees.trees.segments import run_offsets

__all__ = ["evaluation_batches", "part_of_batch", "training_sampler", "whole_groups"]


def whole_groups(task: Task, data: Examples) -> NDArray[np.int64] | None:
    """The group of each example, ``(E,)``, where batches hold whole ones; otherwise None."""
    return task.groups(data) if task.whole_groups else None


def training_sampler(settings: Settings, data: Examples) -> Batches:
    """The batches of every epoch.

    Arguments:
        settings: all settings of the run.
        data: training examples.

    Raises:
        TreeError: the data are too small for the settings.
    """
    task, loop = settings.task, settings.training
    in_order = task.training_batches(data, settings.data, loop.batch_size)
    if in_order is not None:
        return in_order
    options: dict[str, Any] = {
        "depths": data.depths if loop.bucket_by == "depth" else None,
        "batch_size": loop.batch_size,
        "max_nodes": loop.max_nodes,
        "pool": loop.pool,
        "seed": loop.seed,
    }
    groups = whole_groups(task, data)
    if groups is None:
        return BatchSampler(data.sizes, **options)
    return GroupSampler(np.where(task.labeled(data), groups, -1), data.sizes, **options)


def evaluation_batches(task: Task, data: Examples, max_nodes: int) -> list[NDArray[Any]]:
    """Batches with every example once and at most ``max_nodes`` nodes, unless one is larger.

    Raises:
        TreeError: the data are too small to be measured.
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
