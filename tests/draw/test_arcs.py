from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from dgltrees import Forest, TreeError
from dgltrees.draw import draw_arcs
from dgltrees.draw.arcs_sentence import ArcSentence
from dgltrees.draw.arcs_text import HIGHEST
from dgltrees.draw.fonts import text_width
from dgltrees.trees.builders import from_heads
from tests.trees.dependencies import HEADS, SENTENCE, forest_of, sentences

SVG = "{http://www.w3.org/2000/svg}"


def of_class(svg: str, name: str) -> list[ET.Element]:
    return [e for e in ET.fromstring(svg).iter() if e.get("class") == name]


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?[\d.]+", text)]


def arc_ends(svg: str) -> list[tuple[float, float, float]]:
    """The left end, the right end and the top of every arc."""
    found = []
    for edge in of_class(svg, "edge"):
        x, _, y, *bend, stop, _, _, _, _, _ = numbers(edge.get("d"))
        found.append((x, stop + bend[2], y - bend[2]))
    return found


def example(**columns: list) -> Forest:
    return from_heads(["Ada", "counts", "stars"], [2, 0, 2], columns=columns)


def test_text() -> None:
    drawing = draw_arcs(example(deprel=["nsubj", "root", None]))
    assert str(drawing) == drawing.text
    assert drawing.text == (
        "┌── 0 <root>\n│┌► 1 Ada     nsubj ← 2\n└┼► 2 counts  root ← 0\n └► 3 stars   ← 2"
    )


def test_text_of_several_trees_in_ascii() -> None:
    forest = from_heads(["é", "b"], [0, 0], offsets=[0, 1, 2])
    lines = draw_arcs(forest, [1, 0], titles=["«0»", "1"]).lines(ascii_only=True)
    assert list(lines) == [
        *("1", "+- 0 <root>", "+> 1 b       <- 0", ""),
        *("\\xab0\\xbb", "+- 0 <root>", "+> 1 \\xe9       <- 0"),
    ]


def test_the_sentence_of_figure_2() -> None:
    lines = draw_arcs(from_heads(SENTENCE, HEADS)).text.split("\n")
    assert [line[:5] for line in lines] == [
        *("┌────", "│┌──►", "││┌─►", "│││┌►", "│└┼┴►", "│ │┌►", "│ │├►"),
        *("└┬┼┴►", " ││┌►", " │└┴►", " └┬─►", "  │┌►", "  └┴►"),
    ]


@given(sentences(projective=False))
def test_arcs_over_the_same_words_have_different_heights(heads: list[list[int]]) -> None:
    for one in heads:
        n = len(one)
        sentence = ArcSentence(None, [-1, *one], *(["w"] * (n + 1) for _ in range(3)))
        arcs = [
            (min(h, d), max(h, d), level)
            for d, (h, level) in enumerate(zip(sentence.heads, sentence.levels))
            if h >= 0
        ]
        for i, (a, b, high) in enumerate(arcs):
            for c, d, other in arcs[:i]:
                assert high != other or b <= c or d <= a
                if (a <= c and d <= b) and (a, b) != (c, d):
                    assert high > other


@settings(max_examples=40)
@given(sentences(projective=True))
def test_arcs_of_projective_trees_do_not_cross(heads: list[list[int]]) -> None:
    for tree in range(len(heads)):
        ends = arc_ends(draw_arcs(forest_of(heads), tree).svg)
        assert len(ends) == len(heads[tree])
        for i, (a, b, top) in enumerate(ends):
            assert a < b
            for c, d, other in ends[:i]:
                inside = (a < c and d < b and top < other) or (c < a and b < d and other < top)
                assert b < c or d < a or inside


