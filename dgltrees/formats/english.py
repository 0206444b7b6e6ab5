"""English text split into sentences and words by spaCy."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from dgltrees.errors import ConfigError

__all__ = ["split_sentences", "tokenize"]

_ABBREVIATIONS = (
    "Capt",
    "Chap",
    "Col",
    "Esq",
    "Fig",
    "Hon",
    "Lieut",
    "Lt",
    "Maj",
    "Sergt",
    "Vol",
    "etc",
)
"""Abbreviations of novels and articles that spaCy's tokenizer does not know."""


def tokenize(text: str) -> list[str]:
    """The words of a sentence, as spaCy's tokenizer for English splits them.

    A punctuation mark is a word, hyphens included; clitics are split (``do n't``, ``Ada 's``);
    abbreviations and initials keep their full stop. Underscores, which mark emphasis in plain text,
    are dropped. No model is needed.

    Raises:
        ConfigError: spaCy is not installed.
    """
    return [token.text for token in _english().make_doc(_plain(text))]


def split_sentences(text: str) -> list[list[str]]:
    """The words of each sentence of a paragraph, as spaCy's sentencizer splits it.

    A sentence ends at full stops, question and exclamation marks, and the quotes and brackets that
    close behind them, unless a word in lower case follows (``"Is it?" said he.``).

    Raises:
        ConfigError: spaCy is not installed.
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
    """The text without underscores, and with a single space between its words."""
    return " ".join(text.replace("_", " ").split())


@lru_cache(maxsize=1)
def _english() -> Any:
    """spaCy's tokenizer and sentencizer for English."""
    try:
        import spacy
        from spacy.symbols import ORTH
    except ImportError:
        raise ConfigError(
            "splitting English text into words needs spaCy: pip install 'dgltrees[spacy]'; or give "
            "text with spaces between words"
        ) from None
    english: Any = spacy.blank("en")
    english.add_pipe("sentencizer")
    for name in _ABBREVIATIONS:
        english.tokenizer.add_special_case(f"{name}.", [{ORTH: f"{name}."}])
    english.tokenizer.add_special_case("I.", [{ORTH: "I"}, {ORTH: "."}])  # no initial
    return english
