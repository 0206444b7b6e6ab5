"""A sentence with the arcs of its dependency tree, and how high each arc is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Optional

import numpy as np

__all__ = ["ArcSentence"]


@dataclass(frozen=True)
class ArcSentence:
    """The ``n`` nodes of a dependency tree, in word order.

    Arguments:
        title: the line above, if any.
        heads: ``n`` heads, -1 at ROOT.
        words, labels, tags: ``n`` texts, ready to be shown; a label is that of the arc into a node.
    """

    title: Optional[str]
    heads: list[int]
    words: list[str]
    labels: list[str]
    tags: list[str]

    @cached_property
    def levels(self) -> list[int]:
        """``n`` heights of the arcs into the nodes, from 1; 0 at ROOT.

        An arc is above all arcs over a part of what it spans that are not longer.
        """
        level = [0] * len(self.heads)
        over = np.zeros(len(self.heads), np.int32)  # the highest arc so far over each gap
        spans = [
            (abs(head - node), min(head, node), node)
            for node, head in enumerate(self.heads)
            if head >= 0
        ]
        for length, first, node in sorted(spans):
            gaps = over[first : first + length]
            level[node] = int(gaps.max()) + 1
            gaps[:] = level[node]
        return level
