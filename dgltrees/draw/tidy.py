"""Where the nodes of a drawing stand: tidy trees of nodes of different widths.

The rules are those of E. M. Reingold and J. S. Tilford, Tidier Drawings of Trees, IEEE
Transactions on Software Engineering 7(2), 1981: nodes of one depth stand on one line and do not
overlap, children stand in order, a parent stands in the middle above its first and last child, a
subtree looks the same wherever it stands. The subtrees of a node are pushed together until their
outlines touch. Pushing to the left only would bunch small subtrees at one side; so the trees are
laid out twice, once as they are and once in the mirror, and the mean of both is taken. All rules
are linear in the coordinates, so the mean keeps them, and the mirror image of a tree is drawn as
the mirror image of its drawing.

What two outlines cost is the depth of the flatter one, which makes a drawing linear in its nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

from dgltrees.draw.layout import Skeleton

__all__ = ["tidy"]


class _Outline:
    """The left and right border of a subtree at each depth, deepest first.

    The coordinates are relative to ``base``, so that a subtree moves in constant time.
    """

    __slots__ = ("base", "left", "right")

    def __init__(self) -> None:
        self.base = 0.0
        self.left: list[float] = []
        self.right: list[float] = []

    def distance(self, other: _Outline) -> float:
        """How far ``other`` must move to the right to touch this outline."""
        common = min(len(self.left), len(other.left))
        widest = max(self.right[-k] - other.left[-k] for k in range(1, common + 1))
        return widest + self.base - other.base

    def joined(self, other: _Outline) -> _Outline:
        """The outline of both, ``other`` on the right. Uses up the two."""
        common = min(len(self.left), len(other.left))
        if len(self.left) >= len(other.left):
            shift = other.base - self.base
            for k in range(1, common + 1):
                self.right[-k] = other.right[-k] + shift
            return self
        shift = self.base - other.base
        for k in range(1, common + 1):
            other.left[-k] = self.left[-k] + shift
        return other


def tidy(skeleton: Skeleton, widths: Sequence[float], gap: float) -> list[float]:
    """The horizontal middle of every node, with the root of each tree at 0.

    Arguments:
        skeleton: the trees, each laid out for itself.
        widths: the width of each node.
        gap: the least free space between two nodes of one depth.
    """
    plain = _packed(skeleton, widths, gap, mirror=False)
    mirrored = _packed(skeleton, widths, gap, mirror=True)
    return [(x - mirror) / 2 for x, mirror in zip(plain, mirrored)]


def _packed(skeleton: Skeleton, widths: Sequence[float], gap: float, mirror: bool) -> list[float]:
    """The layout with subtrees pushed to the left, of the trees or of their mirror images."""
    outlines: list[_Outline] = [_Outline()] * len(skeleton)
    x = [0.0] * len(skeleton)  # relative to the parent, until the last loop
    for node in reversed(skeleton.preorder):
        children = skeleton.children[node]
        for child in reversed(children) if mirror else children:
            added = outlines[child]
            if child == (children[-1] if mirror else children[0]):
                outline = added
                continue
            x[child] = outline.distance(added) + gap
            added.base += x[child]
            outline = outline.joined(added)
        if children:
            middle = max(x[children[0]], x[children[-1]]) / 2
            for child in children:
                x[child] -= middle
            outline.base -= middle
        else:
            outline = _Outline()
        outline.left.append(-widths[node] / 2 - outline.base)
        outline.right.append(widths[node] / 2 - outline.base)
        outlines[node] = outline
    for node in skeleton.preorder:
        if skeleton.parent[node] >= 0:
            x[node] += x[skeleton.parent[node]]
    return x
