"""The shape of the trees to draw: who hangs under whom, in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Skeleton"]


@dataclass(frozen=True)
class Skeleton:
    """Trees as lists, for code that walks them node by node.

    Arguments:
        parent: ``n`` parents as indices among all nodes, -1 at a root.
        pos: ``n`` child positions.
        children: ``n`` lists, the children of each node in the order of their positions.
        preorder: ``n`` nodes, tree after tree, each before its children.
        depth: ``n`` edges between each node and its root.
        roots: the root of each tree.
    """

    parent: list[int]
    pos: list[int]
    children: list[list[int]]
    preorder: list[int]
    depth: list[int]
    roots: list[int]

    @classmethod
    def of(cls, parent: NDArray[np.integer[Any]], pos: NDArray[np.integer[Any]]) -> Skeleton:
        """The skeleton of trees given by the parents and positions of their nodes, both ``(n,)``.

        Linear in nodes and without recursion, whatever the depth.
        """
        children: list[list[int]] = [[] for _ in range(len(parent))]
        up = parent.tolist()
        for node in np.lexsort((pos, parent)).tolist():
            if up[node] >= 0:
                children[up[node]].append(node)
        roots = np.flatnonzero(parent < 0).tolist()
        depth = [0] * len(up)
        preorder: list[int] = []
        waiting = roots[::-1]
        while waiting:
            node = waiting.pop()
            preorder.append(node)
            below = depth[node] + 1
            for child in reversed(children[node]):
                depth[child] = below
                waiting.append(child)
        return cls(up, pos.tolist(), children, preorder, depth, roots)

    def __len__(self) -> int:
        return len(self.parent)

    def tree_of_node(self) -> list[int]:
        """``n`` trees: which one each node is in."""
        trees = [0] * len(self)
        tree = -1
        for node in self.preorder:
            tree += self.parent[node] < 0
            trees[node] = tree
        return trees

    def has_gaps(self, node: int) -> bool:
        """Whether the children of ``node`` are not at the positions 0, 1, 2 and so on."""
        children = self.children[node]
        return bool(children) and self.pos[children[-1]] != len(children) - 1
