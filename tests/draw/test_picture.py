"""What all drawings do alike."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from dgltrees.draw import Picture, draw, draw_arcs
from dgltrees.errors import TreeError
from dgltrees.papers.nti.pictures import draw_attention
from dgltrees.papers.rrnet.pictures import draw_operations
from dgltrees.trees.builders import from_heads
from tests.draw.examples import listops
from tests.draw.svg import SVG

# A drawing by its size limit and title; its size, and what it says of itself.
DRAWINGS: dict[str, tuple[Callable[..., Picture], int, str]] = {
    "trees": (
        lambda title="", **limit: draw(listops(), 1, titles=["", title], **limit),
        3,
        "Drawing(1 tree, 3 nodes: print it for text, .svg for a picture of up to {} nodes)",
    ),
    "arcs": (
        lambda title="", **limit: draw_arcs(from_heads(["a"], [0]), titles=[title], **limit),
        2,
        "ArcDrawing(1 dependency tree, 2 nodes: print it for text, .svg for a picture of up to {} "
        "nodes)",
    ),
    "attention": (
        lambda title="", **limit: draw_attention(
            "ab", [(0, 1), (1, 1)], [0, 1], [[0.5, 0.5]] * 2, titles=[title, title], **limit
        ),
        4,
        "AttentionDrawing(attention of 2 over a tree of 2 nodes: print it for text, .svg for a "
        "picture of up to {} cells)",
    ),
    "operations": (
        lambda title="", **limit: draw_operations([1, 2, 3], "(a)", title=title, **limit),
        6,
        "OperationsDrawing(3 steps of reading, with up to 1 entries on the stack: print it for "
        "text, .svg for a picture of up to {} tokens)",
    ),
}

every_drawing = pytest.mark.parametrize("name", DRAWINGS)


@every_drawing
def test_a_drawing_is_saved_as_its_path_ends(name: str, tmp_path: Path) -> None:
    drawing = DRAWINGS[name][0]("é")
    drawing.save(tmp_path / "a" / "b.svg")
    drawing.save(tmp_path / "b.txt")
    drawing.save(tmp_path / "ascii.txt", ascii_only=True)
    assert (tmp_path / "a" / "b.svg").read_text(encoding="utf-8") == drawing.svg
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == drawing.text + "\n"
    assert (tmp_path / "ascii.txt").read_text(encoding="ascii").startswith("\\xe9\n")
    with pytest.raises(TreeError, match=r"expected a path that ends in .svg or .txt, got .*a.png"):
        drawing.save(tmp_path / "a.png")


@every_drawing
def test_an_svg_has_at_most_so_many_nodes(name: str, tmp_path: Path) -> None:
    make, size, described = DRAWINGS[name]
    drawing, too_large = make(svg_limit=size), make(svg_limit=size - 1)
    assert drawing._repr_svg_() == drawing.svg
    assert too_large._repr_svg_() is None
    assert repr(drawing) == described.format(size)
    assert too_large.text == drawing.text == str(drawing)
    path = tmp_path / "a.svg"
    path.write_text("old")
    with pytest.raises(TreeError, match=f"at most {size - 1} .* to draw as SVG, got {size}; draw"):
        too_large.save(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@every_drawing
def test_titles_are_escaped_and_shortened(name: str) -> None:
    make, *_ = DRAWINGS[name]
    drawing = make("</svg><script>\x1b" + "x" * 200)
    escaped = "</svg><script>\\x1b" + "x" * 104 + "…"
    assert escaped in [text.text for text in ET.fromstring(drawing.svg).iter(f"{SVG}text")]
    assert drawing.text.split("\n")[0] == escaped
    assert "".join(make("→").lines(ascii_only=True)).isascii()
