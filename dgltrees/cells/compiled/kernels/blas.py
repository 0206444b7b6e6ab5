"""Matrix products within compiled code; imported where needed, since numba loads slowly."""

from __future__ import annotations

from typing import Any

import llvmlite.binding
import numpy as np
from numba import njit, types
from numba.extending import overload

from dgltrees.cells.compiled.kernels.library import NAMES, address_of

__all__ = ["multiply", "multiply_by_transposed", "multiply_transposed", "scratch"]

# Compiled code refers to a routine by name, whose address must be set in every process.
SIGNATURE = types.void(*[types.intp] * 13)
for name in NAMES:
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


@njit
def scratch(like: Any) -> tuple[Any, Any]:
    """Memory for the arguments of :func:`multiply`, with the dtype of ``like``; one per thread."""
    return np.empty(2, like.dtype), np.empty(5, np.int32)


@njit
def multiply(A: Any, B: Any, C: Any, beta: float, space: Any) -> None:
    """``C = A B + beta C`` for contiguous matrices (n, k), (k, m) and (n, m).

    Fortran stores columns first and sees transposed matrices, so it computes C' = B' A'.
    """
    factors, numbers = space
    factors[0], factors[1] = 1.0, beta
    numbers[0], numbers[1], numbers[2], numbers[3] = C.shape[1], C.shape[0], A.shape[1], PLAIN
    p, f = numbers.ctypes.data, factors.ctypes.data
    m, n, k, plain = p, p + 4, p + 8, p + 12
    a, b, c = A.ctypes.data, B.ctypes.data, C.ctypes.data
    _gemm(C, plain, plain, m, n, k, f, b, m, a, k, f + factors.itemsize, c, m)


@njit
def multiply_by_transposed(A: Any, B: Any, C: Any, beta: float, space: Any) -> None:
    """``C = A B' + beta C`` for contiguous matrices (n, k), (m, k) and (n, m)."""
    factors, numbers = space
    factors[0], factors[1] = 1.0, beta
    numbers[0], numbers[1], numbers[2] = C.shape[1], C.shape[0], A.shape[1]
    numbers[3], numbers[4] = PLAIN, TURNED
    p, f = numbers.ctypes.data, factors.ctypes.data
    m, n, k, plain, turned = p, p + 4, p + 8, p + 12, p + 16
    a, b, c = A.ctypes.data, B.ctypes.data, C.ctypes.data
    _gemm(C, turned, plain, m, n, k, f, b, k, a, k, f + factors.itemsize, c, m)


@njit
def multiply_transposed(A: Any, B: Any, C: Any, space: Any) -> None:
    """``C += A' B`` for contiguous matrices (n, k), (n, m) and (k, m)."""
    factors, numbers = space
    factors[0], factors[1] = 1.0, 1.0
    numbers[0], numbers[1], numbers[2] = C.shape[1], C.shape[0], A.shape[0]
    numbers[3], numbers[4] = PLAIN, TURNED
    p, f = numbers.ctypes.data, factors.ctypes.data
    m, k, n, plain, turned = p, p + 4, p + 8, p + 12, p + 16
    a, b, c = A.ctypes.data, B.ctypes.data, C.ctypes.data
    _gemm(C, plain, turned, m, k, n, f, b, m, a, k, f + factors.itemsize, c, m)
