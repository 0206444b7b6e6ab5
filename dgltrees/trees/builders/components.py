"""Forests of parents by row, in any order, of as many trees as there are roots."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import count, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import TreeError
from dgltrees.trees.depth import depths
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import cumcount, inverse, offsets_of, run_offsets
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["forest_of_rows", "parents_of_ids", "roots_of_rows"]

Error = Callable[[str, int], TreeError]


def parents_of_ids(
    tree: NDArray[np.int64], ids: Sequence[Hashable], parent_ids: Sequence[Hashable]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The row of each row's parent, and the first row of each id, ``(N,)`` each.

    Arguments:
        tree: ``(N,)`` the number of each row's tree; ids are unique within it.
        ids: ``(N,)`` the id of each row.
        parent_ids: ``(N,)`` the id of its parent.

    Returns:
        two arrays: the parents, -1 where no row of the tree has the id; and the first row of the
        tree that has the id of each row, which is the row itself unless the id occurs twice.
    """
    codes = dict(zip(dict.fromkeys(ids), count()))
    code = np.fromiter(map(codes.__getitem__, ids), np.int64, len(ids))
    parent_code = np.fromiter(map(codes.get, parent_ids, repeat(-1)), np.int64, len(ids))
    keys = tree * len(codes) + code
    order = keys.argsort(kind="stable")
    keys = keys[order]
    runs = run_offsets(keys)
    first = np.empty_like(order)
    first[order] = order[runs[:-1]].repeat(np.diff(runs))
    wanted = tree * len(codes) + parent_code
    place = np.minimum(keys.searchsorted(wanted), len(keys) - 1)
    known = (parent_code >= 0) & (keys[place] == wanted)
    return np.where(known, order[place], -1), first


def roots_of_rows(parent: NDArray[np.int64], error: Error) -> NDArray[np.int64]:
    """``(N,)`` the row of the root above each row.

    Arguments:
        parent: ``(N,)`` the row of each row's parent, -1 at roots.
        error: makes the error that is raised from its message and a row.

    Raises:
        TreeError: there is a cycle.
    """
    cyclic = depths(parent) < 0
    if cyclic.any():
        row = int(np.argmax(cyclic))
        raise error("expected parents that lead to a root, got a cycle at or above it", row)
    root = np.where(parent < 0, np.arange(len(parent)), parent)
    while not np.array_equal(root, root[root]):
        root = root[root]  # twice as far up
    return root


def forest_of_rows(
    parent: NDArray[np.int64],
    root: NDArray[np.int64],
    pos: NDArray[np.int64] | None = None,
    *,
    columns: Mapping[str, NDArray[Any]],
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """A forest with a tree per root, in the order of their first rows, and with nodes in row order.

    Arguments:
        parent, root: as for :func:`roots_of_rows`, and what it returns.
        pos: ``(N,)`` the positions of children, 0 at roots; by default in row order.
        columns: node data, each ``(N, ...)``.
        vocabs: see :meth:`Forest.build <dgltrees.trees.forest.Forest.build>`.

    Raises:
        TreeError: what :meth:`Forest.build <dgltrees.trees.forest.Forest.build>` raises.
    """
    _, first, tree = np.unique(root, return_index=True, return_inverse=True)
    tree = inverse(np.argsort(first))[tree]
    order = np.argsort(tree, kind="stable")
    offsets = offsets_of(np.bincount(tree))
    local = inverse(order) - offsets[tree]
    if pos is None:
        pos = np.where(parent < 0, 0, cumcount(parent))
    return Forest.build(
        np.where(parent < 0, -1, local[parent])[order],
        pos=pos[order],
        offsets=offsets,
        columns={name: column[order] for name, column in columns.items()},
        vocabs=vocabs,
    )
