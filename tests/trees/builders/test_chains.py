from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import Forest, TreeError
from dgltrees.formats import read_sst
from dgltrees.trees import Vocabulary
from dgltrees.trees.builders import chains, from_brackets, phrases
from tests.formats.test_sst import TREES, text_of
from tests.trees.nested import write


def test_a_word_is_the_child_of_the_next():
    forest = chains([3, 1, 2], {"word": np.arange(6)}, {"word": Vocabulary("abcdef")})
    assert forest.parent.tolist() == [1, 2, -1, -1, 1, -1]
    assert forest.offsets.tolist() == [0, 3, 4, 6]
    assert forest.depths.tolist() == [2, 0, 1]


def test_a_sentence_without_words():
    with pytest.raises(TreeError, match="tree 1: expected at least one word in a sentence"):
        chains([1, 0], {"word": np.zeros(1, int)})


def words_below(tree):
    _, rest = tree
    return [rest] if isinstance(rest, str) else [w for child in rest for w in words_below(child)]


def constituents(tree):
    _, rest = tree
    below = (
        [] if isinstance(rest, str) else [node for child in rest for node in constituents(child)]
    )
    return [tree, *below]


@given(trees=st.lists(TREES, min_size=1, max_size=3))
def test_phrases_are_what_stands_below(tmp_path_factory, trees):
    forest = read_sst(write(tmp_path_factory.mktemp("d"), "\n".join(map(text_of, trees)))).forest
    found = phrases(forest, np.arange(forest.num_nodes))
    names = [found.vocabs["word"].decode(p) for p in np.split(found.columns["word"], found.offsets)]
    assert names[1:-1] == [words_below(node) for tree in trees for node in constituents(tree)]


def test_phrases_of_some_nodes():
    forest = from_brackets("(a (b (c d) e) f)")
    column = next(iter(forest.columns))
    found = phrases(forest, forest.roots, column=column)
    assert found.sizes.tolist() == [int((forest.degree == 0).sum())]


def test_phrases_want_brackets_order():
    forest = Forest.build([1, -1], columns={"word": np.zeros(2, int)})
    with pytest.raises(TreeError, match="every node before its children"):
        phrases(forest, [0])
