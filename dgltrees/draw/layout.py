"""Positions of the nodes of trees in a picture.

The horizontal positions follow E. M. Reingold and J. S. Tilford, Tidier Drawings of Trees, IEEE
Transactions on Software Engineering 7(2), 1981. Nodes of one depth are on one line and do not
overlap. Children are in order, a parent is centred above its first and last child, and equal
subtrees have equal drawings. The subtrees of a node are pushed together until their contours touch.
Pushing only to the left would bunch small subtrees at one side, so the trees are laid out twice,
once mirrored, and the mean of both is taken. All rules are linear in the coordinates, so the mean
obeys them, and the mirror image of a tree gets the mirror image of its drawing.

Joining two contours costs the depth of the flatter one, so a drawing costs time linear in its
nodes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from dgltrees.draw import svg
from dgltrees.draw.labels import Labels
from dgltrees.errors import TreeError
from dgltrees.trees.builders.brackets import preorder
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import Ints

Positions = Literal["all", "none", "auto"]
"""Which edges of a drawing show the position of a child."""

_GAP = 12.0  # between two boxes of one depth
_TREE_GAP = 36.0  # between trees
_MAX_WIDTH = 960.0  # trees are side by side up to this width


@dataclass(frozen=True)
class Layout:
    """The ``n`` nodes of trees in preorder, as lists for code that visits them node by node.

    Arguments:
        nodes: ``(n,)`` the numbers of the nodes in their forest.
        parent: ``n`` indices of parents, -1 at a root.
        pos: ``n`` child positions.
        depth: ``n`` numbers of edges between each node and its root.
        children: ``n`` lists, the children of each node in the order of their positions.
        offsets: the first node of each tree, and ``n``.
    """

    nodes: Ints
    parent: list[int]
    pos: list[int]
    depth: list[int]
    children: list[list[int]]
    offsets: list[int]

    @classmethod
    def of(cls, forest: Forest) -> Layout:
        """Make the layout of all trees of a forest, of any depth."""
        ranks, _ = preorder(forest)
        nodes = ranks.argsort()
        parent = np.where(forest.parent < 0, -1, ranks[forest.global_parent])[nodes].tolist()
        children: list[list[int]] = [[] for _ in parent]
        for node, above in enumerate(parent):
            if above >= 0:
                children[above].append(node)
        pos, depth = forest.pos[nodes].tolist(), forest.depth[nodes].tolist()
        return cls(nodes, parent, pos, depth, children, forest.offsets.tolist())

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.parent)

    def positions(self, mode: Positions) -> list[int | None]:
        """Return the position shown at each node; ``"auto"``: if an earlier one is missing."""
        if mode not in get_args(Positions):
            raise TreeError(f"expected positions to be 'all', 'none' or 'auto', got {mode!r}")
        positions: list[int | None] = [None] * len(self)
        for children in self.children:
            has_gap = bool(children) and self.pos[children[-1]] != len(children) - 1
            if mode == "all" or (mode == "auto" and has_gap):
                for child in children:
                    positions[child] = self.pos[child]
        return positions


class _Contour:
    """The left and right border of a subtree at each depth, deepest first.

    The coordinates are relative to ``base``, so a subtree moves in constant time.
    """

    __slots__ = ("base", "left", "right")

    def __init__(self) -> None:
        self.base = 0.0
        self.left: list[float] = []
        self.right: list[float] = []

    def distance(self, other: _Contour) -> float:
        """Return the distance by which ``other`` must move to the right to touch this contour."""
        depth = min(len(self.left), len(other.left))
        overlap = max(self.right[-k] - other.left[-k] for k in range(1, depth + 1))
        return overlap + self.base - other.base

    def join(self, other: _Contour) -> _Contour:
        """Join two contours, ``other`` on the right; the lists of the deeper one are reused."""
        deep, flat = (self, other) if len(self.left) >= len(other.left) else (other, self)
        shift = flat.base - deep.base
        old, new = (deep.right, flat.right) if deep is self else (deep.left, flat.left)
        for k in range(1, len(new) + 1):
            old[-k] = new[-k] + shift
        return deep


def tidy_positions(layout: Layout, widths: Sequence[float], gap: float) -> list[float]:
    """Compute the horizontal middle of every node, with the root of each tree at 0."""
    left_packed = _packed(layout, widths, gap, mirror=False)
    right_packed = _packed(layout, widths, gap, mirror=True)
    return [(left - right) / 2 for left, right in zip(left_packed, right_packed)]


def _packed(layout: Layout, widths: Sequence[float], gap: float, mirror: bool) -> list[float]:
    """Compute positions with subtrees pushed to the left, for the trees or their mirror images."""
    contours: list[_Contour] = [_Contour()] * len(layout)
    x = [0.0] * len(layout)  # relative to the parent, until the last loop
    for node in reversed(range(len(layout))):
        children = layout.children[node]
        contour = _Contour()
        for i, child in enumerate(reversed(children) if mirror else children):
            subtree = contours[child]
            if i:
                x[child] = contour.distance(subtree) + gap
                subtree.base += x[child]
                subtree = contour.join(subtree)
            contour = subtree
        if children:
            middle = max(x[children[0]], x[children[-1]]) / 2
            for child in children:
                x[child] -= middle
            contour.base -= middle
        contour.left.append(-widths[node] / 2 - contour.base)
        contour.right.append(widths[node] / 2 - contour.base)
        contours[node] = contour
    for node, parent in enumerate(layout.parent):
        if parent >= 0:
            x[node] += x[parent]
    return x


class Box(NamedTuple):
    """The rectangle of a node: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """The horizontal middle."""
        return self.x + self.width / 2


