"""What the code of the compiler calls: functions of one number, and of rows and matrices.

In single precision the exponential is that of :mod:`dgltrees.cells.compiled.kernels.vector`, for
one number, which a compiler can make vector instructions of within any loop.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, prange, types
from numba.extending import intrinsic, overload

from dgltrees.cells.compiled.kernels.blas import (
    multiply,
    multiply_by_transposed,
    multiply_transposed,
    scratch,
)
from dgltrees.cells.compiled.kernels.rows import clear, copy, outside_gradient
from dgltrees.cells.compiled.kernels.vector import (
    HIGHEST,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    LOWEST,
    MATH,
    ROUND,
    SERIES,
    _tanh_from,
)

__all__ = [
    "LOOPS",
    "MATH",
    "clear",
    "copy",
    "cos",
    "erf",
    "exp",
    "expm1",
    "larger",
    "log",
    "log1p",
    "multiply",
    "multiply_by_transposed",
    "multiply_transposed",
    "njit",
    "np",
    "outside_gradient",
    "prange",
    "scratch",
    "share",
    "sigmoid",
    "sign",
    "sin",
    "smaller",
    "sqrt",
    "tanh",
]

LOOPS: dict[str, Any] = {**MATH, "fastmath": {"contract", "reassoc"}}
"""Lets sums run in any order, as vector instructions need."""

cos, expm1, erf, log, log1p, sin, sqrt = (
    math.cos,
    math.expm1,
    math.erf,
    math.log,
    math.log1p,
    math.sin,
    math.sqrt,
)


@intrinsic
def _from_bits(context, bits):
    """The single-precision number with these 32 bits."""

    def make(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), make


def _exp(x: float) -> float:
    raise NotImplementedError("compiled code only")


@overload(_exp, jit_options=MATH, inline="never")
def _exp_of(x):
    def single(x):
        v = HIGHEST if x > HIGHEST else x  # in this order NaN stays what it is
        v = LOWEST if v < LOWEST else v
        k = (v * LOG2_E + ROUND) - ROUND
        r = (v - k * LN2_HIGH) - k * LN2_LOW
        p = SERIES[6] + r * SERIES[7]
        p = SERIES[4] + r * (SERIES[5] + r * p)
        p = SERIES[2] + r * (SERIES[3] + r * p)
        p = SERIES[0] + r * (SERIES[1] + r * p)
        return p * _from_bits((np.int32(k) + np.int32(127)) << np.int32(23))

    return single if x == types.float32 else lambda x: math.exp(x)


@njit(**MATH)
def exp(x):
    """The exponential."""
    return _exp(x)


@njit(**MATH)
def sigmoid(x):
    """The logistic function."""
    one = type(x)(1)  # a plain 1 would promote to double
    return one / (one + _exp(-x))


@njit(**MATH)
def tanh(x):
    """The hyperbolic tangent."""
    return _tanh_from(x, _exp(-(x + x)))


@njit(**MATH)
def larger(x, y):
    """The larger number, NaN if one is."""
    return x if x > y or x != x else y


@njit(**MATH)
def smaller(x, y):
    """The smaller number, NaN if one is."""
    return x if x < y or x != x else y


@njit(**MATH)
def share(x, y):
    """The derivative of the larger of x and y by x: a half if they are equal."""
    one = type(x)(1)
    return one if x > y else (one / type(x)(2) if x == y else type(x)(0))


@njit(**MATH)
def sign(x):
    """-1, 0 or 1."""
    return type(x)(x > 0) - type(x)(x < 0)
