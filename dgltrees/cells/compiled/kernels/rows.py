"""Functions of rows and matrices that compiled code calls, and the call of a kernel.

Imported where needed, since numba loads slowly.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import llvmlite.binding
import numba
import numpy as np
import torch
from numba import njit, types
from numba.core.event import Event, Listener, register
from numba.extending import overload
from tqdm import tqdm

from dgltrees.cells.compiled.kernels import ROUTINES, address_of
from dgltrees.cells.compiled.kernels.numbers import CALLED, MATH
from dgltrees.cells.compiled.kernels.storage import seal

# Compiled code refers to a routine by name, whose address must be set in every process.
SIGNATURE = types.void(*[types.intp] * 13)
for name in ROUTINES:
    llvmlite.binding.add_symbol(f"dgltrees_{name}", address_of(name))
_single = types.ExternalFunction("dgltrees_sgemm_", SIGNATURE)
_double = types.ExternalFunction("dgltrees_dgemm_", SIGNATURE)


def _gemm(like: Any, *pointers: int) -> None:
    raise NotImplementedError("compiled code only")


@overload(_gemm)
def _gemm_of(like, *pointers):
    routine = _single if like.dtype == types.float32 else _double
    return lambda like, *pointers: routine(*pointers)


PLAIN, TURNED = ord("N"), ord("T")


@njit(**CALLED)
def scratch(like: Any) -> tuple[Any, Any]:
    """Allocate memory for the arguments of :func:`multiply` in one thread, typed like ``like``."""
    return np.empty(2, like.dtype), np.empty(8, np.int32)


@njit(**CALLED)
def multiply(A: Any, B: Any, C: Any, beta: float, space: Any) -> None:
    """Compute ``C = A B + beta C`` for matrices (n, k), (k, m) and (n, m) with dense rows.

    Fortran stores columns first and sees transposed matrices, so it computes C' = B' A'.
    """
    _product(B, A, C, PLAIN, PLAIN, A.shape[1], beta, space)


@njit(**CALLED)
def multiply_by_transposed(A: Any, B: Any, C: Any, beta: float, space: Any) -> None:
    """Compute ``C = A B' + beta C`` for matrices (n, k), (m, k) and (n, m) with dense rows."""
    _product(B, A, C, TURNED, PLAIN, A.shape[1], beta, space)


@njit(**CALLED)
def multiply_transposed(A: Any, B: Any, C: Any, space: Any) -> None:
    """Compute ``C += A' B`` for matrices (n, k), (n, m) and (k, m) with dense rows."""
    _product(B, A, C, PLAIN, TURNED, A.shape[0], 1.0, space)


@njit(**CALLED)
def _product(
    B: Any, A: Any, C: Any, turn_b: int, turn_a: int, k: int, beta: float, space: Any
) -> None:
    """Compute ``C' = B' A' + beta C'``, in Fortran's order of rows and columns."""
    if C.shape[0] == 0:
        return
    factors, numbers = space
    factors[0], factors[1], size = 1.0, beta, C.itemsize
    numbers[0], numbers[1], numbers[2] = C.shape[1], C.shape[0], k
    numbers[3], numbers[4] = turn_b, turn_a
    numbers[5], numbers[6] = B.strides[0] // size, A.strides[0] // size
    numbers[7] = C.strides[0] // size
    p, f = numbers.ctypes.data, factors.ctypes.data
    a, b, c = A.ctypes.data, B.ctypes.data, C.ctypes.data
    _gemm(C, p + 12, p + 16, p, p + 4, p + 8, f, b, p + 20, a, p + 24, f + size, c, p + 28)


@njit(**MATH)
def add(total, x):
    """Add: ``total += x``."""
    for j in range(len(total)):
        total[j] += x[j]


@njit(**MATH)
def copy(total, x):
    """Copy: ``total = x``."""
    for j in range(len(total)):
        total[j] = x[j]


@njit(**MATH)
def outside_gradient(total, grads, node):
    """Set ``total = grads[node]``, or zeros if ``grads`` is empty."""
    if len(grads):
        copy(total, grads[node])
    else:
        for j in range(len(total)):
            total[j] = 0


# The call, and one line before machine code is made, since the first step then takes a minute.


def run(kernel: Any, threads: int, arrays: tuple[Any, ...]) -> None:
    """Run a kernel with this number of threads, and restore those of numba and torch."""
    announce_compiling()
    if threads == 1:
        kernel(threads, *arrays)
        seal(kernel)
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
    seal(kernel)


class Announcement(Listener):  # type: ignore[misc]
    """A listener that announces once, on standard error, that numba compiles for a package.

    Code that numba loads from its cache on disk is not compiled, and nothing is said.

    Arguments:
        package: the name of the package.
    """

    def __init__(self, package: str = "dgltrees") -> None:
        self.package, self.done = package, False

    def on_start(self, event: Event) -> None:
        """Announce that numba begins to compile a function."""
        if self.done or not event.data["dispatcher"].py_func.__module__.startswith(self.package):
            return
        self.done = True
        text = "compiling for this processor takes up to a minute; later runs load it from disk"
        tqdm.write(f"dgltrees: {text}", file=sys.stderr)

    def on_end(self, event: Event) -> None:
        """Note that numba has compiled a function."""


@cache
def announce_compiling() -> None:
    """Register an :class:`Announcement` of this process with numba."""
    register("numba:compile", Announcement())
