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

__all__ = ["Pair", "pair_examples"]


class Pair(NamedTuple):
    """The number of a line, the class of the pair on it, and the words of its two sentences."""

    line: int
    target: str
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
    pairs: Sequence[Pair], words: Vocabulary, classes: Vocabulary, path: PathLike
) -> Examples:
    """The pairs of one file: arity 2, node column ``word``, example column ``target``.

    Raises:
        TreeError: with file and line: a class or word is unknown to a frozen vocabulary.
    """
    lines = [pair.line for pair in pairs]
    target = _encode([pair.target for pair in pairs], classes, path, lines)
    sentences = [side for pair in pairs for side in (pair.left, pair.right)]
    sizes = [len(sentence) for sentence in sentences]
    lines_of_words = np.repeat(np.repeat(lines, 2), sizes)
    ids = _encode(list(chain.from_iterable(sentences)), words, path, lines_of_words)
    forest = chains(sizes, {"word": ids}, {"word": words})
    return Examples(forest, {"target": target.astype(np.int64)}, arity=2, targets=classes)


def _encode(
    names: Sequence[str], vocab: Vocabulary, path: PathLike, lines: Iterable[int]
) -> NDArray[np.int32]:
    """The ids of names; ``lines`` are the lines on which they stand."""
    try:
        return vocab.encode(names)
    except TreeError as error:
        line = next(line for name, line in zip(names, lines) if name not in vocab)
        raise TreeError(str(error), file=path, line=int(line)) from None
