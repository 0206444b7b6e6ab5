from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings

from dgltrees.draw import draw
from dgltrees.draw.colors import GREY, INNER, LEAF, MISSING, RIGHT, WRONG, Scale, contrast
from dgltrees.draw.fonts import text_width
from dgltrees.trees.forest import Forest
from tests.draw.forests import forests, listops

SVG = "{http://www.w3.org/2000/svg}"


def of_class(svg: str, name: str) -> list[ET.Element]:
    return [e for e in ET.fromstring(svg).iter() if e.get("class") == name]


def boxes(svg: str) -> np.ndarray:
    """``(n, 4)`` left, top, right and bottom of the boxes of all nodes."""
    rects = [node.find(f"{SVG}rect") for node in of_class(svg, "node")]
    at = np.array([[float(r.get(k)) for k in ("x", "y", "width", "height")] for r in rects])
    at[:, 2:] += at[:, :2]
    return at


@settings(max_examples=40)
@given(forests())
def test_boxes_never_overlap_and_stay_on_the_page(forest: Forest) -> None:
    values = np.arange(forest.num_nodes) / 7
    svg = draw(forest, values=values, positions="all").svg
    at = boxes(svg)
    assert len(at) == forest.num_nodes
    assert len(of_class(svg, "edge")) == forest.num_nodes - len(forest)
    apart = (at[:, None, 2:] <= at[None, :, :2] + 0.2).any(-1)
    assert (apart | apart.T | np.eye(len(at), dtype=bool)).all()
    page = ET.fromstring(svg)
    assert (at >= 0).all()
    assert (at[:, 2] <= float(page.get("width"))).all()
    assert (at[:, 3] <= float(page.get("height"))).all()


@settings(max_examples=40)
@given(forests())
def test_every_text_fits_in_its_box(forest: Forest) -> None:
    svg = draw(forest, predictions=np.arange(forest.num_nodes)).svg
    for node, (left, _, right, _) in zip(of_class(svg, "node"), boxes(svg)):
        for text in node.iter(f"{SVG}text"):
            assert text_width(text.text, float(text.get("font-size"))) <= right - left - 4


def test_widths_of_letters_outside_the_table() -> None:
    assert text_width("é", 10) == text_width("e\u0301", 10) == text_width("e", 10)
    assert text_width("中", 10) > text_width("ж", 10) > text_width("e", 10)


def test_edges_join_the_boxes_of_parent_and_child() -> None:
    svg = draw(listops(), 1).svg
    root, first, second = boxes(svg)
    ends = [
        [float(x) for x in re.findall(r"[\d.]+", edge.get("d"))] for edge in of_class(svg, "edge")
    ]
    for end, child in zip(ends, (first, second)):
        assert end[:2] == pytest.approx([(root[0] + root[2]) / 2, root[3]], abs=0.11)
        assert end[-2:] == pytest.approx([(child[0] + child[2]) / 2, child[1]], abs=0.11)


def test_many_trees_are_broken_into_rows() -> None:
    forest = Forest.concat([listops()] * 15)
    svg = draw(forest).svg
    assert float(ET.fromstring(svg).get("width")) < 1000
    titles = [e.text for e in ET.fromstring(svg).iter(f"{SVG}text") if e.text.startswith("tree")]
    assert titles == [f"tree {i}" for i in range(30)]
    assert len(np.unique(boxes(svg)[:, 1])) > 3


def test_labels_are_escaped() -> None:
    nasty = ["<b>&amp;\"'</b>", "]]>", "a\nb", "\x00\x1b[31m", "\ud800", "e\u0301 中"]
    svg = draw(Forest.build([-1, 0, 0, 0, 0, 0]), labels=nasty, titles=["<&>"]).svg
    svg.encode()
    shown = [node.find(f"{SVG}text").text for node in of_class(svg, "node")]
    assert shown == ["<b>&amp;\"'</b>", "]]>", "a\\nb", "\\x00\\x1b[31m", "\\ud800", nasty[-1]]


def test_positions() -> None:
    forest = Forest.build([-1, 0, 0, 1, 1], pos=[0, 0, 1, 0, 12])

    def shown(positions: str) -> list[str]:
        badges = of_class(draw(forest, positions=positions).svg, "position")
        return ["".join(badge.itertext()) for badge in badges]

    assert shown("auto") == ["0", "12"]
    assert shown("all") == ["0", "0", "12", "1"]
    assert shown("none") == []


def test_predictions_show_right_and_wrong_by_sign_and_border() -> None:
    svg = draw(listops(), predictions=[3, 1], targets=[4, 1]).svg
    nodes = of_class(svg, "node")
    borders = [node.find(f"{SVG}rect").get("stroke") for node in nodes]
    assert borders[0] == WRONG
    assert borders[6] == RIGHT
    assert not {WRONG, RIGHT} & {*borders[1:6], *borders[7:]}
    assert [text.text for text in nodes[0].iter(f"{SVG}text")] == ["MAX", "✗ 3 (4)"]
    assert [text.text for text in nodes[6].iter(f"{SVG}text")] == ["SM", "✓ 1"]


def test_values_colour_the_nodes_and_have_a_legend() -> None:
    svg = draw(listops(), values=[0, 1, 2, 3, 4, 5, 6, 7, np.nan]).svg
    fills = [node.find(f"{SVG}rect").get("fill") for node in of_class(svg, "node")]
    scale = Scale(np.array([0.0, 7.0]))
    in_preorder = [4, 5, 2, 3, 0, 1, 6, 7]
    assert fills == [*(scale.color(v / 7) for v in in_preorder), MISSING.fill]
    (legend,) = of_class(svg, "legend")
    assert [text.text for text in legend.iter(f"{SVG}text")] == ["0", "7"]
    assert of_class(draw(listops()).svg, "legend") == []


def test_values_of_both_signs_are_scaled_around_zero() -> None:
    scale = Scale(np.array([-1.0, 4.0]))
    assert (scale.low, scale.high) == (-4.0, 4.0)
    assert scale.paint(0.0).fill == scale.color(0.5) == "#f3f3f3"


def test_values_that_are_all_alike_or_all_missing() -> None:
    assert Scale(np.array([2.0, 2.0])).paint(2.0).fill == Scale(np.array([2.0])).color(0.0)
    assert Scale(np.array([np.nan])).paint(np.nan) == MISSING


@pytest.mark.parametrize("page", ["#ffffff", "#000000"])
def test_what_stands_on_the_page_is_legible_in_light_and_dark(page: str) -> None:
    assert contrast(GREY, page) > 4.3
    for paint in (INNER, LEAF):
        assert contrast(paint.border, page) > 2.5 or contrast(paint.fill, page) > 2.5


def test_what_stands_on_a_node_is_legible() -> None:
    for paint in (INNER, LEAF, MISSING):
        assert contrast(paint.text, paint.fill) > 7
    for low in (0.0, -1.0):
        scale = Scale(np.array([low, 1.0]))
        for value in np.linspace(low, 1, 101):
            paint = scale.paint(value)
            assert contrast(paint.text, paint.fill) >= 4.5


def test_contrast_of_black_and_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
