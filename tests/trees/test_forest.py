"""Forests and batches of them, against loops over nodes."""

import copy
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import Forest, TreeBatch, TreeError, Vocabulary
from tests.worlds import chain, forests, random_forest, star


def slow_depth(forest: Forest, node: int) -> int:
    depth = 0
    while forest.global_parent[node] >= 0:
        node, depth = forest.global_parent[node], depth + 1
    return depth


@given(forests())
def test_properties_that_follow_from_the_parents(forest: Forest) -> None:
    up = forest.global_parent
    assert forest.num_nodes == len(up) == forest.sizes.sum()
    assert forest.depth.tolist() == [slow_depth(forest, node) for node in range(len(up))]
    assert forest.degree.tolist() == [int((up == node).sum()) for node in range(len(up))]
    assert [int(up[root]) for root in forest.roots] == [-1] * len(forest)
    for tree in range(len(forest)):
        mine = forest.tree_of_node == tree
        assert forest.depths[tree] == forest.depth[mine].max()
        assert mine[forest.roots[tree]]
        assert (forest.tree_of_node[up[mine & (up >= 0)]] == tree).all()


@given(forests(max_trees=5), st.data())
def test_a_batch_is_the_trees_side_by_side(forest: Forest, data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, len(forest) - 1), min_size=1, max_size=6))
    nodes_of_trees = {"node": np.arange(forest.num_nodes, dtype=np.int32)}
    forest = replace(forest, columns=nodes_of_trees)
    batch = forest.batch(ids)
    assert batch.sizes.tolist() == forest.sizes[ids].tolist()
    nodes = batch.ndata["node"]
    assert nodes.dtype == torch.int64
    assert nodes.tolist() == [n for t in ids for n in range(*forest.offsets[t : t + 2])]
    # Every node but the roots has one edge, to its parent, with its position.
    up = torch.as_tensor(forest.global_parent)[nodes]
    assert sorted(batch.src.tolist()) == torch.nonzero(up >= 0)[:, 0].tolist()
    assert nodes[batch.dst].tolist() == up[batch.src].tolist()
    assert batch.edata["pos"].tolist() == forest.pos[nodes[batch.src].numpy()].tolist()
    assert nodes[batch.roots].tolist() == forest.roots[ids].tolist()
    assert batch.tree_of_node.tolist() == np.repeat(np.arange(len(ids)), batch.sizes).tolist()
    # The edges into a node are in the order of their positions.
    for node in range(batch.num_nodes):
        into = batch.edata["pos"][batch.dst == node]
        assert into.tolist() == sorted(into.tolist())
    assert batch.depth is not None
    assert batch.depth.tolist() == forest.depth[nodes.numpy()].tolist()


@given(forests())
def test_a_batch_goes_to_a_dgl_graph_and_back(forest: Forest) -> None:
    batch = forest.batch()
    batch.ndata["x"] = torch.randn(batch.num_nodes, 2)
    graph = batch.graph
    assert graph.batch_num_nodes().tolist() == forest.sizes.tolist()
    assert graph.batch_num_edges().tolist() == (forest.sizes - 1).tolist()
    again = TreeBatch.from_graph(graph)
    for name in ("src", "dst", "sizes"):
        assert torch.equal(getattr(again, name), getattr(batch, name))
    assert torch.equal(again.ndata["x"], batch.ndata["x"])
    assert torch.equal(again.edata["pos"], batch.edata["pos"])


def test_reversed_batches_turn_the_edges_and_keep_the_roots() -> None:
    batch = random_forest(np.random.default_rng(1), 3, 8, 2).batch()
    turned = batch.reversed()
    assert torch.equal(turned.src, batch.dst)
    assert torch.equal(turned.dst, batch.src)
    assert torch.equal(turned.roots, batch.roots)
    assert torch.equal(turned.to("cpu").roots, batch.roots)
    assert torch.equal(turned.reversed().src, batch.src)


def test_copies_of_a_batch_have_its_dtypes_and_learn() -> None:
    batch = random_forest(np.random.default_rng(1), 3, 8, 2).batch().reversed()
    batch.ndata["x"] = torch.randn(batch.num_nodes, dtype=torch.bfloat16, requires_grad=True)
    batch.ndata["h"] = batch.ndata["x"] * 2
    one, two = pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch)
    for again in (one, two):
        assert torch.equal(again.ndata["x"], batch.ndata["x"])
        assert torch.equal(again.ndata["h"], batch.ndata["h"])
        assert torch.equal(again.roots, batch.roots)
    assert two.ndata["x"].requires_grad
    assert two.ndata["x"] is not batch.ndata["x"]


