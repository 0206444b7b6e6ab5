"""The label-dependent HOSVD Tree-LSTM as machine code, node after node.

Equations (10) to (13) of Castellana and Bacciu; a test checks that the results equal those of
:mod:`dgltrees.cells.compiled.fused_tensor`. With ranks as small as the paper's a node is a few
thousand products, all within the cache, so that batching the nodes gains nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import njit, prange

from dgltrees.cells.compiled.kernels.library import sources
from dgltrees.cells.compiled.kernels.rows import (
    add,
    add_multiple,
    add_product,
    clear,
    copy,
    dot,
    forget,
    gates,
    outside_gradient,
    run,
    state,
)
from dgltrees.cells.compiled.kernels.vector import MATH, sigmoids, tanhs

__all__ = ["backward", "forward"]

GATES = 3


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
    def up(threads, plan, a, weights, tables):
        """Fill ``tables`` = (A, Z, H, C), all in the order of the nodes.

        ``plan`` is (bounds, order, children, op, number); ``a`` are the leaves' pre-activations;
        ``weights`` are (M, b_M, core, Q, b), where M is [U | U^f] and b_M their biases. Z holds for
        each child u_j of all gates, and then its forget gate.
        """
        assert stamp  # part of the key of numba's cache
        for thread in prange(threads):
            _up(np.int64(thread), plan, a, weights, tables)

    @njit(parallel=parallel, cache=True, **MATH)
    def down(threads, plan, grads, weights, tables, dH, dC, totals):
        """Add to each thread's ``totals`` = (dM, db_M, dcore, dQ, db), and fill ``totals[5]`` = da.

        ``grads`` are the gradients of the nodes' states and memories from outside, or empty;
        ``dH`` and ``dC`` are memory for their totals.
        """
        assert stamp
        for thread in prange(threads):
            _down(np.int64(thread), plan, grads, weights, tables, dH, dC, totals)

    return up, down


@njit(**MATH)
def _up(shard, plan, a, weights, tables):
    bounds, order, children, op, number = plan
    (M, b_M, core, Q, b), (A, Z, H, C) = weights, tables
    size, L = H.shape[1], children.shape[1]
    space = np.empty(_room(core, Q), H.dtype)
    for v in order[bounds[shard] : bounds[shard + 1]]:
        clear(C[v])
        if op[v] < 0:
            copy(A[v], a[number[v]])
        else:
            z, k = Z[number[v]], op[v]
            for j in range(L):
                child = children[v, j]
                copy(z[j], b_M[k, j])
                if child >= 0:
                    for i in range(size):
                        add_multiple(z[j], H[child, i], M[k, j, i])
                    f = z[j, len(z[j]) - size :]
                    sigmoids(f)
                    add_product(C[v], f, C[child])
            for g in range(GATES):
                a_g = A[v, g * size : (g + 1) * size]
                copy(a_g, b[k, g])
                _expand(a_g, _contract(core[k, g], z, g, Q.shape[2], space), Q[k, g])
        state(A[v], C[v], H[v])


@njit(**MATH)
def _room(core, Q):
    """The numbers that all steps of the contraction of a core need."""
    r, size, room = Q.shape[2], core.shape[2] * core.shape[3], 0
    while size > r:
        size //= r + 1
        room += size
    return room


@njit(**MATH)
def _contract(core, z, gate, r, space):
    """``G(u_1, .., u_L)`` for homogeneous factors; all partial results stay in ``space``."""
    source, size, place = core.reshape(core.size), core.size, 0
    for j in range(len(z)):
        size //= r + 1
        partial = space[place : place + size]
        copy(partial, source[r * size : (r + 1) * size])
        for i in range(r):
            add_multiple(partial, z[j, gate * r + i], source[i * size : (i + 1) * size])
        source, place = partial, place + size
    return source


@njit(**MATH)
def _expand(a, g, Q):
    """``a += Q g``."""
    for i in range(len(g)):
        add_multiple(a, g[i], Q[i])


@njit(**MATH)
def _down(shard, plan, grads, weights, tables, dH, dC, totals):
    bounds, order, children, op, number = plan
    (M, _, core, Q, _), (A, Z, H, C) = weights, tables
    size, L = H.shape[1], children.shape[1]
    space, dspace = np.empty(_room(core, Q), H.dtype), np.empty(_room(core, Q), H.dtype)
    t, da = np.empty(size, H.dtype), np.empty(3 * size, H.dtype)
    dz, nodes = np.empty((L, M.shape[3]), H.dtype), order[bounds[shard] : bounds[shard + 1]]
    for v in nodes:
        outside_gradient(dH[v], grads[0], v)
        outside_gradient(dC[v], grads[1], v)
    for v in nodes[::-1]:
        tanhs(C[v], t)
        gates(A[v], t, dH[v], dC[v], da)
        if op[v] < 0:
            copy(totals[5][number[v]], da)
            continue
        z, k = Z[number[v]], op[v]
        for g in range(GATES):
            da_g = da[g * size : (g + 1) * size]
            add(totals[4][shard, k, g], da_g)
            partial = _contract(core[k, g], z, g, Q.shape[2], space)
            dcore, dQ = totals[2][shard, k, g], totals[3][shard, k, g]
            _contract_backward(
                core[k, g], z, dz, g, da_g, partial, Q[k, g], dQ, dcore, space, dspace
            )
        for j in range(L):
            dM = totals[0][shard, k, j]
            _to_child(children[v, j], z[j], dz[j], M[k, j], H, C, dC[v], dH, dC, dM)
            add(totals[1][shard, k, j], dz[j])


@njit(**MATH)
def _contract_backward(core, z, dz, gate, da, g, Q, dQ, dcore, space, dspace):
    """Write the gradients of the factors to ``dz``, and add those of core and Q, for one gate."""
    r, L = len(g), len(z)
    place = len(space) - r
    above = dspace[place:]
    for i in range(r):
        above[i] = dot(Q[i], da)
        add_multiple(dQ[i], g[i], da)
    size = r
    for j in range(L - 1, -1, -1):
        if j:
            below = (r + 1) * size
            source, into = space[place - below : place], dspace[place - below : place]
            place -= below
            copy(into[r * size :], above)
        else:
            source, into = core.reshape(core.size), dcore.reshape(dcore.size)
            add(into[r * size :], above)
        for i in range(r):
            rows = slice(i * size, (i + 1) * size)
            dz[j, gate * r + i] = dot(source[rows], above)
            if j:
                clear(into[rows])
            add_multiple(into[rows], z[j, gate * r + i], above)
        above, size = into, (r + 1) * size


@njit(**MATH)
def _to_child(child, z, dz, M, H, C, dc, dH, dC, dM):
    """Add the gradients of a child's state and memory, and of M, given those of z and c."""
    size = H.shape[1]
    low = len(z) - size
    if child < 0:
        clear(dz[low:])
        return
    forget(z[low:], C[child], dc, dz[low:], dC[child])
    for i in range(size):
        dH[child, i] += dot(M[i], dz)
        add_multiple(dM[i], H[child, i], dz)
