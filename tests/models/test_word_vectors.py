"""Word vectors from text files."""

from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from dgltrees import TreeError, Vocabulary
from dgltrees.models import WordEmbedding, read_word_vectors

VOCAB = Vocabulary(["<root>", "a", "b c", "ü"], frozen=True)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_words_of_the_vocabulary_are_filled(tmp_path: Path) -> None:
    lines = "ü 1 2\nother x y\na 0.5 -1e-1\nb c 3 4\na 7 7\n"
    start = torch.full((4, 2), 9.0)
    vectors, found = read_word_vectors(write(tmp_path / "v.txt", lines), VOCAB, start)
    assert_close(vectors, torch.tensor([[9.0, 9], [0.5, -0.1], [3, 4], [1, 2]]))
    assert found.tolist() == [False, True, True, True]
    assert (start == 9).all()
    assert_close(WordEmbedding("word", 4, 2, vectors=vectors).weight.detach(), vectors)


def test_a_first_line_may_count_the_words(tmp_path: Path) -> None:
    path = write(tmp_path / "v.txt", "2 2\na 1 2 \r\nü 3 4\n")
    vectors, found = read_word_vectors(path, VOCAB, torch.zeros(4, 2))
    assert found.tolist() == [False, True, False, True]
    assert vectors[3].tolist() == [3, 4]
    vectors, _ = read_word_vectors(write(path, "1 2\na 5"), Vocabulary("1a"), torch.zeros(2, 1))
    assert vectors.tolist() == [[2], [5]]


def test_other_bytes(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(b"a 1 2\n\xfc 1 2\n")
    with pytest.raises(TreeError, match=r"v.txt:2: expected UTF-8 text, got the byte 0xfc"):
        read_word_vectors(path, VOCAB, torch.zeros(4, 2))


@pytest.mark.parametrize(
    ("lines", "where", "message"),
    [
        ("a 1 2\nü 1 2 3\n", 2, "expected a word and 2 numbers after single spaces, got 4 fields"),
        ("a 1\n", 1, "expected a word and 2 numbers after single spaces, got 2 fields"),
        ("a 1 2\n\n", 2, "expected a word and 2 numbers after single spaces, got 0 fields"),
        (" 1 2\n", 1, "expected a word and 2 numbers after single spaces, got 2 fields"),
        ("2 3\na 1 2\n", 1, "expected a word and 2 numbers after single spaces, got 2 fields"),
        ("a 1 x\n", 1, "expected numbers after the word: could not convert"),
        ("a 1 nan\n", 1, "expected finite numbers after the word"),
        ("x 1 2\ny 1 2\n", 2, "expected vectors of words of the data, such as 'ü', got"),
        ("", 1, "expected vectors of words"),
    ],
)
def test_broken_lines(tmp_path: Path, lines: str, where: int, message: str) -> None:
    path = write(tmp_path / "v.txt", lines)
    with pytest.raises(TreeError, match=message) as caught:
        read_word_vectors(path, VOCAB, torch.zeros(4, 2))
    assert str(caught.value).startswith(f"{path}:{where}: ")
