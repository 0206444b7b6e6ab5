"""Dependency paths D(w) (Zhang, Lu & Lapata 2016, section 2.1)."""

from __future__ import annotations

from dgltrees.errors import TreeError
from dgltrees.trees.edge_types import EdgeType
from dgltrees.trees.forest import Forest

__all__ = ["dependency_path"]


def dependency_path(forest: Forest, tree: int, node: int) -> list[tuple[str, EdgeType]]:
    """D(w): the words and edge types on the way from ROOT to a word w, without w (section 2.1).

    Arguments:
        forest: a generation forest with a column ``word``.
        tree: a tree of it.
        node: the index of w in that tree; D(ROOT) is empty.

    Raises:
        TreeError: there is no such tree or node, or no column ``word``.
    """
    if not (0 <= tree < len(forest) and 0 <= node < forest.sizes[tree]):
        raise TreeError("expected a node of the forest, got none there", tree=tree, node=node)
    if "word" not in forest.columns:
        raise TreeError(f"expected a column 'word', got the columns {list(forest.columns)}")
    first = int(forest.offsets[tree])
    steps = []
    while forest.parent[first + node] >= 0:
        etype = EdgeType(int(forest.pos[first + node]))
        node = int(forest.parent[first + node])
        steps.append((first + node, etype))
    steps.reverse()
    words = forest.columns["word"][[at for at, _ in steps]].tolist() if steps else []
    if "word" in forest.vocabs:
        words = forest.vocabs["word"].decode(words)
    return list(zip(words, (etype for _, etype in steps)))
