"""Generation forests as graphs, and the chains of their left dependents."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from dgltrees.papers.top_down.graphs import generation_batch, generation_forest, left_chains
from dgltrees.trees.edge_types import EdgeType
from tests.trees.dependencies import forest_of, sentences


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
