"""Dependency forests of words and heads."""

from __future__ import annotations

import numpy as np
import pytest

from dgltrees import TreeError
from dgltrees.trees import Vocabulary
from dgltrees.trees.builders import from_heads


def test_two_sentences() -> None:
    forest = from_heads(
        ["Ada", "counts", "Go"],
        [2, 0, 0],
        offsets=[0, 2, 3],
        columns={"deprel": ["nsubj", "root", None]},
    )
    assert forest.parent.tolist() == [-1, 2, 0, -1, 0]
    assert forest.offsets.tolist() == [0, 3, 5]
    assert forest.vocabs["word"].names == ["<root>", "Ada", "counts", "Go"]
    assert forest.columns["word"].tolist() == [0, 1, 2, 0, 3]
    assert forest.columns["deprel"].tolist() == [-1, 0, 1, -1, -1]


def test_a_hundred_thousand_words_in_a_chain() -> None:
    forest = from_heads(["w"] * 100_000, np.arange(100_000))
    assert forest.depths.tolist() == [100_000]


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([0, 3, 0], "tree 0, node 2: expected a head from 0 to 2, the words of the sentence, got"),
        ([2, 1, 0], "tree 0, node 1: expected a word with the head 0 in the sentence, got no root"),
        ([0, 0, 0], "tree 0, node 2: expected one word with the head 0, got a second of 2 roots"),
        ([0, 2, 0], "tree 0, node 2: expected heads that lead to the root, got a cycle"),
        ([0, 1], "expected 3 values of head, one per word, got 2"),
        ([0.0, 1.0, 0.0], "expected integers as heads, got float64"),
    ],
)
def test_heads_that_make_no_tree(heads: list[float], message: str) -> None:
    with pytest.raises(TreeError, match=message):
        from_heads(["a", "b", "c"], heads, offsets=[0, 2, 3])


def test_other_errors() -> None:
    with pytest.raises(TreeError, match="tree 1: expected at least one node, got an empty tree"):
        from_heads(["a"], [0], offsets=[0, 1, 1])
    with pytest.raises(TreeError, match="expected 1 values of upos, one per word, got 2"):
        from_heads(["a"], [0], columns={"upos": ["X", "Y"]})
    with pytest.raises(TreeError, match=r"tree 0, node 2: expected one of the 2 known names"):
        from_heads(["a", "b"], [0, 1], vocabs={"word": Vocabulary(["<root>", "a"], frozen=True)})
