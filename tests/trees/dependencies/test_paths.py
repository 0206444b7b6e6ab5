"""Dependency paths, and trees of them."""

from __future__ import annotations

import pytest
from hypothesis import given

from dgltrees import TreeError
from dgltrees.trees.dependencies import dependency_path, from_paths, generation_forest
from dgltrees.trees.edge_types import EdgeType
from tests.trees.dependencies.sentences import (
    SENTENCE,
    figure_2,
    forest_of,
    paths_of,
    sentences,
)
from tests.trees.nested import names_of
from tests.worlds import chain


def test_the_paths_of_figure_2() -> None:
    generation = generation_forest(figure_2())
    found = dict(zip(["ROOT", *SENTENCE], paths_of(generation)))
    sold = [("<root>", "RIGHT")]
    year = [*sold, ("sold", "LEFT")]
    manufacturer = [*year, ("year", "NX-LEFT")]
    cars = [*sold, ("sold", "RIGHT")]
    assert found["ROOT"] == []
    assert found["sold"] == sold
    assert found["year"] == year
    assert found["manufacturer"] == manufacturer
    assert found["cars"] == cars
    assert found["in"] == [*cars, ("cars", "NX-RIGHT")]
    assert found["luxury"] == [*manufacturer, ("manufacturer", "LEFT"), ("auto", "NX-LEFT")]


@given(sentences(projective=True))
def test_the_words_with_their_paths_rebuild_the_tree(heads: list[list[int]]) -> None:
    forest = forest_of(heads)
    generation = generation_forest(forest)
    for tree, one in enumerate(heads):
        words = names_of(forest.tree(tree), "word")[1:]
        pairs = [(str(w), dependency_path(generation, tree, i)) for i, w in enumerate(words, 1)]
        rebuilt = from_paths(pairs[::-1])
        assert names_of(rebuilt, "word") == ["<root>", *words]
        assert rebuilt.parent.tolist() == [-1, *one]


def test_equal_words_are_told_apart() -> None:
    forest = forest_of([[2, 0, 2, 3]])
    forest.columns["word"][1:] = 1
    generation = generation_forest(forest)
    pairs = [("w0", dependency_path(generation, 0, i)) for i in range(1, 5)]
    assert from_paths(pairs).parent.tolist() == forest.parent.tolist()


def test_paths_that_make_no_tree() -> None:
    a, right = ("<root>", EdgeType.RIGHT), EdgeType.RIGHT
    for pairs, message in [
        ([("a", [a]), ("b", [a])], "expected one word per path, got 'a' and 'b'"),
        ([("b", [a, ("a", right)])], "continue that of 'a', got no such path"),
        ([("a", [a]), ("c", [a, ("b", right)])], "continue that of 'b', got one of 'a'"),
    ]:
        with pytest.raises(TreeError, match=message):
            from_paths(pairs)
    with pytest.raises(TreeError, match="expected a node of the forest"):
        dependency_path(generation_forest(figure_2()), 0, 13)
    with pytest.raises(TreeError, match="expected a column 'word'"):
        dependency_path(chain(2), 0, 1)
