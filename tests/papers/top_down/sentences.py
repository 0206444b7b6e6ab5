"""The paper's example, and the slow way over dependency trees."""

from __future__ import annotations

from collections.abc import Sequence

from dgltrees.papers.top_down.graphs import dependency_path
from dgltrees.trees import Forest
from tests.trees.dependencies import HEADS, SENTENCE, forest_of

# The order of generation that figure 2 of Zhang, Lu & Lapata (2016) shows as subscripts.
ORDER = [9, 8, 7, 3, 6, 2, 1, 10, 4, 5, 12, 11]


def figure_2() -> Forest:
    """The dependency forest of the paper's example."""
    forest = forest_of([HEADS])
    forest.vocabs["word"].names[1:] = SENTENCE
    return forest


def paths_of(generation: Forest, tree: int = 0) -> list[list[tuple[str, str]]]:
    """The words and edge types on the dependency path of every node of a tree."""
    return [
        [(word, str(etype)) for word, etype in dependency_path(generation, tree, node)]
        for node in range(generation.sizes[tree])
    ]


def slow_paths(heads: Sequence[int]) -> list[list[tuple[int, str]]]:
    """D(w) of ROOT and every word, by the recursive definition of section 2.1."""

    def path(w: int) -> list[tuple[int, str]]:
        if w == 0:
            return []
        head = heads[w - 1]
        side = "LEFT" if w < head else "RIGHT"
        inner = range(w + 1, head) if w < head else range(w - 1, head, -1)
        siblings = [s for s in inner if heads[s - 1] == head]
        if siblings:
            return [*path(siblings[0]), (siblings[0], f"NX-{side}")]
        return [*path(head), (head, side)]

    return [path(w) for w in range(len(heads) + 1)]


def slow_order(heads: Sequence[int]) -> list[int]:
    """The nodes in the order of generation: a plain queue."""
    queue = [0]
    for node in queue:
        below = [w for w in range(1, len(heads) + 1) if heads[w - 1] == node]
        queue += [w for w in reversed(below) if w < node] + [w for w in below if w > node]
    return queue
