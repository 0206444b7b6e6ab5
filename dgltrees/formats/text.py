"""Plain English text as sentences of words, as far as rules of a line or two can tell."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Optional

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
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
    | \.{{2,}} | -{{2,}} | `` | ''                  # ... and -- are one
    | [^\s_]                                        # any other mark alone
    """,
    re.VERBOSE,
)
_CLITIC = re.compile(r"(.+?)(n['’]t|['’](?:s|m|d|ll|re|ve))", re.IGNORECASE)
_END = re.compile(r"""([.!?]+)["'”’)\]]*\s+(?=["'“‘`(\[]*[A-Z])""")
_NO_END = re.compile(
    rf"""(?:^|[\s"'“‘`(\[-])(?:{_ABBREVIATIONS}|[A-HJ-Z]|(?:[A-Za-z]\.)+[A-Za-z])$"""
)


def tokenize(text: str) -> list[str]:
    """The words of a sentence, much as English treebanks have them.

    Marks stand alone; hyphens and apostrophes within a word do not part it, but clitics do
    (``do n't``, ``Ada 's``); abbreviations and initials keep their full stop; ``...`` and ``--``
    are one word; underscores, which set words off in plain text, are dropped.
    """
    words: list[str] = []
    for token in _TOKEN.findall(text):
        parts = _CLITIC.fullmatch(token)
        words += parts.groups() if parts else [token]
    return words


def split_sentences(text: str) -> list[str]:
    """The sentences of a paragraph.

    One ends at full stops, question and exclamation marks, with the quotes and brackets that they
    close, before a capital; but not at the full stop of an abbreviation or an initial.
    """
    found, start = [], 0
    for end in _END.finditer(text):
        if end[1] == "." and _NO_END.search(text, start, end.start()):
            continue
        found.append(text[start : end.end()].strip())
        start = end.end()
    return [*found, text[start:].strip()] if text[start:].strip() else found


def sentences_of_lines(path: PathLike, *, encoding: str = "utf-8") -> Iterator[Sentence]:
    """The sentences of a file that has one a line, with spaces between the words.

    Raises:
        TreeError: with file and line: a line is not in the encoding; or there is no word.
        ConfigError: there is no such encoding.
    """
    empty = True
    for number, line in _lines(path, encoding):
        if words := line.split():
            empty = False
            yield _sentence(words, number)
    if empty:
        raise TreeError("expected at least one sentence, got an empty file", file=path)


def sentences_of_text(
    path: PathLike, *, encoding: str = "utf-8", after: Optional[str] = None
) -> Iterator[Sentence]:
    """The sentences of running text, whose paragraphs have blank lines between them.

    Memory holds a paragraph at a time.

    Arguments:
        path: the file.
        encoding: of the file, ``latin-1`` for example.
        after: the text begins behind the first line that holds these characters, such as ``*END*``
            below the header of an old Gutenberg text; a file without them is read from its
            beginning, and a warning says so.

    Raises:
        TreeError, ConfigError: see :func:`sentences_of_lines`.
    """
    empty, header = True, 0 if after is None else _line_of(path, encoding, after)
    lines = (pair for pair in _lines(path, encoding) if pair[0] > header)
    for number, paragraph in _paragraphs(lines):
        for sentence in split_sentences(paragraph):
            if words := tokenize(sentence):
                empty = False
                yield _sentence(words, number)
    if empty:
        raise TreeError("expected at least one sentence, got an empty file", file=path)


def _sentence(words: list[str], line: int) -> Sentence:
    return Sentence(words, [], {}, [line] * len(words), line, {})


def _paragraphs(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Each with the number of its first line."""
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


def _line_of(path: PathLike, encoding: str, mark: str) -> int:
    """The number of the first line with the mark, 0 if there is none."""
    found = next((number for number, line in _lines(path, encoding) if mark in line), 0)
    if not found:
        warnings.warn(
            f"{os.fspath(path)}: no line has {mark!r}; read from the beginning", stacklevel=2
        )
    return found


def _lines(path: PathLike, encoding: str) -> Iterator[tuple[int, str]]:
    with open(path, "rb") as file:
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
