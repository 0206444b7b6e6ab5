"""Where the nodes of trees are in a picture.

The horizontal positions follow E. M. Reingold and J. S. Tilford, Tidier Drawings of Trees, IEEE
Transactions on Software Engineering 7(2), 1981: nodes of one depth are on one line and do not
overlap, children are in order, a parent is centred above its first and last child, and equal
subtrees are drawn alike. The subtrees of a node are pushed together until their contours
touch. Pushing to the left only would bunch small subtrees at one side; so the trees are laid out
twice, once as they are and once mirrored, and the mean of both is taken. All rules are linear
in the coordinates, so the mean keeps them, and the mirror image of a tree is drawn as the mirror
image of its drawing.

Joining two contours costs the depth of the flatter one, which makes a drawing linear in its nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dgltrees.draw.labels import Labels
from dgltrees.draw.svg import BADGE, DETAIL, LABEL, LINE_HEIGHT, MARGIN, TITLE, text_width
from dgltrees.errors import TreeError

__all__ = [
    "PADDING",
    "TEXT_MARGIN",
    "Box",
    "Canvas",
    "Layout",
    "Positions",
    "badge_width",
    "shown_positions",
    "text_lines",
    "tidy_positions",
]

Positions = Literal["all", "none", "auto"]
"""Which edges of a drawing show the position of a child."""


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


def shown_positions(layout: Layout, mode: Positions) -> list[int | None]:
    """The child position that each node shows; in mode ``"auto"`` only if a sibling is missing."""
    if mode not in get_args(Positions):
        raise TreeError(f"expected positions to be 'all', 'none' or 'auto', got {mode!r}")
    positions: list[int | None] = [None] * len(layout)
    for node, children in enumerate(layout.children):
        if mode == "all" or (mode == "auto" and layout.has_gaps(node)):
            for child in children:
                positions[child] = layout.pos[child]
    return positions


class _Contour:
    """The left and right border of a subtree at each depth, deepest first.

    The coordinates are relative to ``base``, so that a subtree moves in constant time.
    """

    __slots__ = ("base", "left", "right")

    def __init__(self) -> None:
        self.base = 0.0
        self.left: list[float] = []
        self.right: list[float] = []

    def distance(self, other: _Contour) -> float:
        """The distance by which ``other`` must move to the right to touch this contour."""
        depth = min(len(self.left), len(other.left))
        overlap = max(self.right[-k] - other.left[-k] for k in range(1, depth + 1))
        return overlap + self.base - other.base

    def join(self, other: _Contour) -> _Contour:
        """The contour of both, ``other`` on the right; it reuses the lists of the deeper one."""
        depth = min(len(self.left), len(other.left))
        if len(self.left) >= len(other.left):
            shift = other.base - self.base
            for k in range(1, depth + 1):
                self.right[-k] = other.right[-k] + shift
            return self
        shift = self.base - other.base
        for k in range(1, depth + 1):
            other.left[-k] = self.left[-k] + shift
        return other


def tidy_positions(layout: Layout, widths: Sequence[float], gap: float) -> list[float]:
    """The horizontal middle of every node, with the root of each tree at 0.

    Arguments:
        layout: the trees, each placed separately.
        widths: the width of each node.
        gap: the least free space between two nodes of one depth.
    """
    left_packed = _packed(layout, widths, gap, mirror=False)
    right_packed = _packed(layout, widths, gap, mirror=True)
    return [(left - right) / 2 for left, right in zip(left_packed, right_packed)]


def _packed(layout: Layout, widths: Sequence[float], gap: float, mirror: bool) -> list[float]:
    """Positions with subtrees pushed to the left, of the trees or of their mirror images."""
    contours: list[_Contour] = [_Contour()] * len(layout)
    x = [0.0] * len(layout)  # relative to the parent, until the last loop
    for node in reversed(layout.preorder):
        children = layout.children[node]
        for child in reversed(children) if mirror else children:
            subtree = contours[child]
            if child == (children[-1] if mirror else children[0]):
                contour = subtree
                continue
            x[child] = contour.distance(subtree) + gap
            subtree.base += x[child]
            contour = contour.join(subtree)
        if children:
            middle = max(x[children[0]], x[children[-1]]) / 2
            for child in children:
                x[child] -= middle
            contour.base -= middle
        else:
            contour = _Contour()
        contour.left.append(-widths[node] / 2 - contour.base)
        contour.right.append(widths[node] / 2 - contour.base)
        contours[node] = contour
    for node in layout.preorder:
        if layout.parent[node] >= 0:
            x[node] += x[layout.parent[node]]
    return x


PADDING = 4.0  # above and below the texts in a node's box
TEXT_MARGIN = 9.0  # left and right of a text in its box
_GAP = 12.0  # between two boxes of one depth
_TREE_GAP = 36.0  # between trees
_MAX_WIDTH = 960.0  # trees are side by side up to this width


@dataclass(frozen=True)
class Box:
    """The rectangle of a node: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """The horizontal middle."""
        return self.x + self.width / 2


