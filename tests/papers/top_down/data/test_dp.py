from pathlib import Path

import pytest

from dgltrees import TreeError, read
from dgltrees.draw import draw_file
from tests.trees.nested import names_of, write


def test_a_file_by_hand(tmp_path: Path) -> None:
    forest = read(write(tmp_path, "Pierre\tNNP\t2\nVinken\tNNP\t0\n\nMr.\tNNP\t0\n"), "dp").forest
    assert forest.parent.tolist() == [-1, 2, 0, -1, 0]
    assert names_of(forest, "word") == ["<root>", "Pierre", "Vinken", "<root>", "Mr."]
    assert names_of(forest, "xpos") == [None, "NNP", "NNP", None, "NNP"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tNN\t0\n\nb\tNN\n", ":3: expected word TAB tag TAB head, got 2 columns"),
        ("a\tNN\t0\nb\tNN\tx\n", ":2: expected the number of a word, or 0 for the root"),
        ("a\tNN\t0\nb\tNN\t5\n", ":2: expected a head from 0 to 2"),
    ],
)
def test_bad_lines(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        read(write(tmp_path, text), "dp")


def test_a_document_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "a.dp").write_text("Go\tVB\t0\n")
    assert draw_file(tmp_path / "a.dp") == "tree 0\n<root>\n└─ Go VB"
