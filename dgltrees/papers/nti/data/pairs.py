"""Pairs of sentences, from files of any format, as examples of chains of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.lines import error_in
from dgltrees.formats.sentences import too_long
from dgltrees.trees.builders.sentences import chains
from dgltrees.trees.constituents import MERGES, SPLITS, bracket_counts
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.segments import ranges, starts
from dgltrees.trees.vocabulary import Vocabulary, encode_names

_BRACKETS = {"(": 1, ")": -1}


@dataclass(frozen=True)
class WordRules:
    """Rules of a reader for the words of each sentence.

    Arguments:
        max_words: the largest number of words in a sentence; None for any number.
        truncate: cut longer sentences to ``max_words`` words; otherwise they are an error.
    """

    max_words: int | None = None
    truncate: bool = False

    def __call__(self, words: Sequence[str], file: PathLike, line: int | None) -> list[str]:
        """Apply the rules to the words of one sentence."""
        if not words:
            raise TreeError(
                "expected at least one word in a sentence, got none", file=file, line=line
            )
        return list(words[: self.length(len(words), file, line)])

    def length(self, words: int, file: PathLike, line: int | None) -> int:
        """Return the number of words of a sentence of ``words`` words after the rules."""
        if self.max_words is None or words <= self.max_words:
            return words
        if self.truncate:
            return self.max_words
        raise too_long(
            self.max_words, words, cure="raise max_words, or truncate", file=file, line=line
        )


VERBATIM = WordRules()
"""The rules that keep all words as spelled."""


class Pair(NamedTuple):
    """Line number and class of a pair, and the words of its two sentences."""

    line: int
    target: str  # empty or "-" without a class
    left: Sequence[str]
    right: Sequence[str]
    parses: Sequence[str | None] = (None, None)  # both sentences in brackets, if they have any

    def cut(self, rules: WordRules, path: PathLike) -> Pair:
        """Apply the rules to both sentences."""
        left, right = (rules(side, path, self.line) for side in (self.left, self.right))
        return self._replace(left=left, right=right)


def pair_examples(
    pairs: Sequence[Pair],
    words: Vocabulary,
    classes: Vocabulary,
    path: PathLike,
    *,
    labeled: bool = True,
    brackets: bool = False,
) -> LabeledTrees:
    """Make examples of arity 2 of the pairs of one file.

    Node column: ``word``. With brackets, the node columns ``merges`` and ``splits`` are the numbers
    of constituents that end and begin before each word (:mod:`dgltrees.trees.constituents`).
    Example columns: ``target`` and ``line``.
    """
    lines = [pair.line for pair in pairs]
    target = np.full(len(pairs), -1, np.int64)
    rows = [i for i, pair in enumerate(pairs) if labeled or pair.target in classes]
    labels = [pairs[i].target for i in rows]
    error = error_in(path)
    target[rows] = encode_names(labels, classes, lambda text, i: error(text, lines[rows[i]]))
    sentences = [side for pair in pairs for side in (pair.left, pair.right)]
    sizes = [len(sentence) for sentence in sentences]
    lines_of_words = np.repeat(np.repeat(lines, 2), sizes)
    texts = list(chain.from_iterable(sentences))
    ids = encode_names(texts, words, lambda text, i: error(text, int(lines_of_words[i])))
    columns = {"word": ids, **(_constituents(pairs, sizes, path) if brackets else {})}
    forest = chains(sizes, columns, {"word": words})
    example_columns = {"target": target, "line": np.array(lines, np.int64)}
    return LabeledTrees(forest, example_columns, arity=2, targets=classes)


def _constituents(
    pairs: Sequence[Pair], sizes: Sequence[int], path: PathLike
) -> dict[str, NDArray[np.int32]]:
    """Return the columns of constituents of all sentences, which are cut to ``sizes`` words."""
    parses = [parse for pair in pairs for parse in pair.parses]
    rows = [row for row, parse in enumerate(parses) if parse is not None]
    spaced = (parses[row].replace("(", " ( ").replace(")", " ) ") for row in rows)  # type: ignore[union-attr]
    items = [text.split() for text in spaced]
    kinds = [_BRACKETS.get(item, 0) for sentence in items for item in sentence]
    try:
        counts = bracket_counts(kinds, [len(sentence) for sentence in items])
    except TreeError as error:
        line = pairs[rows[error.tree or 0] // 2].line
        raise TreeError("expected a '(' before every ')'", file=path, line=line) from None
    words = [sum(item not in _BRACKETS for item in sentence) for sentence in items]
    lengths = np.asarray(sizes)
    places = ranges(starts(lengths)[rows], lengths[rows])
    kept = ranges(starts(np.array(words, np.int64)), lengths[rows])
    columns = {}
    for name, column in zip((MERGES, SPLITS), counts):
        columns[name] = np.full(lengths.sum(), -1, np.int32)
        columns[name][places] = column[kept]
    return columns
