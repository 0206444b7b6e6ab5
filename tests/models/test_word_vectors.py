"""Word vectors from text files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from dgltrees import TreeError
from dgltrees.models import TreeLM, read_word_vectors
from dgltrees.trees import Vocabulary

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
    assert_close(TreeLM(4, 4, vectors=vectors).embed.weight.detach(), vectors)


@pytest.mark.parametrize(
    ("lines", "where", "message"),
    [
        ("a 1 2\nü 1 2 3\n", 2, "expected a word and 2 numbers, got 4 fields; the model's word"),
        ("a 1\n", 1, "expected a word and 2 numbers, got 2 fields"),
        ("a 1 2\n\n", 2, "expected a word and 2 numbers, got 0 fields"),
        (" 1 2\n", 1, "expected a word and 2 numbers, got 2 fields"),
        ("a 1 x\n", 1, "expected numbers after the word: could not convert"),
        ("a 1 nan\n", 1, "expected finite numbers after the word"),
    ],
)
def test_broken_lines(tmp_path: Path, lines: str, where: int, message: str) -> None:
    path = write(tmp_path / "v.txt", lines)
    with pytest.raises(TreeError, match=message) as caught:
        read_word_vectors(path, VOCAB, torch.zeros(4, 2))
    assert str(caught.value).startswith(f"{path}:{where}: ")
