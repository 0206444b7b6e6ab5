import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike

from dgltrees import TreeError
from dgltrees.papers.nti.graphs import full_trees
from dgltrees.papers.nti.pictures import AttentionDrawing, draw_attention, tree_cells
from dgltrees.trees.builders import from_brackets
from tests.draw.laws import every_law
from tests.draw.svg import SVG, of_class, rectangle

WORDS = [None, "a", "<b>", "cat"]
SPANS = [(0, 0), (1, 1), (2, 2), (3, 3), (0, 1), (2, 3), (0, 3)]
DEPTH = [2, 2, 2, 2, 1, 1, 0]
WEIGHTS = torch.tensor([[0, 0.5, 0, 0, 0, 0.25, 0.25], [0.1, 0, 0, 0, 0, 0, 0.9]])


def cells(drawing: AttentionDrawing, query: int) -> list[ET.Element]:
    heat_map = of_class(drawing.svg, "map")[query]
    return [cell for cell in heat_map.iter(f"{SVG}rect") if cell.get("class") == "cell"]


def test_a_cell_is_above_those_of_its_children() -> None:
    drawing = draw_attention(WORDS, SPANS, DEPTH, WEIGHTS, titles=["one", "two & three"])
    for query in (0, 1):
        boxes = [rectangle(cell) for cell in cells(drawing, query)]
        assert len(boxes) == 7
        for parent, children in ((4, (0, 1)), (5, (2, 3)), (6, (4, 5))):
            first, last = (boxes[child] for child in children)
            assert boxes[parent][0] == pytest.approx(first[0], abs=0.11)
            assert boxes[parent][2] == pytest.approx(last[2], abs=0.11)
            assert boxes[parent][3] == first[1] == last[1]


def test_colours_follow_the_weights_and_hold_for_all_maps() -> None:
    drawing = draw_attention(WORDS, SPANS, DEPTH, WEIGHTS)
    first, second = cells(drawing, 0), cells(drawing, 1)
    assert first[0].get("fill") == second[1].get("fill")  # both 0
    assert first[5].get("fill") == first[6].get("fill")
    assert len({first[0].get("fill"), first[1].get("fill"), second[6].get("fill")}) == 3
    titles = [cell.findtext(f"{SVG}title") for cell in first]
    assert titles[5] == "<b> cat: 0.25"
    assert titles[0] == "–: 0"


def test_text_has_the_largest_weights() -> None:
    drawing = draw_attention(WORDS, SPANS, DEPTH, WEIGHTS, titles=["é", "z"])
    lines = drawing.text.splitlines()
    assert [line.split(maxsplit=1) for line in lines[1:4]] == [
        ["0.5", "a"],
        ["0.25", "<b> cat"],
        ["0.25", "- a <b> cat"],
    ]
    assert lines[6] == "z"


def test_a_leaf_of_a_parse_reaches_down_to_its_word() -> None:
    spans, depth = [(0, 2), (0, 0), (1, 2), (1, 1), (2, 2)], [0, 1, 1, 2, 2]
    drawing = draw_attention("abc", spans, depth, np.ones((1, 5)))
    boxes = [rectangle(cell) for cell in cells(drawing, 0)]
    assert boxes[1][3] == boxes[3][3] == boxes[4][3]


@pytest.mark.parametrize(
    ("spans", "depth", "weights", "message"),
    [
        (SPANS, DEPTH, np.ones((1, 6)), r"\(7, 2\), \(7,\) and \(1, 6\) for 1 titles"),
        (SPANS, DEPTH, np.ones((0, 7)), "for 0 titles"),
        ([(0, 4)], [0], [[1.0]], "spans within 4 leaves"),
        ([(2, 1)], [0], [[1.0]], "spans within 4 leaves"),
        ([(0, 1), (1, 2)], [1, 1], [[1.0, 0.0]], "got overlaps"),
    ],
)
def test_what_does_not_fit(
    spans: ArrayLike, depth: ArrayLike, weights: ArrayLike, message: str
) -> None:
    with pytest.raises(TreeError, match=message):
        draw_attention(WORDS, spans, depth, weights)


def test_cells_of_a_full_tree() -> None:
    leaves, spans, depth = tree_cells(full_trees([3]))
    assert leaves.tolist() == [0, 1, 2, 3]
    assert spans.tolist() == [list(span) for span in SPANS]
    assert depth.tolist() == DEPTH


def test_cells_of_any_tree() -> None:
    leaves, spans, depth = tree_cells(from_brackets("(a (b c d) e)").batch())
    assert spans.tolist() == [[0, len(leaves) - 1], *spans[1:].tolist()]
    assert (spans[leaves, 0] == np.arange(len(leaves))).all()
    assert depth[0] == 0


def test_cells_of_more_than_a_tree() -> None:
    for batch in (full_trees([2, 3]), full_trees([5], 3, stride=2)):
        with pytest.raises(TreeError, match="expected one tree to draw"):
            tree_cells(batch)


@every_law
def test_a_drawing_keeps_the_laws(law: Callable[..., None], tmp_path: Path) -> None:
    law(
        lambda title="", **limit: draw_attention(
            "ab", [(0, 1), (1, 1)], [0, 1], [[0.5, 0.5]] * 2, titles=[title, title], **limit
        ),
        4,
        "AttentionDrawing(attention of 2 over a tree of 2 nodes: print it for text, .svg for a "
        "picture of up to {} cells)",
        tmp_path,
    )
