"""The batches of an epoch, made in turn or ahead by other processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.multiprocessing import get_context
from torch.utils.data import DataLoader, Dataset

from dgltrees.tasks.task import Task
from dgltrees.trees import Examples, TreeBatch

__all__ = ["Loader"]


CHUNK = 8
"""Batches that travel together: a message costs about as much as the making of a small batch."""


class Loader:
    """Makes batches of a task's examples, in the order asked for.

    Workers are forked from a process that does nothing else: whatever threads this one has, they
    inherit none. They live as long as the loader, and draw no random numbers.

    Arguments:
        task: the task.
        data: the examples.
        workers: processes that make batches ahead; with 0 a batch is made when it is needed.
    """

    def __init__(self, task: Task, data: Examples, workers: int) -> None:
        self.task, self.data, self.workers = task, data, workers
        self.chunks: list[Sequence[NDArray[Any]]] = []
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
        """Batch and targets of the examples in each entry of ``order``."""
        if not self.workers:
            return (self.task.batch(self.data, ids) for ids in order)
        self.chunks[:] = [order[at : at + CHUNK] for at in range(0, len(order), CHUNK)]
        return ((batch, torch.from_numpy(rows)) for chunk in self.ahead for batch, rows in chunk)


class _Chunks(Dataset[list[tuple[TreeBatch, Tensor]]]):
    """Indexed by the numbers of the examples of several batches."""

    def __init__(self, task: Task, data: Examples) -> None:
        self.task, self.data = task, data

    def __getitem__(self, chunk: Sequence[NDArray[Any]]) -> list[tuple[TreeBatch, Tensor]]:
        return [self.task.batch(self.data, ids) for ids in chunk]


def _packed(chunk: Any) -> list[tuple[TreeBatch, NDArray[Any]]]:
    """Arrays travel by value; a tensor each would take a file of shared memory."""
    return [(batch, targets.numpy()) for batch, targets in chunk]
