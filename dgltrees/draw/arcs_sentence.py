"""A sentence with the arcs of its dependency tree, and the height of each arc."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ["ArcSentence"]


@dataclass(frozen=True)
class ArcSentence:
    """The ``n`` nodes of a dependency tree, ROOT and then the words in their order.

    Arguments:
        title: the line above, if any.
        heads: ``n`` heads, -1 at ROOT.
        words: ``n`` texts.
        labels: ``n`` labels of the arcs into the nodes, such as dependency relations.
        tags: ``n`` texts below the words, such as parts of speech.
    """

    title: str | None
    heads: list[int]
    words: list[str]
    labels: list[str]
    tags: list[str]

    @cached_property
    def levels(self) -> list[int]:
        """``n`` heights of the arcs into the nodes, from 1; 0 at ROOT.

        Going from short arcs to long ones, an arc is above all earlier arcs that it overlaps.
        """
        levels = [0] * len(self.heads)
        heights = np.zeros(len(self.heads), np.int32)  # of the highest arc so far over each gap
        spans = [
            (abs(head - node), min(head, node), node)
            for node, head in enumerate(self.heads)
            if head >= 0
        ]
        for length, start, node in sorted(spans):
            gaps = heights[start : start + length]
            levels[node] = int(gaps.max()) + 1
            gaps[:] = levels[node]
        return levels
