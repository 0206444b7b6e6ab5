"""Forests of NLTK's trees."""

from pathlib import Path
from typing import Any

import nltk
import numpy as np
import pytest

from dgltrees import TreeError, read
from dgltrees.trees.builders import from_nltk
from tests.trees.nested import names_of, write

TEXT = "( (S (NP (DT the) old (NN man)) (VP (VB sat)) (. .)) )"


@pytest.mark.parametrize(
    ("text", "root"),
    [
        (TEXT, "S"),
        ("( (S (NN a)) (. .) )", None),
        ("( (NN a) b)", None),  # a word next to another constituent
        ("((S (NN a) (NN b)) (S (NN c)) d (. .))", None),
        ("( (X a) )", "X"),
    ],
)
def test_the_reader_of_penn_brackets_gives_the_same(
    tmp_path: Path, text: str, root: str | None
) -> None:
    built = from_nltk(nltk.Tree.fromstring(text))
    trees = read(write(tmp_path, text), "mrg").forest
    assert names_of(trees, "label")[0] == root
    np.testing.assert_array_equal(built.parent, trees.parent)
    np.testing.assert_array_equal(built.pos, trees.pos)
    for name in ("label", "word"):
        np.testing.assert_array_equal(built.columns[name], trees.columns[name])
        assert built.vocabs[name] == trees.vocabs[name]


def test_deep_and_wide() -> None:
    deep = nltk.Tree("S", ["a"])
    for _ in range(100_000):
        deep = nltk.Tree("S", [deep])
    forest = from_nltk(deep, nltk.Tree("S", ["a"] * 100_000))
    assert forest.sizes.tolist() == [100_001, 100_001]
    assert forest.depths.tolist() == [100_000, 1]


def test_a_subtree_that_occurs_again_is_written_out() -> None:
    twice = nltk.Tree("NP", ["a", "b"])
    assert from_nltk(nltk.Tree("S", [twice, twice])).sizes.tolist() == [7]


def cycle() -> nltk.Tree:
    tree = nltk.Tree("S", ["a", "b"])
    tree.append(tree)
    return tree


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (nltk.Tree("S", []), "tree 1, node 0: expected children below 'S', got none"),
        (nltk.Tree("S", ["a", 3]), "tree 1, node 2: expected nltk.Tree or a string, got an object"),
        ("(S (NN a))", "tree 1: expected nltk.Tree, which nltk.Tree.fromstring makes, got '(S"),
        ("wsj_0001.mrg", "tree 1: expected nltk.Tree, which nltk.Tree.fromstring makes, got 'wsj"),
        (cycle(), "tree 1, node 3: expected a tree, got an object that contains itself"),
    ],
)
def test_bad_trees(tree: Any, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        from_nltk(nltk.Tree("S", ["a"]), tree)
    assert str(caught.value).startswith(message)