class Canvas(NamedTuple):
    """The box of each node, the left end and base line of each tree's title, and the size."""

    boxes: list[Box]
    titles: list[tuple[float, float]]
    width: float
    height: float

    @classmethod
    def of(cls, layout: Layout, labels: Labels) -> Canvas:
        """Place trees next to each other in rows, in time linear in the number of nodes."""
        sizes = [_size(name, detail) for name, detail in zip(labels.names, labels.details)]
        slots = [
            width if position is None else max(width, badge_width(position))
            for (width, _), position in zip(sizes, labels.positions)
        ]
        heights = [height for _, height in sizes]
        middles = tidy_positions(layout, slots, _GAP)
        boxes: list[Box] = []
        titles: list[tuple[float, float]] = []
        left = top = svg.MARGIN
        width = height = bottom = 0.0
        for bounds, title in zip(itertools.pairwise(layout.offsets), labels.titles):
            nodes = range(*bounds)
            leftmost = min(middles[v] - slots[v] / 2 for v in nodes)
            tree_width = max(middles[v] + slots[v] / 2 for v in nodes) - leftmost
            tree_width = max(tree_width, svg.text_width(title or "", svg.TITLE))
            if left > svg.MARGIN and left + tree_width > _MAX_WIDTH:
                left, top = svg.MARGIN, bottom + _TREE_GAP
            tree_top = top + (svg.LINE_HEIGHT[svg.TITLE] if title else 0.0)
            levels, tree_height = _levels(layout, nodes, middles, heights)
            for v in nodes:
                box_width, box_height = sizes[v]
                x = left + middles[v] - leftmost - box_width / 2
                y = tree_top + levels[layout.depth[v]] - box_height / 2
                boxes.append(Box(x, y, box_width, box_height))
            titles.append((left, top + svg.TITLE))
            bottom = max(bottom, tree_top + tree_height)
            width, height = max(width, left + tree_width), max(height, bottom)
            left += tree_width + _TREE_GAP
        return cls(boxes, titles, width + svg.MARGIN, height + svg.MARGIN)


def badge_width(position: int) -> float:
    """Return the width of the badge with a child's position."""
    return max(13.0, svg.text_width(str(position), svg.BADGE) + 6)


def text_lines(name: tuple[str, ...], detail: str) -> list[tuple[str, float]]:
    """Return the lines of text in a node's box with their font sizes."""
    lines = [(part, svg.LABEL) for part in name]
    return [*lines, (detail, svg.DETAIL if lines else svg.LABEL)] if detail else lines


def _size(name: tuple[str, ...], detail: str) -> tuple[float, float]:
    """Return width and height of a node's box; the width is at least the height."""
    lines = text_lines(name, detail)
    height = 2 * svg.PADDING + sum(svg.LINE_HEIGHT[size] for _, size in lines)
    width = 2 * svg.TEXT_MARGIN + max(svg.text_width(text, size) for text, size in lines)
    return max(height, width), height


def _levels(
    layout: Layout, nodes: Sequence[int], middles: Sequence[float], heights: Sequence[float]
) -> tuple[list[float], float]:
    """Return the vertical middle of each depth of one tree, and the tree's height.

    The wider the children of a node are spread, the lower they are, so edges stay steep.
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
