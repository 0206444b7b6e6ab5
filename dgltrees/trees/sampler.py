"""Random batches of trees, or of trees of similar depth and size; batches of whole groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dgltrees.errors import ConfigError
from dgltrees.trees.segments import offsets_of, rows_of, starts, within


class BatchSampler:
    """Sampler of batches of examples; the same seed and epoch give the same batches.

    Every batch is a random sample, unless ``bucket_batches`` is above 1. The time of a batch grows
    with its nodes and with the depth of its deepest tree. So batches of similar examples are
    faster, but a model may learn less from them. The shuffled examples are then divided into
    buckets of several batches, sorted by depth and size within each bucket, and cut into batches,
    which are shuffled again.

    Arguments:
        sizes: ``(E,)`` the number of nodes of each example.
        depths: ``(E,)`` the depth of each example; without it buckets are sorted by size only.
        weights: ``(E,)`` the number of examples that each example counts as; default: 1.
        batch_size: the largest number of examples in a batch. An example that counts as more is a
            batch of its own.
        max_nodes: the largest number of nodes in a batch. A larger example is a batch of its own.
        shuffle: if False, the examples are cut into batches in their order, unsorted.
        bucket_batches: the number of batches in a bucket, such as 50 for batches of similar
            examples; with 1 every batch is a random sample.
        seed: the seed of the random numbers, which is used together with the epoch.

    Raises:
        ConfigError: neither ``batch_size`` nor ``max_nodes`` is given, or one is not positive.

    Example:
        >>> sampler = BatchSampler(sizes=[3, 5, 4, 3], batch_size=2, shuffle=False)
        >>> [batch.tolist() for batch in sampler]
        [[0, 1], [2, 3]]
    """

    def __init__(
        self,
        sizes: ArrayLike,
        *,
        depths: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        batch_size: int | None = None,
        max_nodes: int | None = None,
        shuffle: bool = True,
        bucket_batches: int = 1,
        seed: int = 0,
    ) -> None:
        if batch_size is None and max_nodes is None:
            raise ConfigError("expected batch_size or max_nodes, got neither; give one")
        limits = (
            ("batch_size", batch_size),
            ("max_nodes", max_nodes),
            ("bucket_batches", bucket_batches),
        )
        for name, value in limits:
            if value is not None and value < 1:
                raise ConfigError(f"expected {name} to be at least 1, got {value}")
        self.sizes = np.asarray(sizes, dtype=np.int64)
        self.depths = np.zeros_like(self.sizes) if depths is None else np.asarray(depths)
        self.weights = None if weights is None else np.asarray(weights, dtype=np.int64)
        self.batch_size, self.max_nodes = batch_size, max_nodes
        self.shuffle, self.bucket_batches, self.seed, self.epoch = shuffle, bucket_batches, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch whose batches :meth:`batches` returns.

        Arguments:
            epoch: the epoch, from 0.
        """
        self.epoch = epoch

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return iter(self.batches())

    def __len__(self) -> int:
        return len(self.batches())

    def batches(self) -> list[NDArray[np.int64]]:
        """Return the batches of the epoch.

        Returns:
            the ids ``(B,)`` int64 of the examples of each batch.
        """
        ids = np.arange(len(self.sizes))
        if not self.shuffle:
            return self._cut(ids)
        rng = np.random.Generator(np.random.PCG64([self.seed, self.epoch]))
        ids = rng.permutation(ids)
        bucket_of = np.arange(len(ids)) // min(self._bucket_size(), len(ids) or 1)
        if self.bucket_batches > 1:
            ids = ids[np.lexsort((self.sizes[ids], self.depths[ids], bucket_of))]
        batches = self._cut(ids)
        return [batches[i] for i in rng.permutation(len(batches))]

    def _bucket_size(self) -> int:
        """Return the number of examples in a bucket."""
        if self.batch_size is not None:
            return max(1, int(self.batch_size * self.bucket_batches / _mean(self.weights)))
        return max(1, int((self.max_nodes or 1) / _mean(self.sizes))) * self.bucket_batches

    def _cut(self, ids: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Cut ``ids`` into consecutive batches, each as large as the limits allow."""
        if self.max_nodes is None and self.weights is None:
            step = self.batch_size or 1
            return [ids[start : start + step] for start in range(0, len(ids), step)]
        weights = np.ones_like(self.sizes) if self.weights is None else self.weights
        limits = [
            (offsets_of(amounts[ids]), min(most, int(amounts.sum())))
            for amounts, most in ((self.sizes, self.max_nodes), (weights, self.batch_size))
            if most is not None
        ]
        cuts, start = [], 0
        while start < len(ids):
            stops = [np.searchsorted(o, o[start] + most, side="right") - 1 for o, most in limits]
            start = max(start + 1, int(min(stops)))
            cuts.append(start)
        return np.split(ids, cuts[:-1]) if cuts else []


def _mean(amounts: NDArray[np.int64] | None) -> float:
    """Return the mean, at least 1; 1 if there is nothing."""
    return 1.0 if amounts is None or not len(amounts) else max(1.0, float(amounts.mean()))


class GroupSampler(BatchSampler):
    """Sampler of batches of whole groups of examples.

    It treats groups as :class:`~dgltrees.trees.sampler.BatchSampler` treats examples: a batch holds
    as many groups as the limits of examples and nodes allow, and a larger group is a batch of its
    own. The examples of a group are next to each other.

    Arguments:
        groups: ``(E,)`` the number of each example's group, in any order; -1 leaves an example out.
        sizes: ``(E,)`` the number of nodes of each example.
        depths: ``(E,)`` the depth of each example; the deepest one is the depth of its group.
        options: ``batch_size`` and the other arguments of the ``BatchSampler``.

    Raises:
        ConfigError: see ``BatchSampler``.
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
        super().__init__(nodes, depths=depths, weights=counts, **options)

    def batches(self) -> list[NDArray[np.int64]]:
        """Return the batches of the epoch."""
        groups = super().batches()
        return [self.order[rows_of(self.offsets, ids)] for ids in groups]


def higher_and_lower(values: Tensor, groups: Tensor) -> tuple[Tensor, Tensor]:
    """Find all pairs of rows of one group in which the first has the higher value."""
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
