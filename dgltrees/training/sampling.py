"""The samplers of training and evaluation: similar examples, or the next windows of a text."""

from __future__ import annotations

from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from dgltrees.tasks.task import Task
from dgltrees.training.settings import TrainingSettings
from dgltrees.trees import BatchSampler, Examples
from dgltrees.trees.windows import WindowSampler

__all__ = ["evaluation_batches", "training_sampler"]

STREAMS = 10
"""The number of streams of a text in evaluation; each starts without context."""


def training_sampler(
    task: Task, data: Examples, settings: TrainingSettings, window: int
) -> Union[BatchSampler, WindowSampler]:
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
        return BatchSampler(
            data.sizes,
            depths=data.depths if settings.bucket_by == "depth" else None,
            batch_size=settings.batch_size,
            max_nodes=settings.max_nodes,
            pool=settings.pool,
            seed=settings.seed,
        )
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
        order = np.lexsort((data.sizes, data.depths))  # alike trees meet: fewer levels in all
        sampler = BatchSampler(data.sizes[order], max_nodes=max_nodes, shuffle=False)
        return [order[ids] for ids in sampler.batches()]
    rows = len(task.targets(data))
    streams = min(STREAMS, max(1, rows // 2))
    return WindowSampler(rows, streams=streams, window=max(1, max_nodes // streams)).batches()
