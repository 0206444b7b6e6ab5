"""Memory that a training step leaves to the next one.

The operating system takes back what a step frees, and hands it out again page by page, each page
zeroed: on some machines that costs more than the arithmetic in it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import prod
from typing import Optional

import torch
from torch import Tensor

__all__ = ["Workspace", "tables"]

KEPT = 4
"""Blocks that are kept: two for the states of a step, and two for its gradients."""

_free: list[Tensor] = []
_lock = threading.RLock()  # of taking; blocks may come back at any time, in any thread


class Workspace:
    """A block of memory, from when it is made until nobody refers to it any more.

    What it held is lost then, so that tensors cut from it must not outlive it.

    Arguments:
        like: a tensor of the type that is wanted, on the CPU.
        shapes: of the tensors to cut from it.

    Attributes:
        tensors: as many as shapes, with arbitrary numbers in them.
    """

    def __init__(self, like: Tensor, shapes: Sequence[tuple[int, ...]]) -> None:
        sizes = [prod(shape) for shape in shapes]
        self._block = _take(like.dtype, sum(sizes))
        parts = self._block[: sum(sizes)].split_with_sizes(sizes)
        self.tensors = [part.view(shape) for part, shape in zip(parts, shapes)]

    def __del__(self) -> None:
        if hasattr(self, "_block"):
            _free.append(self._block)


def tables(
    like: Tensor, shapes: Sequence[tuple[int, ...]]
) -> tuple[Optional[Workspace], list[Tensor]]:
    """Tensors of some shapes, with arbitrary numbers in them, on the device of ``like``.

    On a processor they are cut from a :class:`Workspace`, which comes first.
    """
    if like.device.type == "cpu":
        space = Workspace(like, shapes)
        return space, space.tensors
    return None, [like.new_empty(shape) for shape in shapes]


def _take(dtype: torch.dtype, size: int) -> Tensor:
    """A free block that is large enough and not far too large, or a new one."""
    with _lock:
        for i, block in enumerate(list(_free)):
            if block.dtype == dtype and size <= len(block) <= 4 * size:
                return _free.pop(i)  # others have only been added behind it
        del _free[: max(0, len(_free) - KEPT)]  # those that nobody has asked for the longest
    with torch.inference_mode(False):  # a training step may get this block next
        return torch.empty(size, dtype=dtype)
