from pathlib import Path

from dgltrees.formats import read
from dgltrees.trees.words import END
from tests.trees.nested import write


def test_every_line_but_blank_ones_ends_with_a_word_of_its_own(tmp_path: Path) -> None:
    data = read(write(tmp_path, " the cat <eos>\n\nit 's a caf\u00e9 N\n".encode()), "text")
    vocab = data.forest.vocabs["word"]
    lines = [data.forest.tree(i).columns["word"].tolist() for i in range(len(data))]
    assert [vocab.decode(line) for line in lines] == [
        ["the", "cat", END],
        ["it", "'s", "a", "caf\u00e9", "N", END],
    ]
    assert data.forest.depths.tolist() == [2, 5]
    assert data.columns["line"].tolist() == [1, 3]


def test_words_that_a_frozen_vocabulary_lacks_are_unknown(tmp_path: Path) -> None:
    first = read(write(tmp_path, b"a b <unk>\n"), "text")
    first.forest.vocabs["word"].freeze()
    data = read(write(tmp_path, b"b c\n"), "text", vocabs=first.forest.vocabs)
    assert data.forest.vocabs["word"].decode(data.forest.columns["word"]) == ["b", "<unk>", END]
