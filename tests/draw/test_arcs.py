import numpy as np
import pytest
from hypothesis import given, settings

from dgltrees import Forest, TreeError
from dgltrees.draw import draw_arcs
from dgltrees.draw.arcs import MAX_LEVELS, ArcSentence
from dgltrees.draw.svg import text_width
from dgltrees.trees.builders import from_heads
from tests.draw.svg import canvas_size, node_boxes, numbers, of_class, texts
from tests.trees.dependencies import HEADS, SENTENCE, forest_of, sentences


def arc_ends(svg: str) -> list[tuple[float, float, float]]:
    """The left end, the right end and the top of every arc."""
    ends = []
    for edge in of_class(svg, "edge"):
        x, _, y, *bend, stop, _, _, _, _, _ = numbers(edge)
        ends.append((x, stop + bend[2], y - bend[2]))
    return ends


def example(**columns: list[str | None]) -> Forest:
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
    for words_heads in heads:
        words = ["w"] * (len(words_heads) + 1)
        sentence = ArcSentence(None, [-1, *words_heads], words, words, words)
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
def test_words_do_not_overlap_and_labels_fit_their_arcs(heads: list[list[int]]) -> None:
    flat = [head for sentence in heads for head in sentence]
    offsets = np.cumsum([0, *map(len, heads)])
    labels = ["a" * (i % 9 + 1) for i in range(len(flat))]
    forest = from_heads(["w"] * len(flat), flat, offsets=offsets, columns={"deprel": labels})
    svg = draw_arcs(forest).svg
    boxes = node_boxes(svg)
    assert len(boxes) == forest.num_nodes
    same_row = boxes[1:, 1] == boxes[:-1, 1]
    assert (boxes[1:, 0] > boxes[:-1, 2])[same_row].all()
    assert (boxes >= 0).all()
    assert (boxes[:, 2:] <= canvas_size(svg)).all()
    for (left, right, _), label in zip(arc_ends(svg), of_class(svg, "label")):
        size = float(label.get("font-size", "nan"))
        assert text_width(label.text or "", size) <= right - left


def test_arcs_join_the_boxes_of_head_and_dependent() -> None:
    svg = draw_arcs(example()).svg
    boxes = node_boxes(svg)
    tips = [numbers(tip)[0] for tip in of_class(svg, "tip")]
    pairs = [(1, 2), (0, 2), (2, 3)]
    for (first, last), (left, right, _), tip, node in zip(pairs, arc_ends(svg), tips, (1, 2, 3)):
        for word, x in ((first, left), (last, right), (node, tip)):
            assert boxes[word, 0] < x < boxes[word, 2]


def test_words_and_labels_are_escaped() -> None:
    nasty = ["<script>alert(1)</script>", "]]>&amp;", '"a"\n\x1b[31m']
    forest = from_heads(nasty, [0, 1, 2], columns={"deprel": nasty, "upos": nasty})
    svg = draw_arcs(forest).svg
    assert "<script" not in svg
    escaped = [nasty[0], nasty[1], '"a"\\n\\x1b[31m']
    assert [label.text for label in of_class(svg, "label")] == escaped
    word_texts = [texts(node) for node in of_class(svg, "node")]
    assert word_texts == [["<root>"], *([text, text] for text in escaped)]
    assert "\x1b" not in draw_arcs(forest).text


def test_a_long_sentence() -> None:
    forest = from_heads(["w"] * 20_000, np.zeros(20_000, int), single_root=False)
    drawing = draw_arcs(forest)
    lines = drawing.text.split("\n")
    assert len(lines) == 20_001
    assert max(map(len, lines)) < MAX_LEVELS + 40
    assert lines[-1].lstrip().startswith("20000 w")
    assert drawing._repr_svg_() is None


def test_what_is_no_dependency_tree() -> None:
    with pytest.raises(TreeError, match="tree 0: expected a dependency tree"):
        draw_arcs(Forest.build([1, -1]))
    with pytest.raises(TreeError, match="expected a column 'word'"):
        draw_arcs(Forest.build([-1, 0]))
    with pytest.raises(TreeError, match="expected 1 titles, one per tree, got 2"):
        draw_arcs(example(), titles=["a", "b"])
    with pytest.raises(IndexError):
        draw_arcs(example(), 1)
