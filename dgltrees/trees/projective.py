"""Projectivity of dependency trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import TreeError
from dgltrees.trees.forest import Forest
from dgltrees.trees.subtrees import over_subtrees

__all__ = ["check_roots", "is_projective"]


def is_projective(forest: Forest) -> NDArray[np.bool_]:
    """Whether each dependency tree is projective, ``(T,)``: no subtree has gaps.

    Arguments:
        forest: a dependency forest.

    Raises:
        TreeError: node 0 of a tree is not its root.
    """
    check_roots(forest)
    up, index = forest.global_parent, np.arange(forest.num_nodes)
    first = over_subtrees(np.minimum, index, up)
    last = over_subtrees(np.maximum, index, up)
    size = over_subtrees(np.add, np.ones_like(index), up)
    if len(forest) == 0:
        return np.zeros(0, bool)
    return np.logical_and.reduceat(last - first + 1 == size, forest.offsets[:-1])


def check_roots(forest: Forest) -> None:
    """Check that node 0 of each tree is its root.

    Raises:
        TreeError: another node is the root.
    """
    wrong = forest.parent[forest.offsets[:-1]] >= 0
    if wrong.any():
        raise TreeError(
            "expected a dependency tree, whose node 0 is ROOT, got another root; "
            "read it with a reader of dependencies, or build it with from_heads",
            tree=int(np.argmax(wrong)),
        )
