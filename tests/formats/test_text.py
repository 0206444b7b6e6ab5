from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dgltrees import ConfigError, TreeError
from dgltrees.formats import sentences_of_lines, sentences_of_text
from dgltrees.formats.sentences import Sentence
from tests.trees.nested import write


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


@pytest.mark.parametrize("read", [sentences_of_lines, sentences_of_text])
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
