"""Pairs of sentences, from files of any format, as examples of chains of words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.lengths import WordRules
from dgltrees.trees.builders.chains import chains
from dgltrees.trees.examples import Examples
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["NO_LABEL", "Pair", "pair_examples"]

NO_LABEL = ("", "-")
"""What stands in place of a class that a pair has not; ``-`` in SNLI."""


class Pair(NamedTuple):
    """The number of a line, the class of the pair on it, and the words of its two sentences."""

    line: int
    target: str  # empty, or "-", where it has no class
    left: Sequence[str]
    right: Sequence[str]

    def cut(self, rules: WordRules, path: PathLike) -> Pair:
        """The pair with the words that the rules leave of each sentence.

        Raises:
            TreeError: with file and line: a sentence has no words, or too many.
        """
        left, right = (rules(side, path, self.line) for side in (self.left, self.right))
        return self._replace(left=left, right=right)


def pair_examples(
    pairs: Sequence[Pair],
    words: Vocabulary,
    classes: Vocabulary,
    path: PathLike,
    *,
    labeled: bool = True,
) -> Examples:
    """The pairs of one file: arity 2, node column ``word``, example column ``target``.

    Arguments:
        pairs: the pairs.
        words, classes: the vocabularies of the columns.
        path: the file, for errors.
        labeled: whether every pair must have a class; otherwise ``target`` is -1 without one.

    Raises:
        TreeError: with file and line: a class or word is unknown to a frozen vocabulary.
    """
    lines = [pair.line for pair in pairs]
    target = np.full(len(pairs), -1, np.int64)
    rows = [i for i, pair in enumerate(pairs) if labeled or pair.target not in NO_LABEL]
    labels = [pairs[i].target for i in rows]
    target[rows] = _encode(labels, classes, path, [lines[i] for i in rows])
    sentences = [side for pair in pairs for side in (pair.left, pair.right)]
    sizes = [len(sentence) for sentence in sentences]
    lines_of_words = np.repeat(np.repeat(lines, 2), sizes)
    ids = _encode(list(chain.from_iterable(sentences)), words, path, lines_of_words)
    forest = chains(sizes, {"word": ids}, {"word": words})
    return Examples(forest, {"target": target}, arity=2, targets=classes)


def _encode(
    names: Sequence[str], vocab: Vocabulary, path: PathLike, lines: Iterable[int]
) -> NDArray[np.int32]:
    """The ids of names; ``lines`` are the lines on which they stand."""
    try:
        return vocab.encode(names)
    except TreeError as error:
        line = next(line for name, line in zip(names, lines) if name not in vocab)
        raise TreeError(str(error), file=path, line=int(line)) from None
