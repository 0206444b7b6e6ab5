"""Dependency paths."""

from __future__ import annotations

import pytest

from dgltrees import TreeError
from dgltrees.papers.top_down.graphs import dependency_path, generation_forest
from tests.papers.top_down.graphs.sentences import figure_2, paths_of
from tests.trees.dependencies import SENTENCE
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


def test_there_is_no_path() -> None:
    with pytest.raises(TreeError, match="expected a node of the forest"):
        dependency_path(generation_forest(figure_2()), 0, 13)
    with pytest.raises(TreeError, match="expected a column 'word'"):
        dependency_path(chain(2), 0, 1)
