"""Sentences and pairs of them, whatever file they stand in, as examples of chains of words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.builders.chains import chains
from dgltrees.trees.examples import Examples
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["VERBATIM", "Pair", "WordRules", "chunks", "pair_examples"]


class Pair(NamedTuple):
    """Two sentences as a file has them, the class of the pair, and its line."""

    line: int
    target: str
    left: Sequence[str]
    right: Sequence[str]


@dataclass(frozen=True)
class WordRules:
    """What is done to the words of every sentence.

    Arguments:
        lower: turn them to lower case.
        max_words: the most that a sentence may have; None for any number.
        truncate: cut a longer sentence there, instead of refusing it.

    Raises:
        ConfigError: ``max_words`` is not positive, or there is something to cut but no limit.
    """

    lower: bool = False
    max_words: Optional[int] = None
    truncate: bool = False

    def __post_init__(self) -> None:
        if self.max_words is not None and self.max_words < 1:
            raise ConfigError(f"expected max_words to be at least 1, got {self.max_words}")
        if self.truncate and self.max_words is None:
            raise ConfigError("expected max_words with truncate, got none")

    def __call__(self, words: Sequence[str], file: PathLike, line: int) -> list[str]:
        """The words of one sentence.

        Raises:
            TreeError: there is none, or there are too many.
        """
        if not words:
            raise TreeError(
                "expected at least one word in a sentence, got none", file=file, line=line
            )
        if self.max_words is not None and len(words) > self.max_words and not self.truncate:
            raise TreeError(
                f"expected a sentence of at most {self.max_words} words, got {len(words)}; raise "
                "max_words, or truncate",
                file=file,
                line=line,
            )
        kept = words[: self.max_words]
        return [word.lower() for word in kept] if self.lower else list(kept)


VERBATIM = WordRules()
"""All words, as they are spelled."""


def chunks(pairs: Iterator[Pair], size: int) -> Iterator[list[Pair]]:
    """At most ``size`` pairs at a time.

    Raises:
        ConfigError: ``size`` is not positive.
    """
    if size < 1:
        raise ConfigError(f"expected chunks of at least one tree, got trees={size}")
    return iter(lambda: list(islice(pairs, size)), [])


def pair_examples(
    pairs: Sequence[Pair], words: Vocabulary, classes: Vocabulary, rules: WordRules, path: PathLike
) -> Examples:
    """The pairs of one file: arity 2, node column ``word``, example column ``target``.

    Raises:
        TreeError: with file and line: a sentence is empty or too long, a class or word is unknown.
    """
    sentences = [rules(side, path, pair.line) for pair in pairs for side in (pair.left, pair.right)]
    lines = [pair.line for pair in pairs]
    target = _encode([pair.target for pair in pairs], classes, path, lines)
    forest = _forest(sentences, words, path, np.repeat(lines, 2))
    return Examples(forest, {"target": target.astype(np.int64)}, arity=2, targets=classes)


def _forest(
    sentences: Sequence[Sequence[str]],
    words: Vocabulary,
    path: PathLike,
    lines: NDArray[np.int64],
) -> Forest:
    sizes = [len(sentence) for sentence in sentences]
    ids = _encode(list(chain.from_iterable(sentences)), words, path, np.repeat(lines, sizes))
    return chains(sizes, {"word": ids}, {"word": words})


def _encode(
    names: Sequence[str], vocab: Vocabulary, path: PathLike, lines: Iterable[int]
) -> NDArray[np.int32]:
    """The ids of ``names``, each of which stands on a line.

    Raises:
        TreeError: with file and line: a name is unknown to a frozen vocabulary.
    """
    try:
        return vocab.encode(names)
    except TreeError as error:
        line = next(line for name, line in zip(names, lines) if name not in vocab)
        raise TreeError(str(error), file=path, line=int(line)) from None
