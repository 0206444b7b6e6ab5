"""Plain text: a sentence per line, or paragraphs of English, which spaCy splits into words.

Control characters, which occur in old texts and which CoNLL-U forbids, are replaced by spaces.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, TypeVar

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats.lines import at_least_one, between_blank, empty_file, open_bytes
from dgltrees.formats.sentences import Sentence

T = TypeVar("T")

_LONGEST = 1_000  # spaCy's time grows with the square of the length of a word
_SPACES = dict.fromkeys([*range(32), 127], " ")


def sentences_of_lines(
    path: PathLike, *, encoding: str = "utf-8", split: Callable[[str], list[str]] = str.split
) -> Iterator[Sentence]:
    """Read the sentences of a file with one sentence per line.

    Arguments:
        path: the file.
        encoding: the encoding of the file, such as ``latin-1``.
        split: splits a line into words; default: at spaces.

    Returns:
        an iterator over sentences.

    Raises:
        TreeError: a line is not in the encoding, or the file has no words; the error names file and
            line.
        ConfigError: the encoding does not exist.
    """
    lines = (
        (_split_at(split, line, path, number), number) for number, line in _lines(path, encoding)
    )
    sentences = (_sentence(words, number) for words, number in lines if words)
    return at_least_one(sentences, empty_file(path, "sentence"))


def sentences_of_text(
    path: PathLike, *, encoding: str = "utf-8", after: str | None = None
) -> Iterator[Sentence]:
    """Read the sentences of English text with blank lines between its paragraphs.

    Memory holds one paragraph at a time.

    Arguments:
        path: the file.
        encoding: the encoding of the file, such as ``latin-1``.
        after: skip the lines until the first one that contains this string, such as ``*END*`` below
            the header of an old Gutenberg text. If no line contains it, the whole file is read,
            with a warning.

    Returns:
        an iterator over sentences.

    Raises:
        TreeError: see :func:`sentences_of_lines`.
        ConfigError: the encoding does not exist, or spaCy is not installed.
    """
    header = 0 if after is None else _line_with(after, path, encoding)
    lines = ((number, line) for number, line in _lines(path, encoding) if number > header)
    sentences = (
        _sentence(words, paragraph[0][0])
        for paragraph in between_blank(lines)
        for words in _split_at(
            split_sentences, " ".join(line.strip() for _, line in paragraph), path, paragraph[0][0]
        )
    )
    yield from at_least_one(sentences, empty_file(path, "sentence"))


def _split_at(split: Callable[[str], list[T]], text: str, path: PathLike, line: int) -> list[T]:
    """Split the text at a line of a file, which errors name."""
    try:
        return split(text)
    except TreeError as error:
        raise TreeError(error.message, file=path, line=line) from None


def _sentence(words: list[str], line: int) -> Sentence:
    return Sentence(words, [], {}, [line] * len(words), line, {})


def _line_with(string: str, path: PathLike, encoding: str) -> int:
    """Return the number of the first line that contains a string; 0 with a warning if none does."""
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
                yield number, line.decode(encoding).translate(_SPACES)
            except UnicodeDecodeError:
                raise TreeError(
                    f"expected text in {encoding}, got {line[:40]!r}; name another encoding",
                    file=path,
                    line=number,
                ) from None
            except LookupError:
                raise ConfigError(f"expected the name of an encoding, got {encoding!r}") from None


_ABBREVIATIONS = "Capt Chap Col Esq Fig Hon Lieut Lt Maj Sergt Vol etc"
"""Abbreviations of novels and articles that spaCy's tokenizer does not know."""


def tokenize(text: str) -> list[str]:
    """Split a sentence into words with spaCy's tokenizer for English.

    A punctuation mark is a word, also a hyphen. Clitics are split (``do n't``, ``Ada 's``).
    Abbreviations and initials keep their full stop. Underscores, which mark emphasis in plain text,
    are dropped. No model is needed.

    Arguments:
        text: the sentence.

    Returns:
        the words.

    Raises:
        ConfigError: spaCy is not installed.
        TreeError: there are more than 1,000 characters without a space.

    Example:
        >>> import spacy
        >>> tokenize("I don't know.")
        ['I', 'do', "n't", 'know', '.']
    """
    return [token.text for token in _english().make_doc(_plain(text))]


def split_sentences(text: str) -> list[list[str]]:
    """Split a paragraph into sentences with spaCy's sentencizer, and these into words.

    A sentence ends at a full stop, question or exclamation mark and the closing quotes and brackets
    after it, unless a word in lower case follows (``"Is it?" said he.``).

    Arguments:
        text: the paragraph.

    Returns:
        the words of each sentence.

    Raises:
        ConfigError: spaCy is not installed.
        TreeError: there are more than 1,000 characters without a space.
    """
    doc = _english()(_plain(text))
    starts = [0]
    for sentence in doc.sents:
        start = sentence.start
        while start and not doc[start - 1].whitespace_:  # the quote that opens a sentence is its
            start -= 1
        if start > starts[-1] and not sentence[0].is_lower:
            starts.append(start)
    words = [token.text for token in doc]
    sentences = [words[start:stop] for start, stop in zip(starts, [*starts[1:], len(words)])]
    return [sentence for sentence in sentences if sentence]


def _plain(text: str) -> str:
    """Return the text without underscores, and with a single space between its words."""
    words = text.replace("_", " ").split()
    for word in words:
        if len(word) > _LONGEST:
            raise TreeError(
                f"expected words of at most {_LONGEST:,} characters, got {word[:20]!r}... of "
                f"{len(word):,}; separate its words by spaces, or leave it out"
            )
    return " ".join(words)


@lru_cache(maxsize=1)
def _english() -> Any:
    """Return spaCy's tokenizer and sentencizer for English."""
    try:
        import spacy
        from spacy.symbols import ORTH
    except ImportError:
        raise ConfigError(
            "missing spaCy, which splits English text into words; install it with "
            "pip install 'dgltrees[spacy]', or give text with spaces between words"
        ) from None
    english: Any = spacy.blank("en")
    english.add_pipe("sentencizer")
    for name in _ABBREVIATIONS.split():
        english.tokenizer.add_special_case(f"{name}.", [{ORTH: f"{name}."}])
    english.tokenizer.add_special_case("I.", [{ORTH: "I"}, {ORTH: "."}])  # no initial
    return english
