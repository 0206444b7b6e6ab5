"""Plain English text split into sentences and words by a few regular expressions."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Optional

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats.lines import empty_file, open_bytes
from dgltrees.formats.sentences import Sentence

__all__ = ["sentences_of_lines", "sentences_of_text", "split_sentences", "tokenize"]

_ABBREVIATIONS = (
    "Mr|Mrs|Ms|Messrs|Mme|Mlle|Dr|Prof|Rev|Hon|St|Sr|Jr|Esq|Capt|Col|Gen|Lieut|Lt|Sergt|Maj|Gov|"
    "Sen|Vol|Chap|Fig|vs|viz|etc|i\\.e|e\\.g|cf|Co|Inc|Ltd|Jan|Feb|Aug|Sept|Oct|Nov|Dec"
)
_TOKEN = re.compile(
    rf"""
    (?: {_ABBREVIATIONS} )\. (?= \s+ \S)            # Mr. Holmes, but a last word has no full stop
    | (?: [A-Za-z]\. ){{2,}}                        # U.S.
    | [A-HJ-Z]\. (?= \s+ [A-Z])                     # an initial
    | [^\W\d_]+ (?: ['’-] [^\W_]+ )*                # words, with hyphens and apostrophes
    | \d+ (?: [.,:/-]? [^\W_]+ )*                   # 1,214  3.5  10:30  1890s
    | \.{{2,}} | -{{2,}} | `` | ''                  # ... and -- are one word
    | [^\s_]                                        # any other punctuation mark
    """,
    re.VERBOSE,
)
_CLITIC = re.compile(r"(.+?)(n['’]t|['’](?:s|m|d|ll|re|ve))", re.IGNORECASE)
_SENTENCE_END = re.compile(r"""([.!?]+)["'”’)\]]*\s+(?=["'“‘`(\[]*[A-Z])""")
_ABBREVIATION_END = re.compile(
    rf"""(?:^|[\s"'“‘`(\[-])(?:{_ABBREVIATIONS}|[A-HJ-Z]|(?:[A-Za-z]\.)+[A-Za-z])$"""
)


def tokenize(text: str) -> list[str]:
    """The words of a sentence, much as English treebanks split them.

    A punctuation mark is a word. Words with hyphens and apostrophes are not split, except for
    clitics (``do n't``, ``Ada 's``). Abbreviations and initials keep their full stop; ``...`` and
    ``--`` are one word each. Underscores, which mark emphasis in plain text, are dropped.
    """
    words: list[str] = []
    for token in _TOKEN.findall(text):
        parts = _CLITIC.fullmatch(token)
        words += parts.groups() if parts else [token]
    return words


def split_sentences(text: str) -> list[str]:
    """The sentences of a paragraph.

    A sentence ends at full stops, question and exclamation marks, and the quotes and brackets that
    close behind them, before a capital; but not at the full stop of an abbreviation or an initial.
    """
    sentences, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        if end[1] == "." and _ABBREVIATION_END.search(text, start, end.start()):
            continue
        sentences.append(text[start : end.end()].strip())
        start = end.end()
    remainder = text[start:].strip()
    return [*sentences, remainder] if remainder else sentences


def sentences_of_lines(path: PathLike, *, encoding: str = "utf-8") -> Iterator[Sentence]:
    """The sentences of a file with one sentence per line and spaces between the words.

    Raises:
        TreeError: with file and line: a line is not in the encoding; or the file has no words.
        ConfigError: the encoding does not exist.
    """
    empty = True
    for number, line in _lines(path, encoding):
        if words := line.split():
            empty = False
            yield _sentence(words, number)
    if empty:
        raise empty_file(path, "sentence")


def sentences_of_text(
    path: PathLike, *, encoding: str = "utf-8", after: Optional[str] = None
) -> Iterator[Sentence]:
    """The sentences of English text with blank lines between its paragraphs.

    Memory holds one paragraph at a time.

    Arguments:
        path: the file.
        encoding: of the file, ``latin-1`` for example.
        after: skip the lines up to the first one that contains this string, such as ``*END*`` below
            the header of an old Gutenberg text; where no line does, a warning says so and the whole
            file is read.

    Raises:
        TreeError, ConfigError: see :func:`sentences_of_lines`.
    """
    empty, header = True, 0 if after is None else _line_with(after, path, encoding)
    lines = ((number, line) for number, line in _lines(path, encoding) if number > header)
    for number, paragraph in _paragraphs(lines):
        for sentence in split_sentences(paragraph):
            if words := tokenize(sentence):
                empty = False
                yield _sentence(words, number)
    if empty:
        raise empty_file(path, "sentence")


def _sentence(words: list[str], line: int) -> Sentence:
    return Sentence(words, [], {}, [line] * len(words), line, {})


def _paragraphs(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Each paragraph on one line, with the number of its first line."""
    paragraph: list[str] = []
    first = 0
    for number, line in lines:
        if line.strip():
            first = first if paragraph else number
            paragraph.append(line.strip())
        elif paragraph:
            yield first, " ".join(paragraph)
            paragraph = []
    if paragraph:
        yield first, " ".join(paragraph)


def _line_with(string: str, path: PathLike, encoding: str) -> int:
    """The number of the first line that contains a string; 0, and a warning, if none does."""
    for number, line in _lines(path, encoding):
        if string in line:
            return number
    warnings.warn(
        f"{os.fspath(path)}: no line has {string!r}; read from the beginning", stacklevel=2
    )
    return 0


def _lines(path: PathLike, encoding: str) -> Iterator[tuple[int, str]]:
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                yield number, line.decode(encoding)
            except UnicodeDecodeError:
                raise TreeError(
                    f"expected text in {encoding}, got {line[:40]!r}; name another encoding",
                    file=path,
                    line=number,
                ) from None
            except LookupError:
                raise ConfigError(f"expected the name of an encoding, got {encoding!r}") from None
