"""The structure of the trees to draw: parents, ordered children, depths and a drawing order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """Trees as Python lists, for code that walks them node by node.

    Arguments:
        parent: ``n`` indices of parents among all nodes, -1 at a root.
        pos: ``n`` child positions.
        children: ``n`` lists, the children of each node in the order of their positions.
        preorder: ``n`` nodes, tree after tree, each before its children.
        depth: ``n`` numbers of edges between each node and its root.
        roots: the root of each tree.
    """

    parent: list[int]
    pos: list[int]
    children: list[list[int]]
    preorder: list[int]
    depth: list[int]
    roots: list[int]

    @classmethod
    def of(cls, parent: NDArray[np.integer[Any]], pos: NDArray[np.integer[Any]]) -> Layout:
        """The layout of trees from the parents and positions of their nodes, both ``(n,)``.

        Linear in the number of nodes and iterative, so trees may have any depth.
        """
        children: list[list[int]] = [[] for _ in range(len(parent))]
        parents = parent.tolist()
        for node in np.lexsort((pos, parent)).tolist():
            if parents[node] >= 0:
                children[parents[node]].append(node)
        roots = np.flatnonzero(parent < 0).tolist()
        depth = [0] * len(parents)
        preorder: list[int] = []
        stack = roots[::-1]
        while stack:
            node = stack.pop()
            preorder.append(node)
            for child in reversed(children[node]):
                depth[child] = depth[node] + 1
                stack.append(child)
        return cls(parents, pos.tolist(), children, preorder, depth, roots)

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.parent)

    def trees(self) -> list[list[int]]:
        """The nodes of each tree, in preorder."""
        trees: list[list[int]] = []
        for node in self.preorder:
            if self.parent[node] < 0:
                trees.append([])
            trees[-1].append(node)
        return trees

    def has_gaps(self, node: int) -> bool:
        """Whether a child of ``node`` is missing before another: a position is skipped."""
        children = self.children[node]
        return bool(children) and self.pos[children[-1]] != len(children) - 1
