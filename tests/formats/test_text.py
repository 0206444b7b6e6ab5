from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import ConfigError, TreeError
from dgltrees.formats import sentences_of_lines, sentences_of_text, split_sentences, tokenize
from dgltrees.formats.sentences import Sentence
from tests.trees.nested import write


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The end.", "The end ."),
        ("Mr. and Mrs. Lake, of the U.S., left.", "Mr. and Mrs. Lake , of the U.S. , left ."),
        ("J. Lake's dog didn't bark; they'd know.", "J. Lake 's dog did n't bark ; they 'd know ."),
        ("It was I. He can’t.", "It was I . He ca n’t ."),
        ("A well-known--and old--rule...", "A well-known -- and old -- rule ..."),
        ("1,214 cars at 10:30 for $3.50", "1,214 cars at 10:30 for $ 3.50"),
        ("“Stop!” (she _never_ said)", "“ Stop ! ” ( she never said )"),
        ("Where the U.S. goes", "Where the U.S. goes"),
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
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("paragraph", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ('"Is it?" said he. "No." So it went.', ['"Is it?" said he.', '"No."', "So it went."]),
        ("Dr. J. Lake met Mr. B. Sea. They left.", ["Dr. J. Lake met Mr. B. Sea.", "They left."]),
        ("It was I. We went... and came.", ["It was I.", "We went... and came."]),
        ("In the U.S. Army they sing.", ["In the U.S. Army they sing."]),
        ("no end", ["no end"]),
    ],
)
def test_a_paragraph_is_split_into_sentences(paragraph: str, sentences: list[str]) -> None:
    assert split_sentences(paragraph) == sentences


def test_a_sentence_per_line(tmp_path: Path) -> None:
    sentences = list(sentences_of_lines(write(tmp_path, "a b .\n\n  c  \n")))
    assert [sentence.words for sentence in sentences] == [["a", "b", "."], ["c"]]
    assert [sentence.line for sentence in sentences] == [1, 3]


def test_paragraphs_end_at_blank_lines(tmp_path: Path) -> None:
    path = write(tmp_path, "Header:\n*END* of it\nIt was\nlate. She\nleft.\n\nNo more\n\n")
    sentences = list(sentences_of_text(path, after="*END*"))
    texts = [" ".join(sentence.words) for sentence in sentences]
    assert texts == ["It was late .", "She left .", "No more"]
    assert [sentence.line for sentence in sentences] == [3, 3, 7]
    with pytest.warns(UserWarning, match="no line has 'NOWHERE'; read from the beginning"):
        sentences = list(sentences_of_text(path, after="NOWHERE"))
    assert sentences[0].words[:2] == ["Header", ":"]


def test_encodings(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("one\ncafé\n".encode("latin-1"))
    assert [one.words for one in sentences_of_lines(path, encoding="latin-1")][1] == ["café"]
    with pytest.raises(TreeError, match=r"text:2: expected text in utf-8, got b'caf\\xe9"):
        list(sentences_of_text(path))
    with pytest.raises(ConfigError, match="expected the name of an encoding, got 'latin-99'"):
        list(sentences_of_text(path, encoding="latin-99"))


@pytest.mark.parametrize("read", [sentences_of_lines, sentences_of_text])
def test_an_empty_file(tmp_path: Path, read: Callable[[Path], Iterator[Sentence]]) -> None:
    with pytest.raises(TreeError, match="expected at least one sentence, got an empty file"):
        list(read(write(tmp_path, "\n \n")))
