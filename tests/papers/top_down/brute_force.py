"""All dependency trees of a few words, one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

Tree = tuple[int, ...]


def trees(words: int, single_root: bool = True) -> Iterator[Tree]:
    """Every tree: the head of each word, -1 at ROOT."""
    for heads in itertools.product(range(words + 1), repeat=words):
        tree = (-1, *heads)
        if not (single_root and heads.count(0) != 1) and all(
            _reaches(tree, w, 0) for w in range(1, words + 1)
        ):
            yield tree


def is_projective(tree: Tree) -> bool:
    """By the definition: whatever stands between a word and its head is below the head."""
    return all(
        _reaches(tree, between, head)
        for word, head in enumerate(tree)
        if word
        for between in range(min(word, head) + 1, max(word, head))
    )


def total(tree: Sequence[int], scores: np.ndarray) -> float:
    """The sum of the scores of the arcs, dependents by rows."""
    return float(sum(scores[d, tree[d]] for d in range(1, len(tree))))


def _reaches(tree: Tree, word: int, above: int) -> bool:
    for _ in range(len(tree)):
        if word == above:
            return True
        if word == 0:
            return False
        word = tree[word]
    return False
