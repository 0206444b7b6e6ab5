"""The levels of a Tree-LSTM that sums over children, forwards and backwards, as machine code.

Tables and equations are those of :mod:`dgltrees.cells.compiled.fused_lstm`; a test checks that
both agree. A thread takes a shard of trees from its leaves to its
roots, and in the backward pass as far as the gradients of the weights, before it takes the next.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import njit, prange

from dgltrees.cells.compiled.kernels.blas import (
    multiply,
    multiply_by_transposed,
    multiply_transposed,
    scratch,
)
from dgltrees.cells.compiled.kernels.library import sources
from dgltrees.cells.compiled.kernels.rows import (
    add,
    add_product,
    clear,
    copy,
    forget,
    gates,
    outside_gradient,
    run,
    state,
)
from dgltrees.cells.compiled.kernels.vector import MATH, sigmoids, tanhs

__all__ = ["backward", "forward"]


def forward(threads: int, *arrays: Any) -> None:
    """Run ``up`` of :func:`_kernels` with so many threads."""
    run(_kernels(threads > 1)[0], threads, arrays)


def backward(threads: int, *arrays: Any) -> None:
    """Run ``down`` of :func:`_kernels` with so many threads."""
    run(_kernels(threads > 1)[1], threads, arrays)


@cache
def _kernels(parallel: bool) -> tuple[Any, Any]:
    """Compile ``up`` and ``down`` for a single thread, or for several."""
    stamp = 2 * sources() + parallel + 1

    @njit(parallel=parallel, cache=True, **MATH)
    def up(threads, plan, inputs, weights, tables, out):
        """Fill ``tables`` = (A, F, C, H, S), of the rows, and ``out`` = (h, c), of the nodes.

        ``plan`` is (levels, parts, shards, inner, order, parent, node_rows, parent_rows, types);
        ``inputs`` are (wx, wx_f, b_f), the last two empty if there are none; ``weights`` are (U,
        U_f).
        """
        assert stamp  # part of the key of numba's cache
        shards = len(plan[2]) - 1
        for thread in prange(threads):
            for shard in range(np.int64(thread), shards, threads):
                _up(shard, plan, inputs, weights, tables, out)

    @njit(parallel=parallel, cache=True, **MATH)
    def down(threads, plan, grads, weights, tables, spaces, totals):
        """Add to each thread's ``totals`` = (dwx, dwx_f, db_f, dU, dU_f).

        ``grads`` are the gradients of the nodes' states and memories from outside, or empty;
        ``weights`` are (U, U_f); ``spaces`` has a row of memory for each thread, for the gradients
        of a shard's tables.
        """
        assert stamp
        shards = len(plan[2]) - 1
        for thread in prange(threads):
            t = np.int64(thread)
            for shard in range(t, shards, threads):
                _down(shard, t, plan, grads, weights, tables, spaces[t], totals)

    return up, down


@njit(**MATH)
def _up(shard, plan, inputs, weights, tables, out):
    levels, parts, shards, inner, order, parent, node_rows, parent_rows, types = plan
    (wx, wx_f, b_f), (U, U_f), (A, F, C, H, S) = inputs, weights, tables
    if shards[shard] == shards[shard + 1]:
        return
    size, summed = H.shape[1], len(S) > 0
    first, last = levels[shards[shard]], levels[shards[shard + 1] - 1]
    shift = first[1] - inner[shard]  # row v of the tables is row v - shift of S
    space = scratch(H)
    more = np.empty((0 if summed else _widest(shard, plan), 3 * size), H.dtype)
    for v in range(first[0], last[1]):
        _write_inputs(A[v], F[v], wx[node_rows[v]], wx_f, parent_rows[v], b_f, types[v])
        clear(C[v])
    if summed:
        for v in range(first[1], last[1]):
            clear(S[v - shift])
    for level in range(shards[shard], shards[shard + 1]):
        start, stop, begin, end = levels[level]
        if summed and start >= first[1]:
            multiply(S[start - shift : stop - shift], U[0], A[start:stop], 1.0, space)
        for v in range(start, stop):
            state(A[v], C[v], H[v])
            copy(out[0][order[v]], H[v])
            copy(out[1][order[v]], C[v])
        for p in range(begin, end):
            kind, low, high = parts[p]
            multiply(H[low:high], U_f[kind], F[low:high], 1.0, space)
            if not summed:
                multiply(H[low:high], U[kind], more[: high - low], 0.0, space)
            for v in range(low, high):
                sigmoids(F[v])
                add_product(C[parent[v]], F[v], C[v])
                if summed:
                    add(S[parent[v] - shift], H[v])
                else:
                    add(A[parent[v]], more[v - low])


@njit(**MATH)
def _write_inputs(a, f, wx, wx_f, parent_rows, b_f, kind):
    """Write the inputs' and biases' part of the pre-activations of a node."""
    copy(a, wx)
    if len(wx_f):
        copy(f, wx_f[parent_rows])
    else:
        clear(f)
    if len(b_f):
        add(f, b_f[kind])


@njit(**MATH)
def _widest(shard, plan):
    """The number of rows of the widest level of a shard."""
    levels, shards, rows = plan[0], plan[2], 0
    for level in range(shards[shard], shards[shard + 1]):
        rows = max(rows, levels[level][1] - levels[level][0])
    return rows


@njit(**MATH)
def _down(shard, thread, plan, grads, weights, tables, memory, totals):
    levels, parts, shards, _, order, parent, _, _, _ = plan
    (U, U_f), (A, F, C, H, S) = weights, tables
    if shards[shard] == shards[shard + 1]:
        return
    size, summed = H.shape[1], len(S) > 0
    first, last = levels[shards[shard]], levels[shards[shard + 1] - 1]
    base, leaves, rows = first[0], first[1] - first[0], last[1] - first[0]
    dA, dF, dC, dH, dS = _cut(memory, rows, 0 if summed else _widest(shard, plan), size)
    for v in range(rows):
        clear(dF[v])
        outside_gradient(dH[v], grads[0], order[base + v])
        outside_gradient(dC[v], grads[1], order[base + v])
    space, t = scratch(H), np.empty(size, H.dtype)
    for level in range(shards[shard + 1] - 1, shards[shard] - 1, -1):
        start, stop, begin, end = levels[level]
        for p in range(begin, end):
            kind, low, high = parts[p]
            for v in range(low, high):
                up, w = parent[v] - base, v - base
                forget(F[v], C[v], dC[up], dF[w], dC[w])
                if summed:
                    add(dH[w], dS[up])
                else:
                    copy(dS[v - low], dA[up])
            dh = dH[low - base : high - base]
            multiply_by_transposed(dF[low - base : high - base], U_f[kind], dh, 1.0, space)
            if not summed:
                multiply_by_transposed(dS[: high - low], U[kind], dh, 1.0, space)
        for v in range(start, stop):
            tanhs(C[v], t)
            gates(A[v], t, dH[v - base], dC[v - base], dA[v - base])
        if summed and start >= first[1]:
            low, high = start - base, stop - base
            multiply_by_transposed(dA[low:high], U[0], dS[low:high], 0.0, space)
    _collect(shard, thread, plan, tables, dA, dF, dS, leaves, totals, space)


@njit(**MATH)
def _cut(memory, rows, widest, size):
    """Cut memory into dA, dF, dC, dH and dS; with gathered gates dS is (widest, 3 c)."""
    dA = memory[: 3 * rows * size].reshape(rows, 3 * size)
    rest = memory[3 * rows * size :]
    dF, dC, dH = (
        rest[: rows * size].reshape(rows, size),
        rest[rows * size : 2 * rows * size].reshape(rows, size),
        rest[2 * rows * size : 3 * rows * size].reshape(rows, size),
    )
    rest = rest[3 * rows * size :]
    if widest:
        return dA, dF, dC, dH, rest[: 3 * widest * size].reshape(widest, 3 * size)
    return dA, dF, dC, dH, rest[: rows * size].reshape(rows, size)


@njit(**MATH)
def _collect(shard, thread, plan, tables, dA, dF, dS, leaves, totals, space):
    """Add a shard's part of the gradients of inputs, biases and weights."""
    levels, parts, shards, inner, _, parent, node_rows, parent_rows, types = plan
    (_, _, _, H, S), (dwx, dwx_f, db_f, dU, dU_f) = tables, totals
    base, rows = levels[shards[shard]][0], len(dA)
    to_wx, to_wx_f = dwx[thread % len(dwx)], dwx_f[thread % len(dwx_f)]
    for v in range(rows):
        add(to_wx[node_rows[base + v]], dA[v])
        if to_wx_f.shape[0]:
            add(to_wx_f[parent_rows[base + v]], dF[v])
        if db_f.shape[1]:
            add(db_f[thread, types[base + v]], dF[v])
    if len(S):  # one type; roots have no forget gate, and its gradient is zero
        sums = S[inner[shard] : inner[shard + 1]]
        multiply_transposed(sums, dA[leaves:], dU[thread, 0], space)
        multiply_transposed(H[base : base + rows], dF, dU_f[thread, 0], space)
        return
    for level in range(shards[shard], shards[shard + 1]):
        for p in range(levels[level][2], levels[level][3]):
            kind, low, high = parts[p]
            for v in range(low, high):
                copy(dS[v - low], dA[parent[v] - base])
            below = H[low:high]
            multiply_transposed(below, dS[: high - low], dU[thread, kind], space)
            multiply_transposed(below, dF[low - base : high - base], dU_f[thread, kind], space)
