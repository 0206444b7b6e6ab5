"""Dependency trees to test with: the sentence of a paper, and random heads."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from dgltrees.trees import Forest, Vocabulary
from dgltrees.trees.words import ROOT

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


def forest_of(sentences: Sequence[Sequence[int]]) -> Forest:
    """The dependency forest of sentences of heads; word ``i`` of each is called ``wi``."""
    parents = [p for heads in sentences for p in (-1, *heads)]
    vocab = Vocabulary([ROOT])
    words = vocab.encode([w for s in sentences for w in (ROOT, *(f"w{i}" for i in range(len(s))))])
    offsets = np.cumsum([0, *(len(heads) + 1 for heads in sentences)])
    return Forest.build(parents, offsets=offsets, columns={"word": words}, vocabs={"word": vocab})


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
