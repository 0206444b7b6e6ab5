from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees.draw.layout import Skeleton
from dgltrees.draw.tidy import tidy
from dgltrees.trees.forest import Forest
from tests.draw.forests import forests

GAP = 10.0


def skeleton_of(forest: Forest) -> Skeleton:
    return Skeleton.of(forest.global_parent, forest.pos)


def drawn_widths(forest: Forest) -> list[float]:
    return [7.0 * len(name) for name in forest.columns["name"]]


@given(forests())
def test_nodes_of_one_depth_stand_in_order_and_apart(forest: Forest) -> None:
    skeleton, widths = skeleton_of(forest), drawn_widths(forest)
    x = tidy(skeleton, widths, GAP)
    trees = skeleton.tree_of_node()
    rightmost: dict[tuple[int, int], float] = {}
    for node in skeleton.preorder:  # which meets the nodes of a depth from left to right
        line = trees[node], skeleton.depth[node]
        assert x[node] - widths[node] / 2 >= rightmost.get(line, -np.inf) + GAP - 1e-6
        rightmost[line] = x[node] + widths[node] / 2


@given(forests())
def test_parents_stand_in_the_middle_of_their_children(forest: Forest) -> None:
    skeleton = skeleton_of(forest)
    x = tidy(skeleton, drawn_widths(forest), GAP)
    for node, children in enumerate(skeleton.children):
        if children:
            assert (x[children[0]] + x[children[-1]]) / 2 == pytest.approx(x[node], abs=1e-6)


@given(forests())
def test_the_mirror_image_is_drawn_as_the_mirror_image(forest: Forest) -> None:
    widths = drawn_widths(forest)
    mirrored = Skeleton.of(forest.global_parent, forest.pos.max() - forest.pos)
    there = tidy(skeleton_of(forest), widths, GAP)
    assert [-x for x in tidy(mirrored, widths, GAP)] == pytest.approx(there, abs=1e-6)


@given(forests(), st.integers(0, 2**32 - 1))
def test_the_order_of_the_nodes_does_not_matter(forest: Forest, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(forest.num_nodes)  # new to old
    place = np.argsort(order)
    up = forest.global_parent[order]
    skeleton = Skeleton.of(np.where(up < 0, -1, place[up]), forest.pos[order])
    widths = np.array(drawn_widths(forest))
    there = np.array(tidy(skeleton_of(forest), widths.tolist(), GAP))
    assert tidy(skeleton, widths[order].tolist(), GAP) == pytest.approx(there[order], abs=1e-6)


def test_subtrees_of_different_depth_share_the_room() -> None:
    """A wide node below a leaf's neighbour may reach under the leaf."""
    forest = Forest.build([-1, 0, 0, 2])
    x = tidy(skeleton_of(forest), [10, 10, 10, 200], GAP)
    assert x[2] - x[1] == pytest.approx(20)


def test_small_subtrees_between_wide_ones_are_spread_evenly() -> None:
    """Six leaves between two subtrees whose children nearly touch: all gaps are alike."""
    forest = Forest.build([-1, *[0] * 5, *[1] * 6, *[5] * 6])
    x = tidy(skeleton_of(forest), [10.0] * 18, GAP)
    steps = np.diff(x[1:6])
    assert steps == pytest.approx(steps[::-1])


@pytest.mark.parametrize("shape", ["chain", "star", "caterpillar"])
def test_a_hundred_thousand_nodes(shape: str) -> None:
    n = 100_000
    parent = {
        "chain": np.arange(-1, n - 1),
        "star": np.r_[-1, np.zeros(n - 1, dtype=int)],
        "caterpillar": np.r_[-1, (np.arange(1, n) - 1) // 2 * 2],
    }[shape]
    forest = Forest.build(parent)
    skeleton = skeleton_of(forest)
    x = np.array(tidy(skeleton, [10.0] * n, GAP))
    assert max(skeleton.depth) == {"chain": n - 1, "star": 1, "caterpillar": n // 2}[shape]
    spread = {"chain": 0.0, "star": 20.0 * (n - 2), "caterpillar": 20.0 + 10.0 * (n // 2 - 2)}
    assert np.ptp(x) == pytest.approx(spread[shape])
