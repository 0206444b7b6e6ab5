"""Tidy tree layout: the horizontal positions of nodes of different widths.

The rules are those of E. M. Reingold and J. S. Tilford, Tidier Drawings of Trees, IEEE
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

from dgltrees.draw.layout import Layout

__all__ = ["tidy_positions"]


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
