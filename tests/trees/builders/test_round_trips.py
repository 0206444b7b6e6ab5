"""There and back: what is made of a tree is read as the same tree."""

from collections.abc import Callable

import networkx
import numpy as np
import pytest
from hypothesis import given

from dgltrees import Forest, TreeError, Vocabulary
from dgltrees.trees.builders import (
    from_dgl,
    from_networkx,
    from_nltk,
    from_pyg,
    to_networkx,
    to_nltk,
    to_pyg,
)
from dgltrees.trees.order import preorder
from tests.worlds import chain, forests, star

Converter = Callable[[Forest], Forest]


def with_columns(forest: Forest) -> Forest:
    """A name, an integer, a float with NaN, a truth value and a vector for every node."""
    rows = np.arange(forest.num_nodes)
    floats = np.where(rows % 4, rows / 4, np.nan)
    floats[forest.roots] = 0.5  # a column is known by a value
    names = np.where(rows % 3, rows % 2, -1).astype(np.int32)
    names[forest.roots] = 1
    columns = {
        "name": names,
        "count": rows,
        "cost": floats,
        "flag": rows % 2 == 0,
        "vector": np.stack([rows, -rows / 2], 1),
    }
    return Forest(
        forest.parent,
        forest.pos,
        forest.offsets,
        columns,
        {"name": Vocabulary(["a", 'b"\\'], frozen=True)},
    )


def in_preorder(forest: Forest) -> Forest:
    ranks, _ = preorder(forest)
    order = np.argsort(ranks)
    up = forest.global_parent
    return Forest.build(
        np.where(up < 0, -1, ranks[up] - forest.offsets[forest.tree_of_node])[order],
        pos=forest.pos[order],
        offsets=forest.offsets,
        columns={name: column[order] for name, column in forest.columns.items()},
        vocabs=forest.vocabs,
    )


def by_objects(forest: Forest) -> Forest:
    roots = [forest.to_objects(tree, "below") for tree in range(len(forest))]
    return Forest.from_objects(roots, "below", list(forest.columns), vocabs=forest.vocabs)


def by_networkx(forest: Forest) -> Forest:
    graphs = [to_networkx(forest, tree) for tree in range(len(forest))]
    assert all(map(networkx.is_arborescence, graphs))
    return from_networkx(*graphs, vocabs=forest.vocabs)


def by_names_of_edges(forest: Forest) -> Forest:
    graphs = [to_networkx(forest, tree, etype="name") for tree in range(len(forest))]
    assert not any("name" in graph.nodes[node] for graph in graphs for _, node in graph.edges)
    return from_networkx(*graphs, vocabs=forest.vocabs)


def by_pyg(forest: Forest) -> Forest:
    pytest.importorskip("torch_geometric", reason="needs torch_geometric")
    graphs = [to_pyg(forest, tree) for tree in range(len(forest))]
    return from_pyg(*graphs, down=False, vocabs=forest.vocabs)


def by_dgl(forest: Forest) -> Forest:
    return from_dgl(forest.batch().graph, down=False, vocabs=forest.vocabs)


def by_dgl_downwards(forest: Forest) -> Forest:
    return from_dgl(forest.batch().reversed().graph, down=True, vocabs=forest.vocabs)


ROUND_TRIPS: list[tuple[Converter, Converter]] = [
    (by_objects, in_preorder),
    (by_networkx, lambda forest: forest),
    (by_dgl, lambda forest: forest),
    (by_dgl_downwards, lambda forest: forest),
    (by_names_of_edges, lambda forest: forest),
    (by_pyg, lambda forest: forest),
]


@pytest.mark.parametrize(("convert", "expected"), ROUND_TRIPS)
@given(forest=forests())
def test_there_and_back(convert: Converter, expected: Converter, forest: Forest) -> None:
    forest = with_columns(forest)
    back, same = convert(forest), expected(forest)
    for name in ("parent", "pos", "offsets"):
        np.testing.assert_array_equal(getattr(back, name), getattr(same, name))
    assert set(back.columns) == set(same.columns)
    assert back.vocabs == same.vocabs
    for name, column in same.columns.items():
        np.testing.assert_array_equal(back.columns[name], column)
        if name != "name":  # ids are int64 in a batch
            assert back.columns[name].dtype == column.dtype


@pytest.mark.parametrize("convert", [row[0] for row in ROUND_TRIPS[:4]])
@pytest.mark.parametrize("make", [chain, star])
def test_deep_and_wide(convert: Converter, make: Callable[[int], Forest]) -> None:
    forest = convert(make(100_000))
    np.testing.assert_array_equal(forest.parent, make(100_000).parent)


def test_a_column_of_the_name_of_positions_has_no_attribute() -> None:
    with pytest.raises(TreeError, match="no node column 'pos', the name of positions; rename it"):
        to_pyg(Forest.build([-1], columns={"pos": np.array([3])}))


def without_gaps(forest: Forest) -> Forest:
    """The trees with leaves named by words, other nodes by labels, and no missing children."""
    forest = in_preorder(Forest.build(forest.parent, offsets=forest.offsets))
    rows = np.arange(forest.num_nodes)
    leaf = forest.degree == 0
    label = np.where(leaf, np.where(rows % 2, rows % 3, -1), rows % 3).astype(np.int32)
    word = np.where(leaf, rows % 2, -1).astype(np.int32)
    up = forest.global_parent
    only = leaf & (up >= 0) & (forest.degree[up] == 1)
    label[only & (label < 0)] = 2  # a tree over a word alone would be one leaf
    vocabs = {"label": Vocabulary("LMN", frozen=True), "word": Vocabulary("vw", frozen=True)}
    return Forest(forest.parent, forest.pos, forest.offsets, {"label": label, "word": word}, vocabs)


@given(forest=forests())
def test_nltk(forest: Forest) -> None:
    pytest.importorskip("nltk", reason="needs NLTK")
    forest = without_gaps(forest)
    trees = [to_nltk(forest, tree) for tree in range(len(forest))]
    back = from_nltk(*trees, vocabs=forest.vocabs)
    for name in ("parent", "pos", "offsets"):
        np.testing.assert_array_equal(getattr(back, name), getattr(forest, name))
    for name in ("label", "word"):
        np.testing.assert_array_equal(back.columns[name], forest.columns[name])


@pytest.mark.parametrize(
    ("forest", "message"),
    [
        (Forest.build([-1]), "tree 0: expected a column 'label' or 'word' of names, got []"),
        (
            Forest.build(
                [-1, 0], pos=[0, 1], columns={"word": [-1, 0]}, vocabs={"word": Vocabulary("a")}
            ),
            "tree 0, node 0: expected no missing child, got one",
        ),
        (
            Forest.build([-1, 0], columns={"word": [0, 0]}, vocabs={"word": Vocabulary("a")}),
            "tree 0, node 0: expected words at leaves, got 'a'",
        ),
    ],
)
def test_what_is_no_nltk_tree(forest: Forest, message: str) -> None:
    pytest.importorskip("nltk", reason="needs NLTK")
    with pytest.raises(TreeError) as caught:
        to_nltk(forest)
    assert str(caught.value) == message
