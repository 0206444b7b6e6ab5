from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
import torch

from dgltrees import TreeError
from dgltrees.draw import draw_attention, tree_cells
from dgltrees.trees.builders import from_brackets, full_trees

SVG = "{http://www.w3.org/2000/svg}"
WORDS = [None, "a", "<b>", "cat"]
SPANS = [(0, 0), (1, 1), (2, 2), (3, 3), (0, 1), (2, 3), (0, 3)]
DEPTH = [2, 2, 2, 2, 1, 1, 0]
WEIGHTS = torch.tensor([[0, 0.5, 0, 0, 0, 0.25, 0.25], [0.1, 0, 0, 0, 0, 0, 0.9]])


def cells(svg, which):
    maps = [g for g in ET.fromstring(svg).iter(f"{SVG}g") if g.get("class") == "map"]
    return [e for e in maps[which].iter(f"{SVG}rect") if e.get("class") == "cell"]


def box(cell):
    x, y, width, height = (float(cell.get(k)) for k in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def test_a_cell_stands_on_those_of_its_children():
    drawing = draw_attention(WORDS, SPANS, DEPTH, WEIGHTS, titles=["one", "two & three"])
    for which in (0, 1):
        boxes = [box(cell) for cell in cells(drawing.svg, which)]
        assert len(boxes) == 7
        for parent, children in ((4, (0, 1)), (5, (2, 3)), (6, (4, 5))):
            first, last = (boxes[child] for child in children)
            assert boxes[parent][0] == pytest.approx(first[0], abs=0.11)
            assert boxes[parent][2] == pytest.approx(last[2], abs=0.11)
            assert boxes[parent][3] == first[1] == last[1]


def test_colours_follow_the_weights_and_hold_for_all_maps():
    drawing = draw_attention(WORDS, SPANS, DEPTH, WEIGHTS)
    first, second = cells(drawing.svg, 0), cells(drawing.svg, 1)
    assert first[0].get("fill") == second[1].get("fill")  # both 0
    assert first[5].get("fill") == first[6].get("fill")
    assert len({first[0].get("fill"), first[1].get("fill"), second[6].get("fill")}) == 3
    titles = [cell.find(f"{SVG}title").text for cell in first]
    assert titles[5] == "<b> cat: 0.25"
    assert titles[0] == "–: 0"


def test_text_has_the_largest_weights(tmp_path):
    drawing = draw_attention(WORDS, SPANS, DEPTH, WEIGHTS, titles=["é", "z"])
    lines = drawing.text.splitlines()
    assert [line.split(maxsplit=1) for line in lines[1:4]] == [
        ["0.5", "a"],
        ["0.25", "<b> cat"],
        ["0.25", "- a <b> cat"],
    ]
    assert lines[6] == "z"
    drawing.save(tmp_path / "a.txt", ascii_only=True)
    assert (tmp_path / "a.txt").read_text().startswith("\\xe9\n")
    drawing.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == drawing.svg
    assert drawing._repr_svg_() == drawing.svg


def test_a_leaf_of_a_parse_reaches_down_to_its_word():
    spans, depth = [(0, 1), (0, 0), (1, 2), (1, 1), (2, 2)], [0, 1, 1, 2, 2]
    spans[0] = (0, 2)
    boxes = [box(c) for c in cells(draw_attention("abc", spans, depth, np.ones((1, 5))).svg, 0)]
    assert boxes[1][3] == boxes[3][3] == boxes[4][3]


def test_a_map_too_large():
    drawing = draw_attention(WORDS, SPANS, DEPTH, WEIGHTS, svg_limit=13)
    assert drawing._repr_svg_() is None
    assert "attention of 2 over a tree of 7 nodes" in repr(drawing)
    with pytest.raises(TreeError, match="at most 13 nodes to draw as SVG, got 14"):
        _ = drawing.svg


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
def test_what_does_not_fit(spans, depth, weights, message):
    with pytest.raises(TreeError, match=message):
        draw_attention(WORDS, spans, depth, weights)


def test_cells_of_a_full_tree():
    leaves, spans, depth = tree_cells(full_trees([3]))
    assert leaves.tolist() == [0, 1, 2, 3]
    assert spans.tolist() == [list(span) for span in SPANS]
    assert depth.tolist() == DEPTH


def test_cells_of_any_tree():
    leaves, spans, depth = tree_cells(from_brackets("(a (b c d) e)").batch())
    assert spans.tolist() == [[0, len(leaves) - 1], *spans[1:].tolist()]
    assert (spans[leaves, 0] == np.arange(len(leaves))).all()
    assert depth[0] == 0


def test_cells_of_more_than_a_tree():
    for batch in (full_trees([2, 3]), full_trees([5], 3, stride=2)):
        with pytest.raises(TreeError, match="expected one tree to draw"):
            tree_cells(batch)
