"""Trees over sequences, and binary trees of parses."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch.testing import assert_close

from dgltrees import ConfigError, Forest, TreeBatch, TreeError
from dgltrees._files import Lines
from dgltrees.formats import FORMATS
from dgltrees.papers.nti.graphs import (
    FullShape,
    binary_constituents,
    binary_dependencies,
    full_shape,
    full_trees,
    full_width,
    left_branching_trees,
)
from dgltrees.trees.builders import from_heads
from dgltrees.trees.builders.brackets import render
from dgltrees.trees.order import depths
from tests.trees.batches import children


def below(batch: TreeBatch) -> list[set[int]]:
    """The leaves below each node."""
    leaves: list[set[int]] = []
    for node, some in enumerate(children(batch)):  # children come before their parents
        leaves.append(set[int]().union(*(leaves[j] for j in some)) if some else {node})
    return leaves


def depth_of(batch: TreeBatch) -> NDArray[np.int32]:
    assert batch.depth is not None
    return batch.depth


@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    branching=st.integers(2, 4),
    overlap=st.integers(0, 3),
    padding=st.sampled_from(["left", "right"]),
)
def test_full_trees(lengths: list[int], branching: int, overlap: int, padding: str) -> None:
    stride = max(1, branching - overlap)
    batch = full_trees(lengths, branching, stride=stride, padding=padding)
    assert {len(each) for each in children(batch)} <= {0, branching}
    assert_close(batch.roots, batch.sizes.cumsum(0) - 1)
    start = 0
    for length, size in zip(lengths, batch.sizes.tolist()):
        token, pad = (batch.ndata[k][start : start + size] for k in ("token", "pad"))
        width = full_width(length, branching, stride)
        leaves = [len(each) == 0 for each in children(batch)[start : start + size]]
        assert leaves == [True] * width + [False] * (size - width)
        blank = [-1] * (width - length)
        words = list(range(length))
        assert token[:width].tolist() == (blank + words if padding == "left" else words + blank)
        assert (token[width:] == -1).all()
        for node in range(size):
            seen = [int(token[j - start]) for j in below(batch)[start + node]]
            seen = [t for t in seen if t >= 0]
            assert bool(pad[node]) == (not seen)
            span = [min(seen), max(seen)] if seen else [-1, -1]
            assert batch.ndata["span"][start + node].tolist() == span
        start += size


def test_six_words_as_in_figure_1a() -> None:
    """Depth three, two pads at the left."""
    batch = full_trees([6])
    assert batch.sizes.tolist() == [15]
    assert batch.ndata["token"][:8].tolist() == [-1, -1, 0, 1, 2, 3, 4, 5]
    assert torch.nonzero(batch.ndata["pad"])[:, 0].tolist() == [0, 1, 8]
    assert depth_of(batch).tolist() == [3] * 8 + [2] * 4 + [1] * 2 + [0]


def test_a_single_token_is_a_leaf() -> None:
    for batch in (full_trees([1]), left_branching_trees([1])):
        assert (batch.num_nodes, len(batch.src), depth_of(batch).tolist()) == (1, 0, [0])


def test_overlapping_sub_trees_are_windows() -> None:
    """Windows of two by steps of one: every pair of neighbours, as in a convolution."""
    batch = full_trees([4], 2, stride=1)
    assert batch.sizes.tolist() == [4 + 3 + 2 + 1]
    assert children(batch)[4:7] == [[0, 1], [1, 2], [2, 3]]
    assert full_width(6, 3, 2) == 7  # 7 leaves, 3 windows of 3 by 2, 1


def test_left_branching() -> None:
    batch = left_branching_trees([4, 2])
    assert children(batch)[:7] == [[], [], [0, 1], [], [2, 3], [], [4, 5]]
    assert batch.ndata["token"].tolist() == [0, 1, -1, 2, -1, 3, -1, 0, 1, -1]
    span = batch.ndata["span"][:7].tolist()
    assert span == [[0, 0], [1, 1], [0, 1], [2, 2], [0, 2], [3, 3], [0, 3]]
    up = np.full(batch.num_nodes, -1)
    up[batch.src.numpy()] = batch.dst.numpy()
    assert depth_of(batch).tolist() == depths(up).tolist()
    assert (np.diff(depth_of(batch)[:7]) <= 0).all()
    assert not batch.ndata["pad"].any()


def test_equal_widths_share_one_structure() -> None:
    one, other = full_trees([5, 2]), full_trees([7, 2])
    assert one.src is other.src
    assert one.cache is other.cache
    assert one.ndata["pad"].sum() > other.ndata["pad"].sum()
    assert full_trees([5, 2], width=8).cache is not one.cache


def test_every_tree_has_the_width_and_longer_sequences_are_refused() -> None:
    assert full_trees([3, 8], width=8).sizes.tolist() == [15, 15]
    with pytest.raises(TreeError, match="^tree 1: expected at most 8 tokens, got 9"):
        full_trees([3, 9], width=8)


@pytest.mark.parametrize("make", [full_trees, left_branching_trees])
def test_an_empty_sequence_is_refused(make: Callable[[list[int]], TreeBatch]) -> None:
    with pytest.raises(TreeError, match="^tree 1: expected a sequence of at least one"):
        make([2, 0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"branching": 1}, "expected a branching factor of at least 2, got 1"),
        ({"stride": 3}, "expected a stride from 1 to 2, the branching factor, got 3"),
        ({"stride": 0}, "expected a stride from 1 to 2"),
        ({"padding": "both"}, "expected padding to be one of left, right, got 'both'"),
        ({"width": 12}, "branching factor 2 and stride 2, got 12; the next is 16"),
    ],
)
def test_refused_shapes(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        full_trees([3], **options)


def test_the_shape_of_full_trees() -> None:
    assert full_shape(full_trees([5])) == FullShape(2, 2, (8,))
    assert full_shape(left_branching_trees([5])) is None


def _texts(forest: Forest) -> list[str]:
    names = np.array([*forest.vocabs["word"].names, ""], object)[forest.columns["word"]]
    inner, is_second = forest.degree > 0, forest.pos == 1
    opening = np.where(is_second, " ", "") + np.where(inner, "(", names).astype(object)
    return render(forest, opening, np.where(inner, ")", ""))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(S (NP (DT a) (NN b)) (VP (VB c)))", "((a b) c)"),
        ("(X (Y (Z a)))", "a"),
        ("(A (B a) (C (D (E b) (F c) (G d) (H e))) (I f))", "(a ((b (c (d e))) f))"),
        ("( (S (A a) (B b) (C c)) )", "(a (b c))"),
    ],
)
def test_constituents_get_two_children(text: str, expected: str) -> None:
    other = "(S (A x) (B y))"
    forest = FORMATS["mrg"].read(Lines([other, text, other])).forest
    binary = binary_constituents(forest)
    assert _texts(binary) == ["(x y)", expected, "(x y)"]
    assert set(binary.degree.tolist()) <= {0, 2}
    Forest.build(binary.parent, pos=binary.pos, offsets=binary.offsets)  # checks that it is one


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        ([2, 0, 4, 2], "(a (b (c d)))"),
        ([0], "a"),
        ([0, 1, 1, 1], "(((a b) c) d)"),
        ([2, 3, 4, 0], "(((a b) c) d)"),
        ([2, 0, 2, 2], "(a ((b c) d))"),
    ],
)
def test_dependents_join_their_heads(heads: list[int], expected: str) -> None:
    words = list("abcd")[: len(heads)]
    sizes = [2, len(heads), 1]
    forest = from_heads(["x", "y", *words, "z"], [0, 1, *heads, 0], offsets=np.cumsum([0, *sizes]))
    binary = binary_dependencies(forest)
    assert _texts(binary) == ["(x y)", expected, "z"]
    Forest.build(binary.parent, pos=binary.pos, offsets=binary.offsets)


def test_deep_trees_are_no_matter() -> None:
    depth = 20_000
    forest = from_heads(["w"] * depth, range(depth))
    assert binary_dependencies(forest).depths.tolist() == [depth - 1]
    text = "(A (B b) " * depth + "(C c)" + ")" * depth
    assert binary_constituents(FORMATS["mrg"].read(Lines([text])).forest).depths[0] == depth
    chain = "(A " * depth + "(B b)" + ")" * depth
    assert len(binary_constituents(FORMATS["mrg"].read(Lines([chain])).forest.tree(0)).parent) == 1
