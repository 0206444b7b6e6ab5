"""What the code of the compiler calls: functions of one number, and of rows and matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, prange

from dgltrees.cells.compiled.kernels.blas import (
    multiply,
    multiply_by_transposed,
    multiply_transposed,
    scratch,
)
from dgltrees.cells.compiled.kernels.rows import add, clear, copy, outside_gradient
from dgltrees.cells.compiled.kernels.vector import MATH, exp, sigmoid, tanh

__all__ = [
    "LOOPS",
    "MATH",
    "add",
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
