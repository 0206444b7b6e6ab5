"""The phrases of parsed sentences."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import Forest, TreeError, read
from dgltrees.papers.nti.graphs import phrases
from dgltrees.trees.builders import from_brackets
from tests.papers.nti.data.test_sst import TREES
from tests.trees.nested import in_brackets, write


def words_below(tree: Any) -> list[str]:
    _, content = tree
    if isinstance(content, str):
        return [content]
    return [word for child in content for word in words_below(child)]


def constituents(tree: Any) -> list[Any]:
    """The tree and all its subtrees, in preorder."""
    _, content = tree
    children = () if isinstance(content, str) else content
    return [tree, *(node for child in children for node in constituents(child))]


@given(trees=st.lists(TREES, min_size=1, max_size=3))
def test_phrases_are_the_words_below_each_node(
    tmp_path_factory: pytest.TempPathFactory, trees: list[Any]
) -> None:
    forest = read(
        write(tmp_path_factory.mktemp("d"), "\n".join(map(in_brackets, trees))), "sst"
    ).forest
    found = phrases(forest, np.arange(forest.num_nodes))
    names = [found.vocabs["word"].decode(p) for p in np.split(found.columns["word"], found.offsets)]
    assert names[1:-1] == [words_below(node) for tree in trees for node in constituents(tree)]


def test_phrases_of_some_nodes() -> None:
    forest = from_brackets("(a (b (c d) e) f)")
    column = next(iter(forest.columns))
    found = phrases(forest, forest.roots, columns=[column])
    assert found.sizes.tolist() == [int((forest.degree == 0).sum())]


def test_phrases_are_refused_in_another_order_than_preorder() -> None:
    forest = Forest.build([1, -1], columns={"word": np.zeros(2, int)})
    with pytest.raises(TreeError, match="every node before its children"):
        phrases(forest, [0])
