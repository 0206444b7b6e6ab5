"""Ragged arrays: the rows of several segments (trees, sentences, levels), concatenated.

``T`` segments of ``sizes`` ``(T,)`` rows have ``N = sizes.sum()`` rows in total. Their offsets are
``(T + 1,)``: segment ``t`` is the rows ``offsets[t]:offsets[t + 1]``. For the sizes [2, 0, 3]:

=============== ==================
starts          [0, 2, 2]
lasts           [1, 1, 4]
offsets_of      [0, 2, 2, 5]
owner           [0, 0, 2, 2, 2]
within          [0, 1, 0, 1, 2]
=============== ==================

Arrays are numpy integers, or tensors where a function says so; the result has the same type. A mask
is a ragged array too, whose segments have one row or none: ``starts(mask)`` counts the True values
before each entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Array = TypeVar("Array", NDArray[Any], Tensor)


def blocks(rows: int, size: int = 2**20) -> Iterator[slice]:
    """Iterate over slices of at most ``size`` rows, for arrays that are larger than memory.

    >>> list(blocks(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return (slice(at, min(at + size, rows)) for at in range(0, rows, size))


def starts(sizes: Array) -> Array:
    """Return the first row of each segment, ``(T,)``: the sum of the sizes before it.

    >>> starts(np.array([2, 0, 3]))
    array([0, 2, 2])
    """
    before: Array = sizes.cumsum(0) - sizes
    return before


def lasts(sizes: Array) -> Array:
    """Return the last row of each segment, ``(T,)``; for an empty one the row before it.

    >>> lasts(np.array([2, 3]))
    array([1, 4])
    """
    return sizes.cumsum(0) - 1


def offsets_of(sizes: ArrayLike) -> Ints:
    """Return the first row of each segment and the number of rows, ``(T + 1,)`` int64.

    >>> offsets_of([2, 0, 3])
    array([0, 2, 2, 5])
    """
    counts = np.asarray(sizes)
    offsets = np.zeros(len(counts) + 1, np.int64)
    counts.cumsum(out=offsets[1:])
    return offsets


def owner(sizes: Array) -> Array:
    """Return the segment of each row, ``(N,)``.

    >>> owner(np.array([2, 0, 3]))
    array([0, 0, 2, 2, 2])
    """
    if isinstance(sizes, Tensor):
        return torch.arange(len(sizes), device=sizes.device).repeat_interleave(sizes)
    return np.arange(len(sizes)).repeat(sizes)


def within(sizes: Array) -> Array:
    """Return the index of each row in its segment, ``(N,)``.

    >>> within(np.array([2, 0, 3]))
    array([0, 1, 0, 1, 2])
    """
    if isinstance(sizes, Tensor):
        begins = starts(sizes).repeat_interleave(sizes)
        return torch.arange(len(begins), device=sizes.device) - begins
    first: Ints = starts(sizes).repeat(sizes)
    return np.arange(len(first)) - first


def ranges(begins: NDArray[Any], sizes: NDArray[Any]) -> Ints:
    """Return the integers ``begins[t]``, ``begins[t] + 1``, ... of each segment, ``(N,)``."""
    shift: Ints = (begins - starts(sizes)).repeat(sizes)
    return np.arange(len(shift)) + shift


def rows_of(offsets: Ints, ids: NDArray[Any]) -> Ints:
    """Concatenate the rows ``offsets[t]:offsets[t + 1]`` of the segments ``ids``."""
    return ranges(offsets[ids], offsets[ids + 1] - offsets[ids])


def locate(offsets: ArrayLike, row: int) -> tuple[int, int]:
    """Return the segment of one row, and its index in that segment."""
    bounds = np.asarray(offsets)
    segment = int(bounds.searchsorted(row, side="right")) - 1
    return segment, row - int(bounds[segment])


def mask_of(sizes: Tensor, width: int) -> Tensor:
    """Return a mask ``(T, width)`` of the cells of a padded table that hold a row of their segment.

    >>> mask_of(torch.tensor([2, 0, 3]), 3)
    tensor([[ True,  True, False],
            [False, False, False],
            [ True,  True,  True]])
    """
    return torch.arange(width, device=sizes.device) < sizes.unsqueeze(1)


def inverse(permutation: Array) -> Array:
    """Invert a permutation: ``inverse(p)[p[i]] == i``, ``(N,)``."""
    if isinstance(permutation, Tensor):
        rows = torch.arange(len(permutation), device=permutation.device)
        return torch.empty_like(rows).index_copy_(0, permutation, rows)
    back = np.empty(len(permutation), np.int64)
    back[permutation] = np.arange(len(permutation))
    return back


def run_offsets(*keys: NDArray[Any]) -> Ints:
    """Return the offsets ``(R + 1,)`` of the ``R`` runs: longest slices in which no key changes."""
    begins = np.ones(len(keys[0]) + 1, np.bool_)
    np.not_equal(keys[0][1:], keys[0][:-1], out=begins[1:-1])
    for key in keys[1:]:
        begins[1:-1] |= key[1:] != key[:-1]
    return begins.nonzero()[0]


def cumcount(keys: NDArray[Any]) -> Ints:
    """Count the earlier entries that are equal to each entry, ``(N,)``."""
    order = keys.argsort(kind="stable")
    counts = np.empty(len(keys), np.int64)
    counts[order] = within(np.diff(run_offsets(keys[order])))
    return counts


def running_sum(values: NDArray[Any], sizes: NDArray[Any]) -> Ints:
    """Add up the values of each segment until each row, that row included, ``(N,)``."""
    sums = offsets_of(values)
    sum_before: Ints = sums[starts(sizes)].repeat(sizes)
    return sums[1:] - sum_before
