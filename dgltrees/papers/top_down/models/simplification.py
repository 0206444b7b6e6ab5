"""Lexical simplification: hard words replaced by simple ones that a model finds likelier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import ConfigError
from dgltrees.trees.forest import Forest
from dgltrees.trees.roots import check_roots

__all__ = ["Simplification", "simplify"]

Score = Callable[[Forest], NDArray[np.float64]]
"""A function that scores the trees of a dependency forest, ``(T,)``."""


class Simplification(NamedTuple):
    """The result of :func:`simplify`.

    Attributes:
        forest: a forest with one tree, the simplified sentence.
        score: its score.
        replaced: the nodes whose words were replaced, in the order of the sentence.
    """

    forest: Forest
    score: float
    replaced: tuple[int, ...]


def simplify(
    forest: Forest, candidates: Mapping[int, Sequence[int]], score: Score
) -> Simplification:
    """Replace words of a sentence by simpler ones wherever the score rises.

    Zhang, Lu and Lapata (2016) name simplification, beside compression, as a use of their model
    (section 4). The tree remains; words are replaced one by one, in the order of the sentence, each
    by the candidate with the highest score of the sentence, if that is higher than the score
    without the replacement.

    Arguments:
        forest: one dependency tree, with ROOT as node 0, and a column ``word``.
        candidates: the words that may replace a word, by its id; words without candidates stay.
        score: scores dependency trees, for example by a language model's log-probabilities.

    Raises:
        ConfigError: there is not exactly one tree.
        TreeError: node 0 is not the root.
    """
    if len(forest) != 1:
        raise ConfigError(f"expected one tree to simplify, got {len(forest)} trees")
    check_roots(forest)
    best, replaced = float(score(forest)[0]), []
    for node in range(1, forest.num_nodes):
        words = candidates.get(int(forest.columns["word"][node]), ())
        if len(words) == 0:
            continue
        variants = [_replaced(forest, node, word) for word in words]
        scores = score(Forest.concat(variants))
        first = int(scores.argmax())
        if scores[first] > best:
            best, forest = float(scores[first]), variants[first]
            replaced.append(node)
    return Simplification(forest, best, tuple(replaced))


def _replaced(forest: Forest, node: int, word: int) -> Forest:
    """The same tree with another word at a node."""
    words = forest.columns["word"].copy()
    words[node] = word
    return forest.with_columns({**forest.columns, "word": words})