def test_a_batch_is_pickled_without_its_cache() -> None:
    batch = random_forest(np.random.default_rng(1), 3, 8, 2).batch()
    batch.ndata["x"] = torch.randn(batch.num_nodes, 2)
    size = len(pickle.dumps(batch))
    _ = batch.graph
    batch.cache.get("zeros", lambda: torch.zeros(1000))
    assert len(pickle.dumps(batch)) == size
    for each in (batch, batch.reversed()):
        again = pickle.loads(pickle.dumps(each))
        for name in ("src", "dst", "sizes", "roots"):
            assert torch.equal(getattr(again, name), getattr(each, name))
        for name, tensor in {**each.ndata, **each.edata}.items():
            assert torch.equal({**again.ndata, **again.edata}[name], tensor)
    assert batch.depth is not None
    assert np.array_equal(pickle.loads(pickle.dumps(batch)).depth, batch.depth)


def test_select_concat_and_trees() -> None:
    forest = random_forest(np.random.default_rng(2), 5, 9, 3)
    forest = replace(
        forest, columns={"x": np.random.default_rng(0).normal(size=(forest.num_nodes, 2))}
    )
    chosen = forest.select([3, 0, 3])
    parts = Forest.concat([forest.tree(3), forest.tree(0), forest.tree(3)])
    for name in ("parent", "pos", "offsets", "depth"):
        assert np.array_equal(getattr(chosen, name), getattr(parts, name))
    assert np.array_equal(chosen.columns["x"], parts.columns["x"])
    with pytest.raises(IndexError, match="expected tree ids between 0 and 4, or .*, got 5$"):
        forest.select([2, 5])
    with pytest.raises(TreeError, match=r"expected forests with the columns \['x'\]"):
        Forest.concat([forest, chain(2)])
    with pytest.raises(TreeError, match="expected at least one forest"):
        Forest.concat([])


WORDS = {"w": Vocabulary(["a", "b"])}


