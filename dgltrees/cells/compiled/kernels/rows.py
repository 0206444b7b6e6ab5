"""Functions of one row, and the call of a kernel with some threads."""

from __future__ import annotations

from typing import Any

import numba
import torch
from numba import njit

from dgltrees.cells.compiled.kernels.announce import announce_compiling
from dgltrees.cells.compiled.kernels.vector import MATH

__all__ = ["add", "clear", "copy", "outside_gradient", "run"]


def run(kernel: Any, threads: int, arrays: tuple[Any, ...]) -> None:
    """Run a kernel with this number of threads, and restore those of numba and torch."""
    announce_compiling()
    if threads == 1:
        kernel(threads, *arrays)
        return
    torch_threads = torch.get_num_threads()  # numba changes it as it starts, since both use OpenMP
    before = numba.get_num_threads()
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # idle threads would spin
    try:
        kernel(threads, *arrays)
    finally:
        numba.set_num_threads(before)
        if torch.get_num_threads() != torch_threads:
            torch.set_num_threads(torch_threads)


@njit(**MATH)
def add(total, x):
    """``total += x``."""
    for j in range(len(total)):
        total[j] += x[j]


@njit(**MATH)
def clear(total):
    """``total = 0``."""
    for j in range(len(total)):
        total[j] = 0


@njit(**MATH)
def copy(total, x):
    """``total = x``."""
    for j in range(len(total)):
        total[j] = x[j]


@njit(**MATH)
def outside_gradient(total, grads, node):
    """``total = grads[node]``, or zeros if ``grads`` is empty."""
    if len(grads):
        copy(total, grads[node])
    else:
        clear(total)
