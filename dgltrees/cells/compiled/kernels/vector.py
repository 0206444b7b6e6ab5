"""Exponentials of whole rows, written so that a compiler makes vector instructions of them.

In single precision ``exp(x) = 2^k exp(r)`` with ``x = k ln 2 + r`` and ``|r| <= ln 2 / 2``, where
eight terms of the power series of exp(r) are exact to rounding; 2^k is made of its bits. In double
precision, which is for tests rather than for training, the functions of the C library are called.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload

__all__ = ["MATH", "sigmoids", "tanhs"]

MATH: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}
"""No check for division by zero, which would prevent vectorisation, and fused multiply-adds."""

f32 = np.float32
LOG2_E, LN2_HIGH, LN2_LOW = f32(1 / math.log(2)), f32(0.693359375), f32(math.log(2) - 0.693359375)
ROUND = f32(1.5 * 2**23)  # adding it rounds to an integer
LOWEST, HIGHEST = f32(-87), f32(88)
SERIES = tuple(f32(1 / math.factorial(n)) for n in range(8))
NEAR_ZERO = f32(0.3)  # closer to zero, 1 - exp(-2 x) would lose digits
TANH_SERIES = tuple(f32(x) for x in (-1 / 3, 2 / 15, -17 / 315, 62 / 2835))


def _exp(x: Any, bits: Any) -> None:
    raise NotImplementedError("compiled code only")


@overload(_exp, jit_options=MATH)
def _exp_of(x, bits):
    """The exponential of a row, in place; ``bits`` is an int32 row of the same length."""

    def single(x, bits):
        for j in range(len(x)):
            v = x[j]
            v = HIGHEST if v > HIGHEST else v  # in this order NaN stays what it is
            v = LOWEST if v < LOWEST else v
            k = (v * LOG2_E + ROUND) - ROUND
            r = (v - k * LN2_HIGH) - k * LN2_LOW
            p = SERIES[6] + r * SERIES[7]
            p = SERIES[4] + r * (SERIES[5] + r * p)
            p = SERIES[2] + r * (SERIES[3] + r * p)
            x[j] = SERIES[0] + r * (SERIES[1] + r * p)
            bits[j] = (np.int32(k) + 127) << 23
        scale = bits.view(np.float32)
        for j in range(len(x)):
            x[j] *= scale[j]

    def double(x, bits):
        for j in range(len(x)):
            x[j] = math.exp(x[j])

    return single if x.dtype == types.float32 else double


def _tanh_from(x: float, e: float) -> float:
    raise NotImplementedError("compiled code only")


@overload(_tanh_from, jit_options=MATH)
def _tanh_from_of(x, e):
    """tanh x, given also ``e = exp(-2 x)``."""

    def single(x, e):
        s = x * x
        a, b, c, d = TANH_SERIES
        near = x + x * s * (a + s * (b + s * (c + s * d)))
        far = (f32(1) - e) / (f32(1) + e)
        return near if abs(x) < NEAR_ZERO else far

    return single if x == types.float32 else lambda x, e: math.tanh(x)


@njit(**MATH)
def sigmoids(a: Any, bits: Any) -> None:
    """The logistic function of a row, in place."""
    for j in range(len(a)):
        a[j] = -a[j]
    _exp(a, bits)
    unit = a.dtype.type(1)  # a plain 1 would promote to double
    for j in range(len(a)):
        a[j] = unit / (unit + a[j])


@njit(**MATH)
def tanhs(x: Any, out: Any, bits: Any) -> None:
    """The hyperbolic tangent of a row."""
    for j in range(len(x)):
        out[j] = -(x[j] + x[j])
    _exp(out, bits)
    for j in range(len(x)):
        out[j] = _tanh_from(x[j], out[j])
