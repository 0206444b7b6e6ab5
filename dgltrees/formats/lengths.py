"""Sentences of more words than a limit: refused, cut, or left out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError

__all__ = ["VERBATIM", "WordRules", "leave_out_long", "too_long"]

T = TypeVar("T")


def _check(max_words: int | None) -> None:
    if max_words is not None and max_words < 1:
        raise ConfigError(f"expected max_words to be at least 1, got {max_words}")


@dataclass(frozen=True)
class WordRules:
    """How a reader changes the words of each sentence.

    Arguments:
        lower: turn words to lower case.
        max_words: the most words that a sentence may have; None for any number.
        truncate: cut longer sentences to ``max_words`` words; otherwise they are an error.

    Raises:
        ConfigError: ``max_words`` is below 1, or ``truncate`` comes without it.
    """

    lower: bool = False
    max_words: int | None = None
    truncate: bool = False

    def __post_init__(self) -> None:
        _check(self.max_words)
        if self.truncate and self.max_words is None:
            raise ConfigError("expected max_words with truncate, got none")

    def __call__(self, words: Sequence[str], file: PathLike, line: int) -> list[str]:
        """The words of one sentence, in lower case and cut as the rules say.

        Raises:
            TreeError: with file and line: the sentence has no words, or too many.
        """
        if not words:
            raise TreeError(
                "expected at least one word in a sentence, got none", file=file, line=line
            )
        words = words[: self.length(len(words), file, line)]
        return [word.lower() for word in words] if self.lower else list(words)

    def length(self, words: int, file: PathLike, line: int) -> int:
        """The number of words that a sentence of ``words`` words is cut to.

        Raises:
            TreeError: with file and line: there are too many, and they are not to be cut.
        """
        if self.max_words is None or words <= self.max_words:
            return words
        if self.truncate:
            return self.max_words
        raise too_long(
            self.max_words, words, cure="raise max_words, or truncate", file=file, line=line
        )


VERBATIM = WordRules()
"""All words, as they are spelled."""


def leave_out_long(
    sentences: Iterable[T],
    length: Callable[[T], int],
    max_words: int | None,
    *,
    file: PathLike | None = None,
    unit: str = "words",
) -> Iterator[T]:
    """The sentences of at most ``max_words`` words; a warning at the end counts the others.

    Arguments:
        sentences: in any form.
        length: gives the number of words of a sentence.
        max_words: the limit; None for none.
        file: where the sentences stand, for the warning.
        unit: what is counted, for the warning.

    Raises:
        ConfigError: ``max_words`` is below 1.
    """
    _check(max_words)
    total = long = 0
    for sentence in sentences:
        total += 1
        if max_words is not None and length(sentence) > max_words:
            long += 1
        else:
            yield sentence
    if long:
        warnings.warn(
            ("" if file is None else f"{os.fspath(file)}: ")
            + f"left out {long} of {total} sentences, which have more than {max_words} {unit}",
            stacklevel=2,
        )


def too_long(
    max_words: int | None,
    got: object = "none",
    *,
    file: PathLike,
    line: int | None = None,
    unit: str = "words",
    cure: str = "raise max_words",
) -> TreeError:
    """The error of a sentence over the limit, or of a file where every sentence is."""
    return TreeError(
        f"expected a sentence of at most {max_words} {unit}, got {got}; {cure}",
        file=file,
        line=line,
    )
