"""The check that dependency trees have their root in front."""

from __future__ import annotations

import numpy as np

from dgltrees.errors import TreeError
from dgltrees.trees.forest import Forest

__all__ = ["check_roots"]


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
