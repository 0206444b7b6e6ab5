"""Trees as text, with a string before and a string after the children of each node.

A walk that enters and leaves every node writes 2 N strings. The string of entering node v has the
index ``2 * rank(v) - depth(v)``, where the rank is its place in preorder: before it all nodes of
lower rank were entered and all of these but its ancestors left. The string of leaving v comes
``2 * size(v) - 1`` later, where the size is that of its subtree.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike

from dgltrees.trees.forest import Forest
from dgltrees.trees.preorder import preorder

__all__ = ["render"]


def render(forest: Forest, enter: ArrayLike, leave: ArrayLike) -> list[str]:
    """One text per tree, with children in the order of their positions.

    Arguments:
        forest: the trees, with nodes in any order.
        enter: ``(N,)`` the string before the children of each node.
        leave: ``(N,)`` the string after them.
    """
    ranks, sizes = preorder(forest)
    entered = 2 * ranks - forest.depth
    pieces = np.empty(2 * forest.num_nodes, object)
    pieces[entered] = enter
    pieces[entered + 2 * sizes - 1] = leave
    cuts = (2 * forest.offsets).tolist()
    return ["".join(pieces[a:b]) for a, b in itertools.pairwise(cuts)]
