from __future__ import annotations

import numpy as np
import pytest

from dgltrees._files import Lines
from dgltrees.formats import FORMATS
from dgltrees.papers.nti.graphs import binary_constituents, binary_dependencies
from dgltrees.trees import Forest
from dgltrees.trees.builders import from_heads
from dgltrees.trees.builders.brackets import render


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
