"""Sentences with heads, from files of any format, as dependency forests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats.lengths import leave_out_long, too_long
from dgltrees.formats.lines import chunks, empty_file, files_of, gather, numbered_lines
from dgltrees.trees.builders.sentences import from_heads
from dgltrees.trees.examples import Examples
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import offsets_of, within
from dgltrees.trees.vocabulary import Vocabulary, vocabs_for
from dgltrees.trees.words import frequent_words, recode

__all__ = [
    "Parse",
    "Sentence",
    "blocks",
    "forest_of",
    "head_of",
    "read_sentences",
    "sentence_forest",
    "stream_sentences",
]


@dataclass(frozen=True)
class Sentence:
    """A sentence of ``W`` words, as a file has it.

    Arguments:
        words: ``(W,)``.
        heads: ``(W,)`` the number of each word's head, from 1, or 0 for ROOT; not checked. Empty
            in formats without heads.
        columns: further columns of names, such as ``deprel``, each ``(W,)``; None where a word has
            no name.
        lines: ``(W,)`` the number of each word's line.
        line: the number of the sentence's first line.
        comments: the comments above the sentence, ``# key = value``.
    """

    words: Sequence[str]
    heads: Sequence[int]
    columns: Mapping[str, Sequence[str | None]]
    lines: Sequence[int]
    line: int
    comments: Mapping[str, str | None]


Parse = Callable[[PathLike], Iterator[Sentence]]
"""Reads a file sentence by sentence."""


def blocks(path: PathLike) -> Iterator[list[tuple[int, str]]]:
    """The lines of a file between blank lines, each line with its number.

    Raises:
        TreeError: with file and line: a line is not UTF-8; or all lines are blank.
    """
    block: list[tuple[int, str]] = []
    empty = True
    for number, line in numbered_lines(path):
        if line.strip():
            block.append((number, line))
        elif block:
            yield block
            block, empty = [], False
    if block:
        yield block
    elif empty:
        raise empty_file(path)


def head_of(text: str, path: PathLike, line: int) -> int:
    """The number of a head from its text.

    Raises:
        TreeError: with file and line: the text is not a number, or the number is negative or huge.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise TreeError(
            f"expected the number of a word, or 0 for the root, as a head, got {text!r}"
            + ("; give the heads, as `dgltrees parse` does with a trained parser" * (text == "_")),
            file=path,
            line=line,
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
    """The dependency forest of sentences from one file; see :func:`from_heads`."""
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


def sentence_forest(sentences: Sequence[Sentence]) -> Forest:
    """Sentences as a forest without heads, in which each word is the child of the one before.

    Columns: ``word``, ``upos`` and ``xpos``, -1 where a sentence has none.
    """
    sizes = np.array([len(each.words) for each in sentences], np.int64)
    tags = {
        name: list(
            chain.from_iterable(
                each.columns.get(name) or [None] * len(each.words) for each in sentences
            )
        )
        for name in ("upos", "xpos")
    }
    words = list(chain.from_iterable(each.words for each in sentences))
    return from_heads(words, within(sizes), offsets=offsets_of(sizes), columns=tags)


def stream_sentences(
    parse: Parse,
    columns: Sequence[str],
    paths: PathLike | Sequence[PathLike],
    trees: int,
    *,
    vocabs: Mapping[str, Vocabulary] | None,
    lower: bool,
    max_words: int | None,
    single_root: bool,
) -> Iterator[Examples]:
    """The sentences of one or several files as dependency trees, at most ``trees`` at a time.

    Arguments:
        parse: reads one file.
        columns: the columns of names that its sentences have, ``word`` among them.
        paths, trees, vocabs, lower, max_words, single_root: see
            :func:`~dgltrees.formats.stream_conllu`.
    """
    files = files_of(paths)
    vocabs = vocabs_for(vocabs, *columns)
    empty = True
    for file in files:
        short = leave_out_long(parse(file), lambda one: len(one.words), max_words, file=file)
        for chunk in chunks(short, trees):
            empty = False
            yield Examples(
                forest_of(chunk, vocabs=vocabs, lower=lower, single_root=single_root, file=file)
            )
    if empty:
        raise too_long(max_words, file=files[0])


def read_sentences(
    stream: Iterable[Examples], vocabs: Mapping[str, Vocabulary] | None, min_count: int
) -> Examples:
    """All examples of a stream, with ``<unk>`` for rare words.

    Arguments:
        stream: what :func:`stream_sentences` yields with the same ``vocabs``.
        vocabs: the vocabularies that the user chose.
        min_count: words that occur less often in the stream become ``<unk>``; 1 keeps every word.

    Raises:
        ConfigError: ``min_count`` is below 1, or above 1 although ``vocabs`` has the words.
    """
    if min_count < 1 or (min_count > 1 and "word" in (vocabs or {})):
        raise ConfigError(
            f"expected min_count to be 1 where a vocabulary of words is given, and never less, "
            f"got {min_count}"
        )
    examples = gather(stream)
    if min_count == 1:
        return examples
    words = frequent_words([examples.forest], min_count)
    return Examples(recode(examples.forest, {"word": words}))
