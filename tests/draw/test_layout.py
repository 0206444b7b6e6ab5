import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dgltrees.draw.layout import Layout, tidy_positions
from dgltrees.trees.forest import Forest
from tests.draw.examples import forests

GAP = 10.0
N = 100_000


def name_widths(forest: Forest) -> list[float]:
    return [7.0 * len(name) for name in forest.columns["name"][Layout.of(forest).nodes]]


def node_positions(forest: Forest) -> NDArray[np.float64]:
    """``(N,)`` the horizontal middle of each node of a forest."""
    x = np.empty(forest.num_nodes)
    layout = Layout.of(forest)
    x[layout.nodes] = tidy_positions(layout, name_widths(forest), GAP)
    return x


@given(forests())
def test_nodes_of_one_depth_stand_in_order_and_apart(forest: Forest) -> None:
    layout, widths = Layout.of(forest), name_widths(forest)
    x = tidy_positions(layout, widths, GAP)
    for bounds in itertools.pairwise(layout.offsets):
        right_ends: dict[int, float] = {}
        for node in range(*bounds):  # preorder meets the nodes of a depth from left to right
            depth = layout.depth[node]
            assert x[node] - widths[node] / 2 >= right_ends.get(depth, -np.inf) + GAP - 1e-6
            right_ends[depth] = x[node] + widths[node] / 2


@given(forests())
def test_parents_stand_in_the_middle_of_their_children(forest: Forest) -> None:
    layout = Layout.of(forest)
    x = tidy_positions(layout, name_widths(forest), GAP)
    for node, children in enumerate(layout.children):
        if children:
            assert (x[children[0]] + x[children[-1]]) / 2 == pytest.approx(x[node], abs=1e-6)


@given(forests())
def test_the_mirror_image_is_drawn_as_the_mirror_image(forest: Forest) -> None:
    mirrored = replace(forest, pos=forest.pos.max() - forest.pos)
    x = node_positions(forest)
    assert -node_positions(mirrored) == pytest.approx(x, abs=1e-6)


@given(forests(), st.integers(0, 2**32 - 1))
def test_the_order_of_the_nodes_does_not_matter(forest: Forest, seed: int) -> None:
    keys = np.random.default_rng(seed).random(forest.num_nodes)
    order = np.lexsort((keys, forest.tree_of_node))  # new to old
    first = forest.offsets[forest.tree_of_node]
    parent = np.where(forest.parent < 0, -1, np.argsort(order)[forest.global_parent] - first)
    columns = {"name": forest.columns["name"][order]}
    renumbered = Forest(parent[order], forest.pos[order], forest.offsets, columns, {})
    assert node_positions(renumbered) == pytest.approx(node_positions(forest)[order], abs=1e-6)


def test_subtrees_of_different_depth_share_the_room() -> None:
    """A wide node below a leaf's neighbour may reach under the leaf."""
    forest = Forest.build([-1, 0, 0, 2])
    x = tidy_positions(Layout.of(forest), [10, 10, 10, 200], GAP)
    assert x[2] - x[1] == pytest.approx(20)


def test_small_subtrees_between_wide_ones_are_spread_evenly() -> None:
    """Six leaves between two subtrees whose children nearly touch: all gaps are alike."""
    forest = Forest.build([-1, *[0] * 5, *[1] * 6, *[5] * 6])
    layout = Layout.of(forest)
    x = tidy_positions(layout, [10.0] * 18, GAP)
    steps = np.diff([x[child] for child in layout.children[0]])
    assert steps == pytest.approx(steps[::-1])


@pytest.mark.parametrize(
    ("parents", "depth", "spread"),
    [
        (np.arange(-1, N - 1), N - 1, 0.0),
        (np.r_[-1, np.zeros(N - 1, int)], 1, 20.0 * (N - 2)),
        (np.r_[-1, (np.arange(1, N) - 1) // 2 * 2], N // 2, 20.0 + 10.0 * (N // 2 - 2)),
    ],
    ids=["chain", "star", "caterpillar"],
)
def test_a_hundred_thousand_nodes(parents: NDArray[np.int64], depth: int, spread: float) -> None:
    layout = Layout.of(Forest.build(parents))
    assert max(layout.depth) == depth
    assert np.ptp(tidy_positions(layout, [10.0] * N, GAP)) == pytest.approx(spread)
