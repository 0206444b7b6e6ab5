from __future__ import annotations

import pytest

from dgltrees.errors import TreeError
from dgltrees.formats import END, read_running_text


def _file(tmp_path, data: bytes):
    path = tmp_path / "text.txt"
    path.write_bytes(data)
    return path


def test_lines_end_with_the_end_and_blank_ones_are_passed_over(tmp_path):
    data = read_running_text(_file(tmp_path, " the cat \n\nit 's a caf\u00e9 N\n".encode()))
    vocab = data.forest.vocabs["word"]
    lines = [data.forest.tree(i).columns["word"].tolist() for i in range(len(data))]
    assert [vocab.decode(line) for line in lines] == [
        ["the", "cat", END],
        ["it", "'s", "a", "caf\u00e9", "N", END],
    ]
    assert data.forest.depths.tolist() == [2, 5]


def test_a_frozen_vocabulary_makes_unknown_words(tmp_path):
    first = read_running_text(_file(tmp_path, b"a b <unk>\n"))
    first.forest.vocabs["word"].freeze()
    data = read_running_text(_file(tmp_path, b"b c\n"), vocabs=first.forest.vocabs)
    assert data.forest.vocabs["word"].decode(data.forest.columns["word"]) == ["b", "<unk>", END]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"text.txt: expected at least one sentence, got an empty file"),
        (b" \n\n", r"text.txt: expected at least one sentence, got an empty file"),
        (b"a b\nc \xff d\n", r"text.txt:2: expected text in utf-8, got b'c "),
    ],
)
def test_broken_files(tmp_path, data, message):
    with pytest.raises(TreeError, match=message):
        read_running_text(_file(tmp_path, data))
