import re
from typing import Any

import numpy as np
import pytest
import torch

from dgltrees.draw import draw
from dgltrees.draw.trees import MAX_INDENT
from dgltrees.errors import TreeError
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary
from tests.draw.examples import OPERATORS, listops


def test_batches_and_graphs_draw_like_their_forest() -> None:
    forest = listops()
    text = draw(forest).text
    vocabs = {"op": OPERATORS}
    assert draw(forest.batch(), vocabs=vocabs).text == text
    assert draw(forest.batch().reversed(), vocabs=vocabs).text == text
    assert draw(forest.batch().graph, vocabs=vocabs).text == text


def test_a_chain_is_drawn_from_its_root_in_both_directions() -> None:
    batch = Forest.build([1, 2, -1]).batch()
    assert draw(batch).text == draw(batch.reversed()).text == "2\n└─ 1\n   └─ 0"


def test_edges_without_positions_are_in_the_order_of_the_mailbox() -> None:
    batch = TreeBatch(torch.tensor([3, 1, 2]), torch.tensor([0, 0, 0]), torch.tensor([4]))
    assert draw(batch).text == "0\n├─ 3\n├─ 1\n└─ 2"


def test_tensors_arrays_and_lists_are_the_same() -> None:
    forest = listops()
    values = torch.linspace(0, 1, 9, dtype=torch.float64, requires_grad=True)
    text = draw(forest, values=values).text
    assert draw(forest, values=values.detach().numpy()).text == text
    assert draw(forest, values=values.tolist()).text == text
    assert "0.25" in draw(forest, values=values.bfloat16()).text


def test_arguments_are_for_all_trees_also_when_one_is_drawn() -> None:
    drawing = draw(listops(), 1, values=np.arange(9), predictions=[3, 8], titles=["a", "b"])
    assert drawing.text == "b\nSM  → 8 · 6\n├─ 5  7\n└─ 6  8"


def test_labels_are_made_from_all_columns_of_text_or_with_a_vocabulary() -> None:
    words, tags = Vocabulary(["the", "cat"]), Vocabulary(["NP", "DT", "NN"])
    columns = {
        "word": np.array([-1, 0, 1]),
        "label": np.array([0, 1, 2]),
        "mask": np.array([1, 0, 0]),
        "note": np.array(["", "x", ""]),
    }
    forest = Forest.build([-1, 0, 0], columns=columns, vocabs={"word": words, "label": tags})
    assert draw(forest).text == "NP\n├─ DT the x\n└─ NN cat"
    assert draw(forest, labels="word").text == "·\n├─ the\n└─ cat"
    assert draw(forest, labels="mask").text == "mask 1\n├─ mask 0\n└─ mask 0"
    assert draw(forest, labels=["a", "b", "c"]).text == "a\n├─ b\n└─ c"


def test_targets_of_nodes_are_shown_and_named() -> None:
    columns = {"word": np.array([-1, 0]), "target": np.array([2, -1])}
    vocabs = {"word": Vocabulary(["good"]), "target": Vocabulary(["bad", "so so", "fine"])}
    forest = Forest.build([-1, 0], columns=columns, vocabs=vocabs)
    assert draw(forest).text == "= fine\n└─ good"
    assert draw(forest, predictions=[0, 1]).text == "✗ bad (fine)\n└─ good  → so so"


def test_long_labels_are_shortened() -> None:
    assert draw(Forest.build([-1]), labels=["x" * 100]).text == "x" * 39 + "…"


def test_jupyter_gets_a_picture_up_to_2000_nodes() -> None:
    chain = Forest.build(np.arange(-1, 2000))
    assert draw(chain)._repr_svg_() is None
    assert draw(chain, svg_limit=2001)._repr_svg_() is not None


def test_no_trees() -> None:
    empty = listops().select([])
    assert draw(empty).text == ""
    assert draw(empty).svg.startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": [1.0, 2.0]}, "one entry for each of the 9 nodes, got shape (2,)"),
        ({"values": ["a"] * 9}, "values that are numbers"),
        ({"predictions": np.zeros((9, 5))}, "9 nodes or the 2 trees, got shape (9, 5); for class"),
        ({"targets": [1, 2, 3]}, "targets to have one entry for each of the 9 nodes or the 2"),
        ({"labels": "word"}, "one of ['op', 'value'], or one label per node, got 'word'"),
        ({"labels": ["a"]}, "labels to have one entry for each of the 9 nodes, got shape (1,)"),
        ({"positions": "some"}, "positions to be 'all', 'none' or 'auto', got 'some'"),
        ({"titles": ["a"]}, "expected 2 titles, one per tree, got 1"),
        ({"vocabs": {"op": Vocabulary(["a", "b"])}}, "ids of 'op' below 2"),
    ],
)
def test_errors_of_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TreeError, match=re.escape(message)):
        draw(listops(), **arguments)


def test_errors_of_trees() -> None:
    with pytest.raises(IndexError, match="between 0 and 1, or negative ones from the end, got 7"):
        draw(listops(), 7)
    graph = TreeBatch(torch.tensor([0, 0, 1]), torch.tensor([1, 2, 2]), torch.tensor([3]))
    with pytest.raises(TreeError, match="node 0: expected a tree, in which a node has at most one"):
        draw(graph)
    circle = TreeBatch(torch.tensor([0, 1, 2]), torch.tensor([1, 0, 0]), torch.tensor([3]))
    with pytest.raises(TreeError, match=r"tree 0"):
        draw(circle)


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


def test_classes_that_begin_alike_are_different() -> None:
    names = [f"{'org.apache.calcite.adapter.enumerable.'}{rest}" for rest in ("HashJoin", "Hash")]
    vocabs = {"target": Vocabulary(names)}
    drawing = draw(listops(), 0, vocabs=vocabs, predictions=[0, 0], targets=[1, 1])
    assert drawing.text.startswith("MAX  ✗ org.apache.calcite")


def test_numbers_that_begin_alike_are_different() -> None:
    leaf = Forest.build([-1])
    assert str(draw(leaf, predictions=[1234.0], targets=[1230.0])) == "0  ✗ 1234 (1230)"
    assert str(draw(leaf, predictions=[7.0], targets=[7])) == "0  ✓ 7"


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
