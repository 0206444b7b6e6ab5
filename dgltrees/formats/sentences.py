"""Sentences with heads, whatever file they stand in, as dependency forests."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Callable, Optional, Union

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats.lines import gather, open_bytes
from dgltrees.trees.builders.balance import check_utf8
from dgltrees.trees.builders.heads import from_heads
from dgltrees.trees.builders.vocabs import own_vocabs
from dgltrees.trees.examples import Examples
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary
from dgltrees.trees.words import frequent_words, recode

__all__ = [
    "Parse",
    "Sentence",
    "blocks",
    "files_of",
    "forest_of",
    "head_of",
    "read_sentences",
    "stream_sentences",
]


@dataclass(frozen=True)
class Sentence:
    """A sentence of ``W`` words as a file has it.

    Arguments:
        words: ``(W,)``.
        heads: ``(W,)`` the head of each word, from 1, or 0 for ROOT; not checked.
        columns: further names, such as ``deprel``, each ``(W,)``; None is none.
        lines: ``(W,)`` where the words stand.
        line: where the sentence begins.
        comments: what the file says of the sentence.
    """

    words: Sequence[str]
    heads: Sequence[int]
    columns: Mapping[str, Sequence[Optional[str]]]
    lines: Sequence[int]
    line: int
    comments: Mapping[str, Optional[str]]


Parse = Callable[[PathLike], Iterator[Sentence]]
"""Reads a file, a sentence at a time."""


def blocks(path: PathLike) -> Iterator[list[tuple[int, str]]]:
    """The lines of a file between blank lines, each with its number.

    Raises:
        TreeError: a line is not UTF-8, or all are blank.
    """
    block: list[tuple[int, str]] = []
    empty = True
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                check_utf8(line, path, number)
                block.append((number, line.decode("utf-8").rstrip("\r\n")))
            elif block:
                yield block
                block, empty = [], False
    if block:
        yield block
    elif empty:
        raise TreeError("expected at least one tree, got an empty file", file=path)


def head_of(text: str, path: PathLike, line: int) -> int:
    """The head that stands in a file.

    Raises:
        TreeError: it is no integer from 0.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise TreeError(
            f"expected the number of a word, or 0 for the root, as a head, got {text!r}",
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
    """The dependency forest of some sentences of one file; see :func:`from_heads`."""
    words = list(chain.from_iterable(one.words for one in sentences))
    columns = {
        name: list(chain.from_iterable(one.columns[name] for one in sentences))
        for name in vocabs
        if name != "word"
    }
    return from_heads(
        [word.lower() for word in words] if lower else words,
        list(chain.from_iterable(one.heads for one in sentences)),
        offsets=np.cumsum([0, *(len(one.words) for one in sentences)]),
        columns=columns,
        vocabs=vocabs,
        single_root=single_root,
        file=file,
        lines=list(chain.from_iterable(one.lines for one in sentences)),
    )


def stream_sentences(
    parse: Parse,
    names: Sequence[str],
    paths: Union[PathLike, Sequence[PathLike]],
    trees: int,
    *,
    vocabs: Optional[Mapping[str, Vocabulary]],
    lower: bool,
    max_words: Optional[int],
    single_root: bool,
) -> Iterator[Examples]:
    """What ``parse`` reads of one or many files, at most ``trees`` at a time.

    Arguments:
        names: the columns that ``parse`` gives, ``word`` among them.
        the others: see :func:`~dgltrees.formats.stream_conllu`.
    """
    if trees < 1:
        raise ConfigError(f"expected chunks of at least one tree, got trees={trees}")
    if max_words is not None and max_words < 1:
        raise ConfigError(f"expected max_words to be at least 1, got {max_words}")
    files = files_of(paths)
    known = own_vocabs(vocabs, *names)
    empty = True
    for file in files:
        kept = _short(parse(file), max_words, file)
        while chosen := list(islice(kept, trees)):
            empty = False
            yield Examples(
                forest_of(chosen, vocabs=known, lower=lower, single_root=single_root, file=file)
            )
    if empty:
        raise TreeError(
            f"expected a sentence of at most {max_words} words, got none; raise max_words",
            file=files[0],
        )


def read_sentences(stream: Iterable[Examples], min_count: int, *, counted: bool) -> Examples:
    """All of a stream, with ``<unk>`` for the words that stand in it less than ``min_count`` times.

    Arguments:
        stream: what :func:`stream_sentences` gives.
        min_count: 1 keeps all words.
        counted: whether the words have a vocabulary already.

    Raises:
        ConfigError: they have, and ``min_count`` wants to make one.
    """
    if min_count < 1 or (min_count > 1 and counted):
        raise ConfigError(
            f"expected min_count to be 1 where a vocabulary of words is given, and never less, "
            f"got {min_count}"
        )
    examples = gather(stream)
    if min_count == 1:
        return examples
    words = frequent_words([examples.forest], min_count)
    return Examples(recode(examples.forest, {"word": words}))


def files_of(paths: Union[PathLike, Sequence[PathLike]]) -> list[PathLike]:
    """A file or some files as a list.

    Raises:
        ConfigError: there is none.
    """
    files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not files:
        raise ConfigError("expected at least one file, got none")
    return files


def _short(
    sentences: Iterator[Sentence], max_words: Optional[int], file: PathLike
) -> Iterator[Sentence]:
    """The sentences of at most ``max_words`` words; a warning says how many were left out."""
    seen = long = 0
    for sentence in sentences:
        seen += 1
        if max_words is not None and len(sentence.words) > max_words:
            long += 1
        else:
            yield sentence
    if long:
        warnings.warn(
            f"{os.fspath(file)}: left out {long} of {seen} sentences, which have more than "
            f"{max_words} words",
            stacklevel=2,
        )
