"""Generation trees: their edges, order and paths, back to dependencies, and as graphs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from dgltrees import Forest, TreeError
from dgltrees.papers.top_down.graphs import (
    dependency_forest,
    dependency_path,
    generation_batch,
    generation_forest,
    generation_order,
    left_chains,
)
from dgltrees.trees.builders import from_parses
from dgltrees.trees.kinds import EDGE_TYPES, EdgeType
from tests.papers.top_down.samples import (
    ORDER,
    figure_2,
    is_projective,
    paths_of,
    slow_order,
    slow_paths,
)
from tests.trees.builders.test_sentences import DOCUMENTS
from tests.trees.dependencies import SENTENCE, forest_of, sentences
from tests.trees.nested import names_of
from tests.worlds import chain, star


def test_the_names_of_the_edge_types() -> None:
    assert EDGE_TYPES.names == ["LEFT", "RIGHT", "NX-LEFT", "NX-RIGHT"]
    assert [EDGE_TYPES.names[e] for e in EdgeType] == [str(e) for e in EdgeType]


def test_the_order_of_figure_2() -> None:
    assert generation_order(figure_2()).tolist() == [0, *ORDER]
    assert generation_forest(figure_2()).columns["t"].tolist() == [0, *ORDER]


def test_several_dependents_of_root_are_right_and_next_right() -> None:
    generation = generation_forest(forest_of([[0, 1, 0, 0]]))
    assert generation.parent.tolist() == [-1, 0, 1, 1, 3]
    assert [str(EdgeType(e)) for e in generation.pos[1:]] == [
        *("RIGHT", "RIGHT", "NX-RIGHT", "NX-RIGHT")
    ]
    assert dependency_forest(generation).parent.tolist() == [-1, 0, 1, 0, 0]


@given(sentences(projective=False))
def test_paths_and_order_follow_their_definitions(heads: list[list[int]]) -> None:
    forest = forest_of(heads)
    generation = generation_forest(forest)
    for tree, one in enumerate(heads):
        wanted = [[(f"w{w - 1}" if w else "<root>", e) for w, e in p] for p in slow_paths(one)]
        assert paths_of(generation, tree) == wanted
        t = generation.columns["t"][generation.tree_of_node == tree]
        assert np.argsort(t).tolist() == slow_order(one)
    assert Forest.build(generation.parent, pos=generation.pos, offsets=forest.offsets)
    assert generation.columns["word"] is forest.columns["word"]
    np.testing.assert_array_equal(generation.columns["etype"], generation.pos)


@given(sentences(projective=False))
def test_a_generation_forest_in_any_order_gives_the_words_in_theirs(heads: list[list[int]]) -> None:
    forest = forest_of(heads)
    generation = generation_forest(forest)
    rows = np.lexsort((generation.columns["t"], generation.tree_of_node))  # as it is generated
    t = generation.columns["t"]
    up = generation.global_parent[rows]
    generated = Forest.build(
        np.where(up < 0, -1, t[up]),
        pos=generation.pos[rows],
        offsets=forest.offsets,
        columns={name: column[rows] for name, column in generation.columns.items()},
        vocabs=generation.vocabs,
    )
    projective = all(is_projective((-1, *one)) for one in heads)
    plain = {"word": generated.columns["word"]}  # as trees that were sampled
    sampled = generated.with_columns(plain, {"word": generated.vocabs["word"]})
    for source in (generation, generated, *([sampled] if projective else [])):
        found = dependency_forest(source)
        np.testing.assert_array_equal(found.parent, forest.parent)
        np.testing.assert_array_equal(found.columns["word"], forest.columns["word"])
        assert list(found.columns) == list(found.vocabs) == ["word"]


@given(sentences(projective=True))
def test_the_projective_trees_of_the_tests_are(heads: list[list[int]]) -> None:
    assert all(is_projective((-1, *one)) for one in heads)


def test_a_tree_that_is_not_projective_keeps_its_heads_and_its_order() -> None:
    forest = forest_of([[3, 4, 0, 3]])
    assert not is_projective(tuple(forest.parent.tolist()))
    generation = generation_forest(forest)
    assert generation.parent.tolist() == [-1, 3, 4, 0, 3]
    again = dependency_forest(generation)
    assert names_of(again, "word") == ["<root>", "w0", "w1", "w2", "w3"]
    assert again.parent.tolist() == forest.parent.tolist()


@pytest.mark.parametrize("shape", [chain, star])
def test_a_hundred_thousand_words(shape: Callable[[int], Forest]) -> None:
    forest = shape(100_000)
    generation = generation_forest(forest)
    np.testing.assert_array_equal(generation.parent[1:], np.arange(forest.num_nodes - 1))
    np.testing.assert_array_equal(generation.columns["t"], np.arange(forest.num_nodes))
    np.testing.assert_array_equal(dependency_forest(generation).parent, forest.parent)


def test_no_trees() -> None:
    forest = Forest.build([], offsets=[0])
    assert len(generation_forest(forest)) == len(dependency_forest(forest)) == 0


@pytest.mark.parametrize("function", [generation_forest, generation_order])
def test_node_0_is_the_root(function: Callable[[Forest], Any]) -> None:
    with pytest.raises(TreeError, match=r"tree 1: expected a dependency tree, whose node 0 is R"):
        function(Forest.build([-1, 0, 1, -1], offsets=[0, 2, 4]))


@pytest.mark.parametrize(
    ("pos", "node"), [([0, 0, 1], 1), ([0, 1, 2], 2), ([0, 1, 4], 2), ([0, 3, 1], 1)]
)
def test_edges_that_no_generation_has(pos: list[int], node: int) -> None:
    with pytest.raises(TreeError, match=rf"tree 0, node {node}: expected edges RIGHT from ROOT"):
        dependency_forest(Forest.build([-1, 0, 1], pos=pos))


@DOCUMENTS
def test_sentences_of_other_parsers_are_read(make: Any) -> None:
    forest = from_parses(make())
    assert generation_forest(forest).num_nodes == forest.num_nodes


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


@given(sentences(projective=False))
def test_a_batch_goes_top_down_with_edge_types(heads: list[list[int]]) -> None:
    generation = generation_forest(forest_of(heads))
    batch = generation_batch(generation)
    etype, at_node = batch.edata["etype"], batch.ndata["etype"]
    np.testing.assert_array_equal(generation.global_parent[batch.dst], batch.src)
    np.testing.assert_array_equal(generation.pos[batch.dst], etype)
    np.testing.assert_array_equal(at_node[batch.dst], etype)
    np.testing.assert_array_equal(batch.roots, generation.offsets[:-1])
    assert (at_node[batch.roots] == 0).all()
    np.testing.assert_array_equal(generation.batch().reversed().edata["pos"], etype)


def test_a_batch_of_some_trees_names_its_own_nodes() -> None:
    generation = generation_forest(forest_of([[0], [2, 0, 2], [3, 3, 0, 3, 3]]))
    batch = generation_batch(generation, [2, 1])
    none = -1
    assert batch.ndata["nearest_left"].tolist() == [
        *(none, none, none, none, 2, none),
        *(none, none, none, 7),
    ]
    chains = left_chains(batch)
    assert chains.ndata["node"].tolist() == [1, 2, 7]
    assert chains.sizes.tolist() == [2, 1]
    assert (chains.src.tolist(), chains.dst.tolist()) == ([0], [1])
    assert left_chains(batch).cache is chains.cache


@given(sentences(projective=False))
def test_left_dependents_are_read_from_the_farthest_to_the_nearest(heads: list[list[int]]) -> None:
    generation = generation_forest(forest_of(heads))
    batch = generation_batch(generation)
    chains = left_chains(batch)
    node = chains.ndata["node"]
    before = dict(zip(node[chains.dst].tolist(), node[chains.src].tolist()))
    for tree, one in enumerate(heads):
        base = int(generation.offsets[tree])
        for w, head in enumerate(one, 1):
            at = int(batch.ndata["nearest_left"][base + w])
            lefts = []
            while at >= 0:
                lefts.append(at - base)
                at = before.get(at, -1)
            is_first_right = generation.pos[base + w] == EdgeType.RIGHT
            wanted = [d for d in range(1, head) if one[d - 1] == head] if is_first_right else []
            assert lefts[::-1] == wanted
    left = (generation.parent >= 0) & np.isin(generation.pos, (EdgeType.LEFT, EdgeType.NX_LEFT))
    assert node.tolist() == np.flatnonzero(left).tolist()
