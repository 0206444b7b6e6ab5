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
    return np.empty(2, like.dtype), np.empty(8, np.int32)


@njit
def multiply(A: Any, B: Any, C: Any, beta: float, space: Any) -> None:
    """``C = A B + beta C`` for matrices (n, k), (k, m) and (n, m) with dense rows.

    Fortran stores columns first and sees transposed matrices, so it computes C' = B' A'.
    """
    _product(B, A, C, PLAIN, PLAIN, A.shape[1], beta, space)


@njit
def multiply_by_transposed(A: Any, B: Any, C: Any, beta: float, space: Any) -> None:
    """``C = A B' + beta C`` for matrices (n, k), (m, k) and (n, m) with dense rows."""
    _product(B, A, C, TURNED, PLAIN, A.shape[1], beta, space)


@njit
def multiply_transposed(A: Any, B: Any, C: Any, space: Any) -> None:
    """``C += A' B`` for matrices (n, k), (n, m) and (k, m) with dense rows."""
    _product(B, A, C, PLAIN, TURNED, A.shape[0], 1.0, space)


@njit
def _product(
    B: Any, A: Any, C: Any, turn_b: int, turn_a: int, k: int, beta: float, space: Any
) -> None:
    """``C' = B' A' + beta C'``, in Fortran's order of rows and columns."""
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