@pytest.mark.parametrize(
    ("parent", "options", "message"),
    [
        ([-1, -1, 0], {}, "tree 0: expected exactly one root, got 2 (nodes 0 and 1)"),
        (
            [-1, -1, -1],
            {"offsets": [0, 1, 3], "file": "trees.txt", "lines": [4, 9]},
            "trees.txt:9: tree 1: expected exactly one root, got 2",
        ),
        ([1, 0], {}, "tree 0: expected exactly one root, got 0 (a cycle)"),
        ([-1, 2, 1], {}, "tree 0, node 1: expected every node below the root, got a cycle at or"),
        *(
            (
                [-1, up],
                {},
                f"node 1: expected a parent between 0 and 1, or -1 at the root, got {up}",
            )
            for up in (7, -2, 2**32, 2**40)
        ),
        ([-1, 0.7], {}, "expected integers as parents, got float64"),
        ([-1, None], {}, "expected integers as parents, got object"),
        ([[-1, 0]], {}, "expected a row of integers as parents, got 2 dimensions"),
        (
            [-1, 0, 0],
            {"pos": [0, 1, 1]},
            "expected each child position once, got 1 twice under node 0",
        ),
        ([-1, 0], {"pos": [0, -1]}, "tree 0, node 1: expected a child position from 0, got -1"),
        ([-1, 0, 0], {"pos": [0, 0, 2**32 + 1]}, "tree 0, node 2: expected a child position from"),
        ([-1, 0], {"pos": [3, 0]}, "tree 0, node 0: expected position 0 at the root, got 3"),
        ([-1, 0], {"pos": [0]}, "expected 2 positions, got 1"),
        (
            [-1, 0, 0, 0],
            {"max_children": 2},
            "tree 0, node 3: expected a child position from 0 to 1, got 2: its parent has more "
            "children than 2",
        ),
        (
            [-1, -1],
            {"offsets": [0, 1, 1, 2]},
            "tree 1: expected at least one node, got an empty tree",
        ),
        ([-1, -1], {"offsets": [0, 1]}, "offsets from 0 to the number of nodes, 2, got 0 to 1"),
        ([-1], {"offsets": []}, "expected offsets from 0 to the number of nodes, 1, got none"),
        ([-1, -1], {"offsets": [0, 1.5, 2]}, "expected integers as offsets, got float64"),
        *(
            ([-1, 0], {"columns": {"w": column}}, f"expected column 'w' to {message}")
            for column, message in (
                (3, "have 2 rows, one per node"),
                ([1], "have 2 rows, one per node"),
                (np.array([None, {}]), "hold numbers or strings, got object"),
                ([[1, 2], [3]], "hold rows of one shape"),
            )
        ),
        *(
            ([-1, 0], {"columns": {"w": ids}, "vocabs": WORDS}, f"expected column 'w' to hold {of}")
            for ids, of in (
                ([0, 2], "-1 or ids of the 2 names"),
                ([-2, 0], "-1 or ids of the 2 names"),
                (["a", "b"], "integers, the ids"),
                ([0.0, np.nan], "integers, the ids"),
                ([1j, 0], "integers, the ids"),
            )
        ),
    ],
)
def test_a_broken_tree_is_named(parent: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(TreeError) as caught:
        Forest.build(parent, **options)
    assert message in str(caught.value)


def test_a_column_of_another_forest_is_refused() -> None:
    forest = Forest.build([-1, 0, -1], offsets=[0, 2, 3], columns={"w": [1, 2, 3]})
    part = forest[1:]
    with pytest.raises(TreeError, match="column 'w' to have 1 rows, one per node, got 3 rows"):
        part.with_columns(forest.columns)
    part.columns["w"] = forest.columns["w"]
    for use in (part.batch, lambda: part[:1]):
        with pytest.raises(TreeError, match="have 1 rows, one per node, got 3 rows"):
            use()


def test_columns_hold_numbers_and_known_ids() -> None:
    Forest.build([-1, 0], columns={"w": np.zeros((2, 0), int)}, vocabs=WORDS)
    with pytest.raises(TreeError, match="expected numbers in column 'w' .* got strings"):
        Forest.build([-1, 0], columns={"w": ["a", "b"]}).batch()


@pytest.mark.parametrize("forest", [chain(100_000), star(100_000)], ids=["chain", "star"])
def test_deep_and_wide_trees(forest: Forest) -> None:
    again = Forest.build(forest.parent, pos=forest.pos)
    assert again.depth.sum() in (100_000, 99_999 * 100_000 // 2)
    assert len(again.batch().src) == forest.num_nodes - 1


@pytest.mark.parametrize("mmap", [True, False])
def test_save_and_load(tmp_path: Path, mmap: bool) -> None:
    forest = random_forest(np.random.default_rng(3), 4, 9, 3)
    words = Vocabulary(["a", "b\nc", "d"], unknown="?")
    ids = np.arange(forest.num_nodes) % 4
    forest = Forest.build(
        forest.parent,
        pos=forest.pos,
        offsets=forest.offsets,
        columns={"word": ids},
        vocabs={"word": words},
    )
    forest.save(tmp_path / "f")
    again = Forest.load(tmp_path / "f", mmap=mmap)
    assert isinstance(again.parent, np.memmap) == mmap
    for name in ("parent", "pos", "offsets"):
        assert np.array_equal(getattr(again, name), getattr(forest, name))
    assert again.vocabs == {"word": words}
    assert torch.equal(again.batch([1, 2]).ndata["word"], forest.batch([1, 2]).ndata["word"])
    assert torch.equal(again.batch().ndata["word"], forest.batch().ndata["word"])


def test_load_refuses_what_is_no_forest(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="expected a folder that Forest.save wrote"):
        Forest.load(tmp_path)


@given(forest=forests())
def test_a_forest_is_a_sequence_of_its_trees(forest: Forest) -> None:
    column = np.arange(forest.num_nodes)
    forest = Forest(forest.parent, forest.pos, forest.offsets, {"node": column})
    ids = np.arange(len(forest))
    for index in (slice(None), slice(None, None, -1), slice(1, -1), ids % 2 == 0, ids[::-1], -1):
        chosen = forest[index]
        rows = [column[forest.tree_of_node == tree] for tree in np.atleast_1d(ids[index])]
        np.testing.assert_array_equal(chosen.columns["node"], np.concatenate([*rows, []]))
        nodes = forest.batch(ids if isinstance(index, slice) else index).ndata["node"]
        expected = column if isinstance(index, slice) else chosen.columns["node"]
        np.testing.assert_array_equal(nodes, expected)
    np.testing.assert_array_equal(Forest.concat(list(forest)).columns["node"], column)
    np.testing.assert_array_equal(forest[np.int64(0)].parent, forest.tree(0).parent)


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (np.array(["0"]), TreeError, "expected integers as tree ids, got <U1"),
        (2, IndexError, "expected tree ids between 0 and 1, or negative ones .*, got 2$"),
        (-3, IndexError, "expected tree ids between 0 and 1"),
        ([True], IndexError, "expected a mask of 2 values, one per tree, got shape"),
        ("a", TreeError, "expected integers as tree ids, got <U1"),
        (0.5, TreeError, "expected integers as tree ids, got float64"),
    ],
)
def test_there_is_no_such_tree(index: Any, error: type[Exception], message: str) -> None:
    forest = Forest.build([-1, -1], offsets=[0, 1, 2])
    for choose in (forest.__getitem__, forest.batch):
        with pytest.raises(error, match=message):
            choose(index)


def test_a_forest_in_words() -> None:
    columns = {"op": [0, 1, 0], "cost": [0.5, 1, 2], "v": np.zeros((3, 2), np.float32)}
    forest = Forest.build([-1, 0, 0], columns=columns, vocabs={"op": Vocabulary(["+", "<x>"])})
    kinds = "op (2 names), cost (float64), v (float32 x 2)"
    assert repr(forest) == f"Forest(1 tree, 3 nodes, columns: {kinds})"
    assert repr(Forest.build([-1])) == "Forest(1 tree, 1 node, columns: none)"
    html = forest._repr_html_()
    assert "1 tree, 3 nodes" in html
    assert "<th>v</th><td>float32 x 2</td>" in html
    assert html.count("<svg") == 1
    assert "&lt;x&gt;" in html
    assert "<svg" not in chain(101)._repr_html_()
    assert "0 trees, 0 nodes" in Forest.build([], offsets=[0])._repr_html_()
