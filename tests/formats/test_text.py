import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import ConfigError, TreeError
from dgltrees.formats import sentences_of_lines, sentences_of_text, split_sentences, text, tokenize
from dgltrees.formats.sentences import Sentence
from tests.trees.nested import write

needs_spacy = pytest.mark.skipif(find_spec("spacy") is None, reason="needs spaCy")


def test_a_sentence_per_line(tmp_path: Path) -> None:
    sentences = list(sentences_of_lines(write(tmp_path, "a b .\n\n  c  \n")))
    assert [sentence.words for sentence in sentences] == [["a", "b", "."], ["c"]]
    assert [sentence.line for sentence in sentences] == [1, 3]


@needs_spacy
def test_paragraphs_end_at_blank_lines(tmp_path: Path) -> None:
    path = write(tmp_path, "Header:\n*END* of it\nIt was\nlate. She\nleft.\n\nNo more\n\n")
    sentences = list(sentences_of_text(path, after="*END*"))
    texts = [" ".join(sentence.words) for sentence in sentences]
    assert texts == ["It was late .", "She left .", "No more"]
    assert [sentence.line for sentence in sentences] == [3, 3, 7]
    with pytest.warns(UserWarning, match="no line has 'NOWHERE'; read from the beginning"):
        sentences = list(sentences_of_text(path, after="NOWHERE"))
    assert sentences[0].words[:2] == ["Header", ":"]


READS = [sentences_of_lines, pytest.param(sentences_of_text, marks=needs_spacy)]


@pytest.mark.parametrize("read", READS)
def test_control_characters_are_spaces(
    tmp_path: Path, read: Callable[[Path], Iterator[Sentence]]
) -> None:
    (sentence,) = read(write(tmp_path, "He\x15 went\x1aout\x7f .\n"))
    assert sentence.words == ["He", "went", "out", "."]


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


@needs_spacy
@pytest.mark.parametrize(
    ("given_text", "words"),
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
def test_a_text_is_split_into_words(given_text: str, words: str) -> None:
    assert tokenize(given_text) == words.split()


@needs_spacy
@given(written=st.text())
def test_words_are_the_text_without_spaces_and_underscores(written: str) -> None:
    letters = "".join(c for c in written if not c.isspace() and c != "_")
    assert "".join(tokenize(written)) == letters
    sentences = split_sentences(written)
    assert "".join(word for words in sentences for word in words) == letters
    assert all(sentences)


@needs_spacy
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


@needs_spacy
@pytest.mark.parametrize("word", ["(" * 8_000, "a" * 1_001, ",".join("a" * 900)])
def test_a_very_long_word_is_refused(tmp_path: Path, word: str) -> None:
    """The time of spaCy grows with the square of its length."""
    path = write(tmp_path, f"A line.\n\nAnd {word}\n")
    for sentences in (sentences_of_text(path), sentences_of_lines(path, split=tokenize)):
        with pytest.raises(TreeError, match=r"data.txt:3: expected words of at most 1,000 char"):
            list(sentences)
    assert len(list(sentences_of_lines(path))) == 2
    assert tokenize("a" * 1_000) == ["a" * 1_000]


@needs_spacy
def test_without_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    text._english.cache_clear()
    with pytest.raises(ConfigError, match=r"missing spaCy, .* pip install 'dgltrees\[spacy\]'"):
        tokenize("The end.")
