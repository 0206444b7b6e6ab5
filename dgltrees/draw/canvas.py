"""The positions of nodes and titles in a drawing of trees, which are side by side in rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dgltrees.draw.fonts import BADGE, DETAIL, LABEL, LINE_HEIGHT, TITLE, text_width
from dgltrees.draw.labels import Labels
from dgltrees.draw.layout import Layout
from dgltrees.draw.svg import MARGIN
from dgltrees.draw.tidy import tidy_positions

__all__ = ["PADDING", "TEXT_MARGIN", "Box", "Canvas", "badge_width", "text_lines"]

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
