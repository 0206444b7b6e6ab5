"""Shared children: leaves of a tree that stand for another node, a child of several parents.

A forest has trees only. A child that several parents share is a node below the first of them; below
the others is a *reference*, a leaf whose column :data:`SHARED` has the index of the shared child
within its tree, and -1 at ordinary nodes. A batch has no references: the edges to their parents
leave the shared children.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import TreeError
from dgltrees.trees.segments import Bools, Ints, locate

SHARED = "shared_with"
"""The node column of the shared child that a leaf stands for; never an input of a model."""


def shared_children(
    shared: NDArray[Any], child: Ints, parent: Ints, offsets: Ints, ids: Ints | None = None
) -> Ints:
    """Return the row that each row stands for: that of the shared child, or its own.

    Arguments:
        shared: ``(N,)`` the column :data:`SHARED` of some trees.
        child, parent: ``(E,)`` the rows of all nodes below roots, and of their parents.
        offsets: ``(T + 1,)`` the first row of each tree.
        ids: ``(T,)`` the numbers of the trees, for the errors; default: from 0.

    Returns:
        ``(N,)`` rows.

    Raises:
        TreeError: the column does not hold integers; or a reference has children, is below the node
            that it stands for, or does not stand for an ordinary node of its tree.
    """
    if shared.dtype.kind not in "iu" or shared.ndim != 1:
        raise TreeError(
            f"expected column {SHARED!r} to hold the node that each node stands for, or -1, got "
            f"{shared.dtype} of shape {shared.shape}; rename the column if it means something else"
        )
    sizes = np.diff(offsets)
    is_reference, rows = shared >= 0, np.arange(len(shared))
    outside = (shared < -1) | (shared >= sizes.repeat(sizes))
    target = np.where(is_reference & ~outside, shared + offsets[:-1].repeat(sizes), rows)
    has_children = np.bincount(parent, minlength=len(shared)) > 0
    for broken, rule in (
        (outside, "a node of the same tree, or -1"),
        (is_reference & is_reference[target], "another node, which is not a reference itself"),
        (is_reference & has_children, "-1 at a node with children"),
        (is_reference & in_cycle(target, child, parent), "a node that is not above this one"),
    ):
        if broken.any():
            row = int(broken.argmax())
            tree, node = locate(offsets, row)
            raise TreeError(
                f"expected column {SHARED!r} to hold {rule}, got {shared[row]}",
                tree=tree if ids is None else int(ids[tree]),
                node=node,
            )
    return target


def in_cycle(target: Ints, child: Ints, parent: Ints) -> Bools:
    """Return whether the edge from a row's shared child to its parent is in a cycle, ``(N,)``.

    Arguments:
        target: ``(N,)`` the row that each row stands for, see :func:`shared_children`.
        child, parent: ``(E,)`` the rows of all nodes below roots, and of their parents.
    """
    from scipy.sparse import coo_array  # seldom needed
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(child)), (target[child], parent)), shape=[len(target)] * 2)
    _, component = connected_components(edges, connection="strong")
    cyclic = np.zeros(len(target), np.bool_)
    cyclic[child] = component[target[child]] == component[parent]
    return cyclic


def warn_of_edge_data(names: Collection[str]) -> None:
    """Warn that the data of edges to further parents of shared children reach no model."""
    if names:
        warnings.warn(
            f"models read the edge data {', '.join(map(repr, sorted(names)))} of a shared child "
            "for the edge to its first parent only; make them data of nodes, or edge types",
            stacklevel=4,
        )
