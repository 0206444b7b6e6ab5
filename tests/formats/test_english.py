from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import ConfigError
from dgltrees.formats import english, split_sentences, tokenize

pytest.importorskip("spacy", reason="needs spaCy")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The end.", "The end ."),
        ("Mr. and Mrs. Lake, of the U.S., left.", "Mr. and Mrs. Lake , of the U.S. , left ."),
        ("J. Lake's dog didn't bark; they'd know.", "J. Lake 's dog did n't bark ; they 'd know ."),
        ("It was I. He can’t.", "It was I . He ca n’t ."),
        ("A well-known--and old--rule...", "A well - known -- and old -- rule ..."),
        ("1,214 cars at 10:30 for $3.50", "1,214 cars at 10:30 for $ 3.50"),
        ("“Stop!” (she _never_ said)", "“ Stop ! ” ( she never said )"),
        ("Where  the U.S.\ngoes", "Where the U.S. goes"),
        ("six o'clock , as it was", "six o'clock , as it was"),
        ("", ""),
    ],
)
def test_a_text_is_split_into_words(text: str, words: str) -> None:
    assert tokenize(text) == words.split()


@given(st.text())
def test_words_are_the_text_without_spaces_and_underscores(text: str) -> None:
    letters = "".join(c for c in text if not c.isspace() and c != "_")
    assert "".join(tokenize(text)) == letters
    sentences = split_sentences(text)
    assert "".join(word for words in sentences for word in words) == letters
    assert all(sentences)


@pytest.mark.parametrize(
    ("paragraph", "sentences"),
    [
        ("One. Two!  Three?", ["One .", "Two !", "Three ?"]),
        ('"Is it?" said he. "No." So.', ['" Is it ? " said he .', '" No . "', "So ."]),
        ("Dr. J. Lake met Lt. B. Sea. They left.", ["Dr. J. Lake met Lt. B. Sea .", "They left ."]),
        ("It was I. We went... and came.", ["It was I .", "We went ... and came ."]),
        ("In the U.S. Army they sing.", ["In the U.S. Army they sing ."]),
        (
            "It ended (at last.) “Come!” (He came.)",
            ["It ended ( at last . )", "“ Come ! ”", "( He came . )"],
        ),
        ("no end", ["no end"]),
        (" _ ", []),
    ],
)
def test_a_paragraph_is_split_into_sentences(paragraph: str, sentences: list[str]) -> None:
    assert [" ".join(words) for words in split_sentences(paragraph)] == sentences


def test_without_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    english._english.cache_clear()
    with pytest.raises(ConfigError, match=r"needs spaCy: pip install 'dgltrees\[spacy\]'"):
        tokenize("The end.")
