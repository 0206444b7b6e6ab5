import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings

from dgltrees.draw import draw
from dgltrees.draw.svg import (
    CORRECT,
    GREY,
    INNER,
    LEAF,
    MISSING,
    WRONG,
    ColorScale,
    contrast,
    text_width,
)
from dgltrees.trees.forest import Forest
from tests.draw.examples import forests, listops
from tests.draw.svg import SVG, canvas_size, node_boxes, numbers, of_class, texts


@settings(max_examples=40)
@given(forests())
def test_boxes_never_overlap_and_stay_on_the_canvas(forest: Forest) -> None:
    values = np.arange(forest.num_nodes) / 7
    svg = draw(forest, values=values, positions="all").svg
    boxes = node_boxes(svg)
    assert len(boxes) == forest.num_nodes
    assert len(of_class(svg, "edge")) == forest.num_nodes - len(forest)
    apart = (boxes[:, None, 2:] <= boxes[None, :, :2] + 0.2).any(-1)
    assert (apart | apart.T | np.eye(len(boxes), dtype=bool)).all()
    assert (boxes >= 0).all()
    assert (boxes[:, 2:] <= canvas_size(svg)).all()


@settings(max_examples=40)
@given(forests())
def test_every_text_fits_in_its_box(forest: Forest) -> None:
    svg = draw(forest, predictions=np.arange(forest.num_nodes)).svg
    for node, (left, _, right, _) in zip(of_class(svg, "node"), node_boxes(svg)):
        for text in node.iter(f"{SVG}text"):
            size = float(text.get("font-size", "nan"))
            assert text_width(text.text or "", size) <= right - left - 4


def test_widths_of_letters_outside_the_table() -> None:
    assert text_width("é", 10) == text_width("e\u0301", 10) == text_width("e", 10)
    assert text_width("中", 10) > text_width("ж", 10) > text_width("e", 10)


def test_edges_join_the_boxes_of_parent_and_child() -> None:
    svg = draw(listops(), 1).svg
    root, *children = node_boxes(svg)
    for edge, child in zip(of_class(svg, "edge"), children):
        path = numbers(edge)
        assert path[:2] == pytest.approx([(root[0] + root[2]) / 2, root[3]], abs=0.11)
        assert path[-2:] == pytest.approx([(child[0] + child[2]) / 2, child[1]], abs=0.11)


def test_many_trees_are_broken_into_rows() -> None:
    forest = Forest.concat([listops()] * 15)
    svg = draw(forest).svg
    assert canvas_size(svg)[0] < 1000
    titles = [text for text in texts(ET.fromstring(svg)) if text.startswith("tree")]
    assert titles == [f"tree {i}" for i in range(30)]
    assert len(np.unique(node_boxes(svg)[:, 1])) > 3


def test_labels_are_escaped() -> None:
    nasty = ["<b>&amp;\"'</b>", "]]>", "a\nb", "\x00\x1b[31m", "\ud800", "e\u0301 中"]
    svg = draw(Forest.build([-1, 0, 0, 0, 0, 0]), labels=nasty).svg
    svg.encode()
    escaped = ["<b>&amp;\"'</b>", "]]>", "a\\nb", "\\x00\\x1b[31m", "\\ud800", nasty[-1]]
    assert [texts(node) for node in of_class(svg, "node")] == [[text] for text in escaped]


def test_positions() -> None:
    forest = Forest.build([-1, 0, 0, 1, 1], pos=[0, 0, 1, 0, 12])

    def badges(positions: str) -> list[str]:
        elements = of_class(draw(forest, positions=positions).svg, "position")
        return ["".join(badge.itertext()) for badge in elements]

    assert badges("auto") == ["0", "12"]
    assert badges("all") == ["0", "0", "12", "1"]
    assert badges("none") == []


def test_predictions_show_right_and_wrong_by_sign_and_border() -> None:
    svg = draw(listops(), predictions=[3, 1], targets=[4, 1]).svg
    nodes = of_class(svg, "node")
    borders = [rect.get("stroke") for node in nodes for rect in node.iter(f"{SVG}rect")]
    assert borders[0] == WRONG
    assert borders[6] == CORRECT
    assert not {WRONG, CORRECT} & {*borders[1:6], *borders[7:]}
    assert texts(nodes[0]) == ["MAX", "✗ 3 (4)"]
    assert texts(nodes[6]) == ["SM", "✓ 1"]


def test_values_colour_the_nodes_and_have_a_legend() -> None:
    svg = draw(listops(), values=[0, 1, 2, 3, 4, 5, 6, 7, np.nan]).svg
    nodes = of_class(svg, "node")
    fills = [rect.get("fill") for node in nodes for rect in node.iter(f"{SVG}rect")]
    scale = ColorScale(np.array([0.0, 7.0]))
    in_preorder = [4, 5, 2, 3, 0, 1, 6, 7]
    assert fills == [*(scale.color(v / 7) for v in in_preorder), MISSING.fill]
    (legend,) = of_class(svg, "legend")
    assert texts(legend) == ["0", "7"]
    assert of_class(draw(listops()).svg, "legend") == []


def test_values_of_both_signs_are_scaled_around_zero() -> None:
    scale = ColorScale(np.array([-1.0, 4.0]))
    assert (scale.low, scale.high) == (-4.0, 4.0)
    assert scale.paint(0.0).fill == scale.color(0.5) == "#f3f3f3"


def test_values_that_are_all_alike_or_all_missing() -> None:
    scale = ColorScale(np.array([2.0, 2.0]))
    assert scale.paint(2.0).fill == scale.color(0.0)
    assert ColorScale(np.array([np.nan])).paint(np.nan) == MISSING


@pytest.mark.parametrize("page", ["#ffffff", "#000000"])
def test_what_stands_on_the_page_is_legible_in_light_and_dark(page: str) -> None:
    assert contrast(GREY, page) > 4.3
    for paint in (INNER, LEAF):
        assert contrast(paint.border, page) > 2.5 or contrast(paint.fill, page) > 2.5


def test_what_stands_on_a_node_is_legible() -> None:
    for paint in (INNER, LEAF, MISSING):
        assert contrast(paint.text, paint.fill) > 7
    for low in (0.0, -1.0):
        scale = ColorScale(np.array([low, 1.0]))
        for value in np.linspace(low, 1, 101):
            paint = scale.paint(value)
            assert contrast(paint.text, paint.fill) >= 4.5


def test_contrast_of_black_and_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
