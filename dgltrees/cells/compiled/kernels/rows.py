"""What the kernels of all Tree-LSTMs share: loops over one row, and the state's equations."""

from __future__ import annotations

from typing import Any

import numba
import torch
from numba import njit

from dgltrees.cells.compiled.kernels.vector import MATH, sigmoids, tanhs

__all__ = [
    "DOT",
    "add",
    "add_multiple",
    "add_product",
    "clear",
    "copy",
    "dot",
    "forget",
    "gates",
    "given",
    "run",
    "state",
]


DOT: dict[str, Any] = {**MATH, "fastmath": {"contract", "reassoc"}}
"""Sums in any order, without which a scalar product is no vector instruction."""


def run(kernel: Any, threads: int, arrays: tuple[Any, ...]) -> None:
    """Run a kernel with so many threads."""
    if threads == 1:
        kernel(threads, *arrays)
        return
    of_torch = torch.get_num_threads()  # they share OpenMP, which numba sets as it starts
    before = numba.get_num_threads()
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # others would only spin
    try:
        kernel(threads, *arrays)
    finally:
        numba.set_num_threads(before)
        if torch.get_num_threads() != of_torch:
            torch.set_num_threads(of_torch)


@njit(**MATH)
def clear(total):
    """Zeros."""
    for j in range(len(total)):
        total[j] = 0


@njit(**MATH)
def copy(total, x):
    """``total = x``."""
    for j in range(len(total)):
        total[j] = x[j]


@njit(**MATH)
def add(total, x):
    """``total += x``."""
    for j in range(len(total)):
        total[j] += x[j]


@njit(**MATH)
def add_product(total, x, y):
    """``total += x * y``."""
    for j in range(len(total)):
        total[j] += x[j] * y[j]


@njit(**MATH)
def add_multiple(total, factor, x):
    """``total += factor * x``."""
    for j in range(len(total)):
        total[j] += factor * x[j]


@njit(**DOT)
def dot(x, y):
    """The scalar product."""
    total = x.dtype.type(0)
    for j in range(len(x)):
        total += x[j] * y[j]
    return total


@njit(**MATH)
def state(a, c, h, bits):
    """Gates in place of their pre-activations, then memory and state of a node."""
    size = len(h)
    i, o, u = a[:size], a[size : 2 * size], a[2 * size :]
    sigmoids(a[: 2 * size], bits)
    tanhs(u, h, bits)
    for j in range(size):
        u[j] = h[j]
        c[j] += i[j] * u[j]
    tanhs(c, h, bits)
    for j in range(size):
        h[j] *= o[j]


@njit(**MATH)
def gates(a, t, dh, dc, da):
    """Of memory and pre-activations of a node, from those of its state."""
    size = len(t)
    i, o, u = a[:size], a[size : 2 * size], a[2 * size :]
    di, do, du = da[:size], da[size : 2 * size], da[2 * size :]
    for j in range(size):
        dc[j] += dh[j] * (o[j] - o[j] * t[j] * t[j])
        di[j] = dc[j] * u[j] * (i[j] - i[j] * i[j])
        do[j] = dh[j] * t[j] * (o[j] - o[j] * o[j])
        du[j] = dc[j] * (i[j] - i[j] * u[j] * u[j])


@njit(**MATH)
def given(total, grads, node):
    """The gradient that a node's state gets from outside, none if ``grads`` is empty."""
    if len(grads):
        copy(total, grads[node])
    else:
        clear(total)


@njit(**MATH)
def forget(f, c, dk, df, dc):
    """Of a forget gate's pre-activation and its child's memory, from the parent's memory's."""
    for j in range(len(f)):
        df[j] = dk[j] * c[j] * (f[j] - f[j] * f[j])
        dc[j] += dk[j] * f[j]