@settings(max_examples=40)
@given(sentences(projective=False))
def test_everything_stands_in_its_place(heads: list[list[int]]) -> None:
    forest = forest_of(heads)
    labels = ["a" * (i % 9 + 1) for i in range(sum(map(len, heads)))]
    flat = [h for one in heads for h in one]
    offsets = np.cumsum([0, *map(len, heads)])
    words = ["w"] * len(flat)
    forest = from_heads(words, flat, offsets=offsets, columns={"deprel": labels})
    svg = draw_arcs(forest).svg
    page = ET.fromstring(svg)
    boxes = [node.find(f"{SVG}rect") for node in of_class(svg, "node")]
    assert len(boxes) == forest.num_nodes
    at = np.array([[float(b.get(k)) for k in ("x", "y", "width", "height")] for b in boxes])
    at[:, 2:] += at[:, :2]
    same_row = at[1:, 1] == at[:-1, 1]
    assert (at[1:, 0] > at[:-1, 2])[same_row].all()
    assert (at >= 0).all()
    assert at[:, 2].max() <= float(page.get("width"))
    assert at[:, 3].max() <= float(page.get("height"))
    for (left, right, _), label in zip(arc_ends(svg), of_class(svg, "label")):
        assert text_width(label.text, float(label.get("font-size"))) <= right - left


def test_arcs_join_the_boxes_of_head_and_dependent() -> None:
    svg = draw_arcs(example()).svg
    boxes = [node.find(f"{SVG}rect") for node in of_class(svg, "node")]
    sides = [(float(b.get("x")), float(b.get("x")) + float(b.get("width"))) for b in boxes]
    tips = [numbers(tip.get("d"))[0] for tip in of_class(svg, "tip")]
    pairs = [(1, 2), (0, 2), (2, 3)]
    for (first, last), (left, right, _), tip, node in zip(pairs, arc_ends(svg), tips, (1, 2, 3)):
        assert sides[first][0] < left < sides[first][1]
        assert sides[last][0] < right < sides[last][1]
        assert sides[node][0] < tip < sides[node][1]


def test_words_labels_and_titles_are_escaped() -> None:
    nasty = ["<script>alert(1)</script>", "]]>&amp;", '"a"\n\x1b[31m']
    forest = from_heads(nasty, [0, 1, 2], columns={"deprel": nasty, "upos": nasty})
    svg = draw_arcs(forest, titles=["</svg><script>"]).svg
    assert "<script" not in svg
    shown = [nasty[0], nasty[1], '"a"\\n\\x1b[31m']
    assert [label.text for label in of_class(svg, "label")] == shown
    texts = [[t.text for t in node.iter(f"{SVG}text")] for node in of_class(svg, "node")]
    assert texts == [["<root>"], *([text, text] for text in shown)]
    assert "\x1b" not in draw_arcs(forest).text


def test_a_long_sentence() -> None:
    forest = from_heads(["w"] * 20_000, np.zeros(20_000, int), single_root=False)
    drawing = draw_arcs(forest)
    lines = drawing.text.split("\n")
    assert len(lines) == 20_001
    assert max(map(len, lines)) < HIGHEST + 40
    assert lines[-1].lstrip().startswith("20000 w")
    assert drawing._repr_svg_() is None
    assert "ArcDrawing(1 dependency tree, 20001 nodes: print it" in repr(drawing)
    with pytest.raises(TreeError, match="expected at most 2000 nodes to draw as SVG, got 20001"):
        _ = drawing.svg


def test_a_drawing_is_saved(tmp_path: Path) -> None:
    drawing = draw_arcs(example())
    drawing.save(tmp_path / "a.svg")
    drawing.save(tmp_path / "a.txt")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == drawing.svg == drawing._repr_svg_()
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == drawing.text + "\n"
    with pytest.raises(TreeError, match=r"expected a path that ends in .svg or .txt"):
        drawing.save(tmp_path / "a.png")


def test_what_is_no_dependency_tree() -> None:
    with pytest.raises(TreeError, match="tree 0: expected a dependency tree"):
        draw_arcs(Forest.build([1, -1]))
    with pytest.raises(TreeError, match="expected a column 'word'"):
        draw_arcs(Forest.build([-1, 0]))
    with pytest.raises(TreeError, match="expected 1 titles, one a tree, got 2"):
        draw_arcs(example(), titles=["a", "b"])
    with pytest.raises(IndexError):
        draw_arcs(example(), 1)
