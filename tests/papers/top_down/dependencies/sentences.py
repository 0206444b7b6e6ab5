"""Dependency trees to test with: the paper's example, random heads, and the slow way over them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from dgltrees.papers.top_down.dependencies import ROOT, dependency_path
from dgltrees.trees import Forest, Vocabulary

# Figure 2 of Zhang, Lu & Lapata (2016), with the order of generation it shows as subscripts.
SENTENCE = [
    "The",
    "luxury",
    "auto",
    "manufacturer",
    "last",
    "year",
    "sold",
    "1,214",
    "cars",
    "in",
    "the",
    "U.S.",
]
HEADS = [4, 4, 4, 7, 6, 7, 0, 9, 7, 7, 12, 10]
ORDER = [9, 8, 7, 3, 6, 2, 1, 10, 4, 5, 12, 11]


def forest_of(sentences: Sequence[Sequence[int]]) -> Forest:
    """The dependency forest of sentences of heads; word ``i`` of each is called ``wi``."""
    parents = [p for heads in sentences for p in (-1, *heads)]
    vocab = Vocabulary([ROOT])
    words = vocab.encode([w for s in sentences for w in (ROOT, *(f"w{i}" for i in range(len(s))))])
    offsets = np.cumsum([0, *(len(heads) + 1 for heads in sentences)])
    return Forest.build(parents, offsets=offsets, columns={"word": words}, vocabs={"word": vocab})


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


def random_heads(rng: np.random.Generator, words: int, projective: bool) -> list[int]:
    """Heads of a random tree over ``words`` words; one of them is below ROOT."""
    heads = [0] * words
    open_ranges = [(1, words, 0)]  # projective: the words of a range hang, in the end, on one head
    if not projective:
        order = rng.permutation(words) + 1
        for k in range(1, words):
            heads[order[k] - 1] = int(order[rng.integers(k)])
        return heads
    while open_ranges:
        first, last, head = open_ranges.pop()
        top = int(rng.integers(first, last + 1))
        heads[top - 1] = head
        for start, stop in ((first, top - 1), (top + 1, last)):
            while start <= stop:  # cut what stands on one side into dependents
                end = int(rng.integers(start, stop + 1))
                open_ranges.append((start, end, top))
                start = end + 1
    return heads


@st.composite
def sentences(draw: st.DrawFn, projective: bool = True, max_words: int = 12) -> list[list[int]]:
    """The heads of one to four sentences."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    counts = draw(st.lists(st.integers(1, max_words), min_size=1, max_size=4))
    return [random_heads(rng, count, projective) for count in counts]


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