@dataclass(frozen=True)
class Canvas:
    """The positions of all nodes and titles of a drawing.

    Arguments:
        boxes: one box per node.
        titles: the left end and the base line of each tree's title.
        width, height: the size of the canvas.
    """

    boxes: list[Box]
    titles: list[tuple[float, float]]
    width: float
    height: float

    @classmethod
    def of(cls, layout: Layout, labels: Labels) -> Canvas:
        """Place all trees, in time linear in the number of nodes."""
        sizes = [_size(name, detail) for name, detail in zip(labels.names, labels.details)]
        slots = [
            size[0] if position is None else max(size[0], badge_width(position))
            for size, position in zip(sizes, labels.positions)
        ]
        middles = tidy_positions(layout, slots, _GAP)
        boxes = [Box(0, 0, 0, 0)] * len(layout)
        titles: list[tuple[float, float]] = []
        left = top = MARGIN
        width = height = bottom = 0.0
        for nodes, title in zip(layout.trees(), labels.titles):
            leftmost = min(middles[v] - slots[v] / 2 for v in nodes)
            tree_width = max(middles[v] + slots[v] / 2 for v in nodes) - leftmost
            tree_width = max(tree_width, text_width(title or "", TITLE))
            if left > MARGIN and left + tree_width > _MAX_WIDTH:
                left, top = MARGIN, bottom + _TREE_GAP
            tree_top = top + (LINE_HEIGHT[TITLE] if title else 0.0)
            levels, tree_height = _levels(layout, nodes, middles, [size[1] for size in sizes])
            for v in nodes:
                box_width, box_height = sizes[v]
                x = left + middles[v] - leftmost - box_width / 2
                y = tree_top + levels[layout.depth[v]] - box_height / 2
                boxes[v] = Box(x, y, box_width, box_height)
            titles.append((left, top + TITLE))
            bottom = max(bottom, tree_top + tree_height)
            width, height = max(width, left + tree_width), max(height, bottom)
            left += tree_width + _TREE_GAP
        return cls(boxes, titles, width + MARGIN, height + MARGIN)


def badge_width(position: int) -> float:
    """The width of the badge with a child's position."""
    return max(13.0, text_width(str(position), BADGE) + 6)


def text_lines(name: tuple[str, ...], detail: str) -> list[tuple[str, float]]:
    """The lines of text in a node's box with their font sizes."""
    lines = [(part, LABEL) for part in name]
    return [*lines, (detail, DETAIL if lines else LABEL)] if detail else lines


def _size(name: tuple[str, ...], detail: str) -> tuple[float, float]:
    """Width and height of a node's box; the width is at least the height."""
    lines = text_lines(name, detail)
    height = 2 * PADDING + sum(LINE_HEIGHT[size] for _, size in lines)
    width = 2 * TEXT_MARGIN + max(text_width(text, size) for text, size in lines)
    return max(height, width), height


def _levels(
    layout: Layout, nodes: Sequence[int], middles: Sequence[float], heights: Sequence[float]
) -> tuple[list[float], float]:
    """The vertical middle of each depth of one tree, and the tree's height.

    The wider the children of a node are spread, the lower they are, so that edges stay steep.
    """
    num_levels = 1 + max(layout.depth[v] for v in nodes)
    level_height, spread = [0.0] * num_levels, [0.0] * num_levels
    for v in nodes:
        depth, parent = layout.depth[v], layout.parent[v]
        level_height[depth] = max(level_height[depth], heights[v])
        if depth:
            spread[depth] = max(spread[depth], abs(middles[v] - middles[parent]))
    levels = []
    y = 0.0
    for depth in range(num_levels):
        y += min(30.0 + 0.08 * spread[depth], 110.0) if depth else 0.0
        levels.append(y + level_height[depth] / 2)
        y += level_height[depth]
    return levels, y
