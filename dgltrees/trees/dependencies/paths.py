"""Dependency paths D(w) (Zhang, Lu & Lapata 2016, section 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dgltrees.errors import TreeError
from dgltrees.trees.dependencies.projective import ROOT
from dgltrees.trees.dependencies.word_order import dependency_forest
from dgltrees.trees.edge_types import EdgeType
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["dependency_path", "from_paths"]

Path = Sequence[tuple[str, EdgeType]]


def dependency_path(forest: Forest, tree: int, node: int) -> list[tuple[str, EdgeType]]:
    """D(w) of a node of a generation forest: words and edge types from ROOT down to its source.

    The word w itself is not in it, and D(ROOT) is empty (section 2.1).

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


def from_paths(pairs: Iterable[tuple[str, Path]]) -> Forest:
    """The dependency tree whose words w have the dependency paths D(w); the pairs in any order.

    ROOT needs no pair. The edge types of a path name a node of the tree, so equal words are told
    apart.

    Arguments:
        pairs: ``(w, D(w))`` for each word of one sentence.

    Raises:
        TreeError: a path stands twice, goes through a word that has no pair or another one, or
            takes an edge that its node cannot have.
    """
    found: dict[tuple[EdgeType, ...], tuple[str, list[tuple[str, EdgeType]]]] = {(): (ROOT, [])}
    for word, path in pairs:
        steps = list(path)
        place = tuple(etype for _, etype in steps)
        if place and place in found:
            raise TreeError(f"expected one word a path, got {found[place][0]!r} and {word!r}")
        if place:
            found[place] = word, steps
    number = {place: i for i, place in enumerate(found)}
    parent, pos = [-1], [0]
    for place, (word, steps) in found.items():
        if not place:
            continue
        source, before = found.get(place[:-1], (None, []))
        if source != steps[-1][0] or before != steps[:-1]:
            raise TreeError(
                f"expected the path of {word!r} to continue that of {steps[-1][0]!r}, "
                f"got {'no such path' if source is None else f'one of {source!r}'}"
            )
        parent.append(number[place[:-1]])
        pos.append(int(place[-1]))
    vocab = Vocabulary([ROOT])
    words = vocab.encode([word for word, _ in found.values()])
    return dependency_forest(
        Forest.build(parent, pos=pos, columns={"word": words}, vocabs={"word": vocab})
    )
