"""The four types of edges along which a dependency tree is generated.

Zhang, Lu & Lapata, "Top-down Tree Long Short-Term Memory Networks", NAACL 2016, section 2.1.
"""

from __future__ import annotations

from enum import IntEnum

from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["EDGE_TYPES", "EdgeType"]


class EdgeType(IntEnum):
    """The source of a generated dependent (head or sibling), and its side of the head."""

    LEFT = 0  # from the head to its nearest left dependent
    RIGHT = 1  # from the head to its nearest right dependent
    NX_LEFT = 2  # from a left dependent to the next one, farther from the head
    NX_RIGHT = 3  # from a right dependent to the next one, farther from the head

    def __str__(self) -> str:
        return self.name.replace("_", "-")


EDGE_TYPES = Vocabulary(map(str, EdgeType), frozen=True)
"""The names of the edge types, as the paper writes them, in the order of their ids."""
