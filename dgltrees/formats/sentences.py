"""Sentences with heads, from files of any format, as dependency forests; and their lengths."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats.lines import (
    LineError,
    at_least_one,
    between_blank,
    chunks,
    empty_file,
    files_of,
    numbered_lines,
)
from dgltrees.trees.builders.sentences import from_heads
from dgltrees.trees.forest import Forest
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.segments import offsets_of
from dgltrees.trees.vocabulary import Vocabulary, vocabs_for

T = TypeVar("T")


@dataclass(frozen=True)
class Sentence:
    """A sentence of ``W`` words of a file.

    Arguments:
        words: ``(W,)``.
        heads: ``(W,)`` the number of each word's head, from 1, or 0 for ROOT; not checked. Empty in
            formats without heads.
        columns: further columns of names, such as ``deprel``, each ``(W,)``; None is a missing
            name.
        lines: ``(W,)`` the number of each word's line.
        line: the number of the sentence's first line.
        comments: the comments above the sentence, ``# key = value``.
    """

    words: Sequence[str]
    heads: Sequence[int]
    columns: Mapping[str, Sequence[str | None]]
    lines: Sequence[int]
    line: int
    comments: Mapping[str, str]


def blocks(path: PathLike) -> Iterator[list[tuple[int, str]]]:
    """Iterate over the blocks of lines between blank lines, each line with its number."""
    return at_least_one(between_blank(numbered_lines(path)), empty_file(path))


def head_of(text: str, line: int, error: LineError) -> int:
    """Parse the number of a head; raise the error of its line if it is none, or negative."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise error(
            f"expected the number of a word, or 0 for the root, as a head, got {text!r}"
            + ("; give the heads, as `dgltrees parse` does with a trained parser" * (text == "_")),
            line,
        )
    return int(text)


def forest_of(
    sentences: Sequence[Sentence],
    *,
    vocabs: Mapping[str, Vocabulary],
    lower: bool,
    single_root: bool,
    file: PathLike,
) -> Forest:
    """Build the dependency forest of sentences from one file, see :func:`from_heads`."""
    words = list(chain.from_iterable(sentence.words for sentence in sentences))
    columns = {
        name: list(chain.from_iterable(sentence.columns[name] for sentence in sentences))
        for name in vocabs
        if name != "word"
    }
    return from_heads(
        [word.lower() for word in words] if lower else words,
        list(chain.from_iterable(sentence.heads for sentence in sentences)),
        offsets=offsets_of([len(sentence.words) for sentence in sentences]),
        columns=columns,
        vocabs=vocabs,
        single_root=single_root,
        file=file,
        lines=list(chain.from_iterable(sentence.lines for sentence in sentences)),
    )


def stream_sentences(
    parse: Callable[[PathLike], Iterator[Sentence]],
    columns: Sequence[str],
    paths: PathLike | Sequence[PathLike],
    trees: int = 10_000,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    lower: bool = False,
    max_words: int | None = None,
    single_root: bool = False,
) -> Iterator[LabeledTrees]:
    """Read the sentences of one or several files as dependency trees, at most ``trees`` at a time.

    Node 0 of a tree is ROOT, node ``i`` is the ``i``-th word, and a node's parent is its head. Node
    columns: ``word``, which is ``<root>`` at ROOT; the other ``columns``, -1 at ROOT and where a
    word has no name. There are no example columns.
    """
    files = files_of(paths)
    vocabs = vocabs_for(vocabs, *columns)
    empty = True
    for file in files:
        short = leave_out_long(parse(file), lambda one: len(one.words), max_words, file=file)
        for chunk in chunks(short, trees):
            empty = False
            yield LabeledTrees(
                forest_of(chunk, vocabs=vocabs, lower=lower, single_root=single_root, file=file)
            )
    if empty:
        raise too_long(max_words, file=files[0])


def leave_out_long(
    sentences: Iterable[T],
    length: Callable[[T], int],
    max_words: int | None,
    *,
    file: PathLike | None = None,
    unit: str = "words",
) -> Iterator[T]:
    """Iterate over the sentences of at most ``max_words`` words.

    A warning at the end gives the number of the others; it names the file and the unit of length.
    """
    if max_words is not None and max_words < 1:
        raise ConfigError(f"expected max_words to be at least 1, got {max_words}")
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
    """Make the error for a sentence over the limit, or for a file in which every sentence is."""
    return TreeError(
        f"expected a sentence of at most {max_words} {unit}, got {got}; {cure}",
        file=file,
        line=line,
    )
