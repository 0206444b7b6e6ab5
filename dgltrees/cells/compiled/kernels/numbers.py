"""Functions of one number that compiled code calls; a compiler makes vector instructions of them.

In single precision ``exp(x) = 2^k exp(r)`` with ``x = k ln 2 + r`` and ``|r| <= ln 2 / 2``, where
eight terms of the power series of exp(r) are exact to rounding; 2^k is made of its bits. In double
precision, which is for tests rather than for training, the functions of the C library are called.
"""

from __future__ import annotations

import math
from math import cos, erf, expm1, log, log1p, sin, sqrt  # noqa: F401  (compiled code calls them)
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

LOOPS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract", "reassoc"}}
"""No check for division by zero, which would prevent vectorisation, and fused multiply-adds; sums
may run in any order, as vector instructions need."""
CALLED: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Of functions that compiled code alone calls, which take less time to compile."""
INNER: dict[str, Any] = {**LOOPS, **CALLED, "forceinline": True}
"""Of such functions that compute. They are inlined, so that no function has a copy in
another one's machine code: whether the linker takes that one would depend on what is in the cache,
and rounding with it."""
MATH: dict[str, Any] = {**INNER, "fastmath": {"contract"}}
"""The same where sums keep their order."""

f32 = np.float32
LOG2_E, LN2_HIGH, LN2_LOW = f32(1 / math.log(2)), f32(0.693359375), f32(math.log(2) - 0.693359375)
ROUND = f32(1.5 * 2**23)  # adding it rounds to an integer
LOWEST, HIGHEST = f32(-87), f32(88)
SERIES = tuple(f32(1 / math.factorial(n)) for n in range(8))
NEAR_ZERO = f32(0.3)  # closer to zero, 1 - exp(-2 x) would lose digits
TANH_SERIES = tuple(f32(x) for x in (-1 / 3, 2 / 15, -17 / 315, 62 / 2835))


@intrinsic
def _from_bits(context, bits):
    """Return the single-precision number with these 32 bits."""

    def make(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), make


def _exp(x: float) -> float:
    raise NotImplementedError("compiled code only")


@overload(_exp, jit_options=MATH)
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


def _tanh_from(x: float, e: float) -> float:
    raise NotImplementedError("compiled code only")


@overload(_tanh_from, jit_options=MATH)
def _tanh_from_of(x, e):
    """Compute tanh x, given also ``e = exp(-2 x)``."""

    def single(x, e):
        s = x * x
        a, b, c, d = TANH_SERIES
        near = x + x * s * (a + s * (b + s * (c + s * d)))
        far = (f32(1) - e) / (f32(1) + e)
        return near if abs(x) < NEAR_ZERO else far

    return single if x == types.float32 else lambda x, e: math.tanh(x)


@njit(**MATH)
def exp(x):
    """Compute the exponential."""
    return _exp(x)


@njit(**MATH)
def sigmoid(x):
    """Compute the logistic function."""
    one = type(x)(1)  # a plain 1 would promote to double
    return one / (one + _exp(-x))


@njit(**MATH)
def tanh(x):
    """Compute the hyperbolic tangent."""
    return _tanh_from(x, _exp(-(x + x)))


@njit(**MATH)
def larger(x, y):
    """Return the larger number, or NaN if one is NaN."""
    return x if x > y or x != x else y


@njit(**MATH)
def smaller(x, y):
    """Return the smaller number, or NaN if one is NaN."""
    return x if x < y or x != x else y


@njit(**MATH)
def share(x, y):
    """Return the derivative of the larger of x and y by x; a half if they are equal."""
    one = type(x)(1)
    return one if x > y else (one / type(x)(2) if x == y else type(x)(0))


@njit(**MATH)
def sign(x):
    """Return -1, 0 or 1."""
    return type(x)(x > 0) - type(x)(x < 0)
