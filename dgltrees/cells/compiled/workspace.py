"""Reusable memory for autograd functions, and their error for second derivatives.

Blocks of CPU memory are reused from one training step to the next. Otherwise the operating system
would take back the memory that a step frees, and zero it page by page for the next step. On some
machines this costs more than the arithmetic.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor

MAX_FREE_BLOCKS = 4
"""Blocks that wait for reuse: two for the states of a step, and two for its gradients."""

_free: list[Tensor] = []
# Held while a block is taken; one may be returned at any time, in any thread.
_lock = threading.RLock()


class Workspace:
    """A block of memory that is returned for reuse when the object is garbage-collected.

    Tensors that are cut from it must not outlive it, since another workspace will overwrite them.

    Arguments:
        like: a CPU tensor with the dtype of the block.
        shapes: the shapes of the tensors to cut from the block.
    """

    def __init__(self, like: Tensor, shapes: Sequence[tuple[int, ...]]) -> None:
        self._shapes = shapes
        self._block = _take(like.dtype, sum(map(prod, shapes)))

    @property
    def tensors(self) -> list[Tensor]:
        """Return one uninitialised tensor per shape."""
        block, stop, tensors = self._block.numpy(), 0, []
        for shape in self._shapes:
            start, stop = stop, stop + prod(shape)
            tensors.append(torch.from_numpy(block[start:stop].reshape(shape)))
        return tensors

    def __del__(self) -> None:
        if hasattr(self, "_block"):
            _free.append(self._block)


def tables(
    like: Tensor, shapes: Sequence[tuple[int, ...]]
) -> tuple[Workspace | None, list[Tensor]]:
    """Allocate uninitialised tensors of these shapes, with dtype and device of ``like``."""
    if like.device.type == "cpu" and like.dtype != torch.bfloat16:  # which numpy lacks
        space = Workspace(like, shapes)
        return space, space.tensors
    return None, [like.new_empty(shape) for shape in shapes]


def as_arrays(*tensors: Tensor) -> tuple[Any, ...]:
    """Return CPU tensors as contiguous numpy arrays, for kernels."""
    return tuple([_as_array(tensor) for tensor in tensors])


def _as_array(tensor: Tensor) -> Any:
    if tensor.requires_grad:
        tensor = tensor.detach()
    return (tensor if tensor.is_contiguous() else tensor.contiguous()).numpy()


def _take(dtype: torch.dtype, size: int) -> Tensor:
    """Take a free block of ``size`` to 4 ``size`` numbers, or allocate a new one."""
    with _lock:
        for i, block in enumerate(list(_free)):
            if block.dtype == dtype and size <= len(block) <= 4 * size:
                return _free.pop(i)  # others have only been added behind it
        del _free[: max(0, len(_free) - MAX_FREE_BLOCKS)]  # the least recently returned
    with torch.inference_mode(False):  # a training step may get this block next
        return torch.empty(size, dtype=dtype)


def refuse_second_derivative(
    subject: str = "a compiled cell", advice: str = "run the cell with compile=False"
) -> None:
    """Raise RuntimeError in a backward pass that was called with ``create_graph=True``."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            f"expected one derivative of {subject}, got a graph for a second (create_graph=True); "
            f"{advice}"
        )
