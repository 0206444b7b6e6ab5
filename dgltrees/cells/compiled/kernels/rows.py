"""Functions of one row shared by the kernels of all Tree-LSTMs, and the equations of a node."""

from __future__ import annotations

from typing import Any

import numba
import torch
from numba import njit

from dgltrees.cells.compiled.kernels.announce import announce_compiling
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
    "outside_gradient",
    "run",
    "state",
]


DOT: dict[str, Any] = {**MATH, "fastmath": {"contract", "reassoc"}}
"""Lets sums run in any order, as vector instructions for a scalar product need."""


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
    """The scalar product of two rows."""
    total = x.dtype.type(0)
    for j in range(len(x)):
        total += x[j] * y[j]
    return total


@njit(**MATH)
def state(a, c, h):
    """Turn a node's pre-activations into gates, in place; write its memory and its state."""
    size = len(h)
    i, o, u = a[:size], a[size : 2 * size], a[2 * size :]
    sigmoids(a[: 2 * size])
    tanhs(u, h)
    for j in range(size):
        u[j] = h[j]
        c[j] += i[j] * u[j]
    tanhs(c, h)
    for j in range(size):
        h[j] *= o[j]


@njit(**MATH)
def gates(a, t, dh, dc, da):
    """The gradients of a node's memory and pre-activations, from those of its state."""
    size = len(t)
    i, o, u = a[:size], a[size : 2 * size], a[2 * size :]
    di, do, du = da[:size], da[size : 2 * size], da[2 * size :]
    for j in range(size):
        dc[j] += dh[j] * (o[j] - o[j] * t[j] * t[j])
        di[j] = dc[j] * u[j] * (i[j] - i[j] * i[j])
        do[j] = dh[j] * t[j] * (o[j] - o[j] * o[j])
        du[j] = dc[j] * (i[j] - i[j] * u[j] * u[j])


@njit(**MATH)
def outside_gradient(total, grads, node):
    """``total = grads[node]``, or zeros if ``grads`` is empty."""
    if len(grads):
        copy(total, grads[node])
    else:
        clear(total)


@njit(**MATH)
def forget(f, c, dk, df, dc):
    """The gradients of a forget gate's pre-activation and the child's memory, from ``dk``."""
    for j in range(len(f)):
        df[j] = dk[j] * c[j] * (f[j] - f[j] * f[j])
        dc[j] += dk[j] * f[j]
