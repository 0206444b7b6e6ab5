from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import ConfigError, TreeError, Vocabulary, read
from dgltrees.papers.nti.data.sst import stream_sst
from tests.trees.nested import (
    Constituent,
    assert_bad,
    assert_same,
    constituent_rows,
    constituents,
    in_brackets,
    names_of,
    write,
)

TREES = constituents("01234", ["good", "2", "n't", "-LRB-", "caf\xe9", "a\xa0b", "\u96ea"])


@given(trees=st.lists(TREES, min_size=1, max_size=4))
def test_reads_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, trees: list[Constituent]
) -> None:
    path = write(tmp_path_factory.mktemp("d"), "\n".join(map(in_brackets, trees)))
    examples = read(path, "sst")
    forest = examples.forest
    labels = map(str, forest.columns["target"])
    got = zip(labels, names_of(forest, "word"), forest.degree.tolist())
    assert list(got) == [row for tree in trees for row in constituent_rows(tree)]
    assert examples.columns["target"].tolist() == [int(tree[0]) for tree in trees]


def test_positions_and_parents(tmp_path: Path) -> None:
    forest = read(write(tmp_path, "(3 (2 The) (4 (3 good) (2 one)))\n(0 bad)\n"), "sst").forest
    assert forest.parent.tolist() == [-1, 0, 0, 2, 2, -1]
    assert forest.pos.tolist() == [0, 0, 1, 0, 1, 0]
    assert forest.offsets.tolist() == [0, 5, 6]


@pytest.mark.parametrize("trees", [1, 2, 50])
def test_words_have_the_same_ids_in_chunks(tmp_path: Path, trees: int) -> None:
    """Also those that occur earlier in the text as a label."""
    text = "(3 (2 The) (4 (3 2) (2 one)))\r\n(0 one)\r\n\r\n(1 (1 3) (1 The))\r\n"
    path = write(tmp_path, text)
    chunks = list(stream_sst(path, trees=trees))
    assert_same(type(chunks[0]).concat(chunks), read(path, "sst"))
    assert chunks[0].forest.vocabs["word"].names == ["The", "2", "one", "3"]


def test_a_byte_order_mark_is_no_word(tmp_path: Path) -> None:
    assert read(write(tmp_path, "\ufeff(2 a)"), "sst").forest.num_nodes == 1


def test_words_that_a_frozen_vocabulary_lacks(tmp_path: Path) -> None:
    path = write(tmp_path, "(2 (2 a) (2 b))\n(2 (2 a) (2 zz))\n")
    words = Vocabulary(["b", "a"], unknown="?", frozen=True)
    examples = read(path, "sst", vocabs={"word": words})
    np.testing.assert_array_equal(examples.forest.columns["word"], [-1, 1, 0, -1, 1, 2])
    assert examples.forest.vocabs["word"] is words
    with pytest.raises(TreeError) as caught:
        read(path, "sst", vocabs={"word": Vocabulary(["a", "b"], frozen=True)})
    assert str(caught.value).startswith(f"{path}:2: expected one of the 2 known names")
    with pytest.raises(ConfigError, match="for the columns word, got one for words"):
        read(path, "sst", vocabs={"words": words})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("(5 a)", "expected a label, one of 0 1 2 3 4, got '5'"),
        ("(2 a b)", "expected a leaf of the form (label word), got 'a' elsewhere"),
        ("(2 (2 a) b)", "expected a leaf of the form (label word), got 'b' elsewhere"),
        ("a", "expected a leaf of the form (label word), got 'a' elsewhere"),
        ("(2)", "expected a word or constituents after a label, got none"),
        ("((2 a))", "missing a label at the beginning of a bracket"),
        ("(2 a) (2 b)", "with 1 part outside all brackets, got 2"),
        ("(2 (2 a)", "expected a ')' for every '(', got 1 left open at the end of the line"),
        ("(2 a))", "expected an opening '(' for every ')'"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, message: str) -> None:
    assert_bad(tmp_path, "sst", f"(2 a)\n{line}\n(2 a)\n", 2, message)
