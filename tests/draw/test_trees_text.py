from __future__ import annotations

import numpy as np
import pytest

from dgltrees.draw import draw
from dgltrees.draw.trees import MAX_INDENT
from dgltrees.trees.forest import Forest
from tests.draw.examples import listops


def test_two_trees() -> None:
    assert str(draw(listops())) == (
        "tree 0\nMAX\n├─ 3\n├─ MIN\n│  ├─ 9\n│  └─ 7\n└─ 2\n\ntree 1\nSM\n├─ 5\n└─ 6"
    )


def test_ascii_only() -> None:
    drawing = draw(
        listops(), 0, predictions=[3, 5], targets=[4, 5], titles=["é → é", ""], positions="all"
    )
    assert list(drawing.lines(ascii_only=True)) == [
        "\\xe9 -> \\xe9",
        "MAX  wrong 3 (4)",
        "|-0- 3",
        "|-1- MIN",
        "|  |-0- 9",
        "|  `-1- 7",
        "`-2- 2",
    ]


def test_values_and_predictions() -> None:
    values = [0.25, 1, 2, np.nan, 1234567.0, -1, 0, 0, 0]
    drawing = draw(listops(), 0, values=values, predictions=[7, 1], targets=[7, 1])
    assert drawing.text == (
        "MAX  ✓ 7 · 1.23e+06\n├─ 3  -1\n├─ MIN  2\n│  ├─ 9  nan\n│  └─ 7  0.25\n└─ 2  1"
    )


def test_positions_are_shown_where_a_child_is_missing() -> None:
    forest = Forest.build([-1, 0, 0, 1, 1], pos=[0, 0, 1, 0, 2])
    assert draw(forest).text == "0\n├─ 1\n│  ├─0─ 3\n│  └─2─ 4\n└─ 2"
    assert draw(forest, positions="none").text == "0\n├─ 1\n│  ├─ 3\n│  └─ 4\n└─ 2"
    assert draw(forest, positions="all").text == "0\n├─0─ 1\n│  ├─0─ 3\n│  └─2─ 4\n└─1─ 2"


def test_deeper_nodes_show_their_depth_instead_of_indentation() -> None:
    chain = [*range(-1, MAX_INDENT + 2), MAX_INDENT]
    lines = draw(Forest.build(chain), positions="none").text.split("\n")
    indent = "   " * (MAX_INDENT - 1)
    assert lines[MAX_INDENT:] == [
        f"{indent}└─ {MAX_INDENT}",
        f"{indent}   ⋯{MAX_INDENT + 1} {MAX_INDENT + 1}",
        f"{indent}   ⋯{MAX_INDENT + 2} {MAX_INDENT + 2}",
        f"{indent}   ⋯{MAX_INDENT + 1} {MAX_INDENT + 3}",
    ]
    assert (
        f"⋯{MAX_INDENT + 1}─0─ {MAX_INDENT + 1}" in draw(Forest.build(chain), positions="all").text
    )


def test_deep_nodes_keep_the_guides_of_their_ancestors() -> None:
    chain = [*range(-1, MAX_INDENT + 1), 0]
    lines = draw(Forest.build(chain)).text.split("\n")
    assert lines[-2].startswith("│  ")
    assert lines[-1] == f"└─ {MAX_INDENT + 2}"


@pytest.mark.parametrize("shape", ["chain", "star"])
def test_a_hundred_thousand_nodes(shape: str) -> None:
    n = 100_000
    parent = np.arange(-1, n - 1) if shape == "chain" else np.r_[-1, np.zeros(n - 1, dtype=int)]
    lines = draw(Forest.build(parent)).text.split("\n")
    assert len(lines) == n
    assert max(map(len, lines)) < 3 * MAX_INDENT + 16
    assert lines[-1].endswith(" 99999")
