"""A page of trees: the boxes of their nodes, tree beside tree in rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from dgltrees.draw.fonts import text_width
from dgltrees.draw.labels import Marks
from dgltrees.draw.layout import Skeleton
from dgltrees.draw.tidy import tidy

__all__ = [
    "BADGE",
    "DETAIL",
    "LABEL",
    "LINE",
    "PADDING",
    "TITLE",
    "Box",
    "Page",
    "badge_width",
    "lines_in",
]

LABEL, DETAIL, BADGE, TITLE = 13.0, 11.0, 9.0, 12.0  # font sizes, in pixels like all lengths
LINE = {LABEL: 17.0, DETAIL: 14.0, TITLE: 24.0}  # line heights
PADDING = 4.0
_SIDES = 9.0  # free space left and right of a text in its box
_GAP = 12.0  # between two boxes of one depth
_MARGIN, _BETWEEN = 8.0, 36.0  # around the page, between trees
_ROW = 960.0  # trees stand side by side up to this width


@dataclass(frozen=True)
class Box:
    """A node on the page: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """The horizontal middle."""
        return self.x + self.width / 2


@dataclass(frozen=True)
class Page:
    """Where everything stands.

    Arguments:
        boxes: a box a node.
        titles: the left end and the base line of each tree's title.
        width, height: of the page.
    """

    boxes: list[Box]
    titles: list[tuple[float, float]]
    width: float
    height: float

    @classmethod
    def of(
        cls,
        skeleton: Skeleton,
        marks: Marks,
        numbered: Sequence[bool],
        titles: Sequence[Optional[str]],
    ) -> Page:
        """Lay out all trees; linear in nodes."""
        sizes = [_size(*both) for both in zip(marks.labels, marks.details)]
        slots = [
            max(size[0], badge_width(position)) if shown else size[0]
            for size, position, shown in zip(sizes, skeleton.pos, numbered)
        ]
        middles = tidy(skeleton, slots, _GAP)
        boxes = [Box(0, 0, 0, 0)] * len(skeleton)
        corners: list[tuple[float, float]] = []
        left = top = _MARGIN
        width = height = bottom = 0.0
        for nodes, title in zip(_trees(skeleton), titles):
            first = min(middles[v] - slots[v] / 2 for v in nodes)
            span = max(middles[v] + slots[v] / 2 for v in nodes) - first
            span = max(span, text_width(title or "", TITLE))
            if left > _MARGIN and left + span > _ROW:
                left, top = _MARGIN, bottom + _BETWEEN
            header = LINE[TITLE] if title else 0.0
            levels, deep = _levels(skeleton, nodes, middles, [s[1] for s in sizes])
            for v in nodes:
                wide, high = sizes[v]
                y = top + header + levels[skeleton.depth[v]] - high / 2
                boxes[v] = Box(left + middles[v] - first - wide / 2, y, wide, high)
            corners.append((left, top + TITLE))
            bottom = max(bottom, top + header + deep)
            width, height = max(width, left + span), max(height, bottom)
            left += span + _BETWEEN
        return cls(boxes, corners, width + _MARGIN, height + _MARGIN)


def badge_width(position: int) -> float:
    """The width of the badge with a child's position."""
    return max(13.0, text_width(str(position), BADGE) + 6)


def lines_in(label: tuple[str, ...], detail: str) -> list[tuple[str, float]]:
    """The lines of text in a node's box with their font sizes."""
    lines = [(part, LABEL) for part in label]
    return [*lines, (detail, DETAIL if lines else LABEL)] if detail else lines


def _size(label: tuple[str, ...], detail: str) -> tuple[float, float]:
    """Width and height of a node's box; never higher than wide."""
    lines = lines_in(label, detail)
    height = 2 * PADDING + sum(LINE[size] for _, size in lines)
    return max(height, 2 * _SIDES + max(text_width(text, size) for text, size in lines)), height


def _trees(skeleton: Skeleton) -> list[list[int]]:
    """The nodes of each tree, in preorder."""
    trees: list[list[int]] = []
    for node in skeleton.preorder:
        if skeleton.parent[node] < 0:
            trees.append([])
        trees[-1].append(node)
    return trees


def _levels(
    skeleton: Skeleton, nodes: Sequence[int], middles: Sequence[float], heights: Sequence[float]
) -> tuple[list[float], float]:
    """The vertical middle of each depth of one tree, and where the tree ends.

    Wider families stand further below their parent, so that no edge becomes flat.
    """
    deepest = max(skeleton.depth[v] for v in nodes)
    high, spread = [0.0] * (deepest + 1), [0.0] * (deepest + 1)
    for v in nodes:
        depth, parent = skeleton.depth[v], skeleton.parent[v]
        high[depth] = max(high[depth], heights[v])
        if depth:
            spread[depth] = max(spread[depth], abs(middles[v] - middles[parent]))
    levels = []
    y = 0.0
    for depth in range(deepest + 1):
        y += min(30.0 + 0.08 * spread[depth], 110.0) if depth else 0.0
        levels.append(y + high[depth] / 2)
        y += high[depth]
    return levels, y
