"""The batches of an epoch, made on demand or in advance by worker processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.multiprocessing import get_context
from torch.utils.data import DataLoader, Dataset

from dgltrees.errors import ConfigError
from dgltrees.tasks.task import Task
from dgltrees.trees import Examples, TreeBatch
from dgltrees.trees.on_disk import DiskForest

__all__ = ["Loader"]


CHUNK = 8
"""The number of batches per message between processes, which costs as much as a small batch."""


class Loader:
    """Makes batches of a task's examples in a given order.

    Workers are forked from a server process, so that they inherit no threads. They live as long as
    the loader, and use no random numbers.

    Arguments:
        task: the task.
        data: the examples.
        workers: the number of processes that make batches in advance; with 0, batches are made when
            they are needed.
    """

    def __init__(self, task: Task, data: Examples, workers: int) -> None:
        self.task, self.data, self.workers = task, data, workers
        self.chunks: list[Sequence[NDArray[Any]]] = []
        if workers and isinstance(data.forest, DiskForest):
            raise ConfigError(
                f"expected training.workers 0 with data.scratch, got {workers}; other processes "
                "would read all trees into memory"
            )
        if workers:
            context: Any = get_context("forkserver")
            context.set_forkserver_preload([__name__])  # imported once, not by every worker
            self.ahead: DataLoader[Any] = DataLoader(
                _Chunks(task, data),
                batch_size=None,
                sampler=self.chunks,
                num_workers=workers,
                collate_fn=_packed,
                multiprocessing_context=context,
                persistent_workers=True,
                generator=torch.Generator(),  # it would draw a seed from that of dropout
            )

    def __call__(self, order: Sequence[NDArray[Any]]) -> Iterator[tuple[TreeBatch, Tensor]]:
        """Iterate over batches and targets of the examples in each entry of ``order``."""
        if not self.workers:
            return (self.task.batch(self.data, ids) for ids in order)
        self.chunks[:] = [order[at : at + CHUNK] for at in range(0, len(order), CHUNK)]
        return ((batch, torch.from_numpy(rows)) for chunk in self.ahead for batch, rows in chunk)


class _Chunks(Dataset[list[tuple[TreeBatch, Tensor]]]):
    """A dataset that is indexed by the example ids of several batches.

    It goes to the workers without the task's readers, which may be functions made by functions:
    pickle cannot send these.
    """

    def __init__(self, task: Task, data: Examples) -> None:
        self.task, self.data = replace(task, formats={}), data

    def __getitem__(self, chunk: Sequence[NDArray[Any]]) -> list[tuple[TreeBatch, Tensor]]:
        return [self.task.batch(self.data, ids) for ids in chunk]


def _packed(chunk: Any) -> list[tuple[TreeBatch, NDArray[Any]]]:
    """Convert tensors to arrays, which are sent by value and need no shared memory each."""
    return [(batch, targets.numpy()) for batch, targets in chunk]
