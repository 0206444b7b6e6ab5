"""Dependency paths D(w) (Zhang, Lu & Lapata 2016, section 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dgltrees.errors import TreeError
from dgltrees.trees.dependencies.word_order import dependency_forest
from dgltrees.trees.edge_types import EdgeType
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary
from dgltrees.trees.words import ROOT

__all__ = ["dependency_path", "from_paths"]

Path = Sequence[tuple[str, EdgeType]]


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


def from_paths(pairs: Iterable[tuple[str, Path]]) -> Forest:
    """The dependency tree of one sentence whose words w have the dependency paths D(w).

    The edge types of a path identify a node of the tree, so equal words can be distinguished.

    Arguments:
        pairs: ``(w, D(w))`` for each word, in any order; ROOT needs no pair.

    Raises:
        TreeError: two words have the same edge types on their paths, a path does not extend the
            path of its last word, or an edge type is not possible at its place.
    """
    words: dict[tuple[EdgeType, ...], tuple[str, list[tuple[str, EdgeType]]]] = {(): (ROOT, [])}
    for word, path in pairs:
        steps = list(path)
        etypes = tuple(etype for _, etype in steps)
        if etypes and etypes in words:
            raise TreeError(f"expected one word per path, got {words[etypes][0]!r} and {word!r}")
        if etypes:
            words[etypes] = word, steps
    index = {etypes: i for i, etypes in enumerate(words)}
    parent, pos = [-1], [0]
    for etypes, (word, steps) in words.items():
        if not etypes:
            continue
        source, source_steps = words.get(etypes[:-1], (None, []))
        if source != steps[-1][0] or source_steps != steps[:-1]:
            raise TreeError(
                f"expected the path of {word!r} to continue that of {steps[-1][0]!r}, "
                f"got {'no such path' if source is None else f'one of {source!r}'}"
            )
        parent.append(index[etypes[:-1]])
        pos.append(int(etypes[-1]))
    vocab = Vocabulary([ROOT])
    ids = vocab.encode([word for word, _ in words.values()])
    return dependency_forest(
        Forest.build(parent, pos=pos, columns={"word": ids}, vocabs={"word": vocab})
    )
