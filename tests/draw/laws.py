"""What all drawings do alike, for a drawing by its size limit and title."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from dgltrees.draw import Picture
from dgltrees.errors import TreeError
from tests.draw.svg import SVG

Make = Callable[..., Picture]


def saved_as_its_path_ends(make: Make, size: int, described: str, tmp_path: Path) -> None:
    drawing = make("é")
    drawing.save(tmp_path / "a" / "b.svg")
    drawing.save(tmp_path / "b.txt")
    drawing.save(tmp_path / "ascii.txt", ascii_only=True)
    assert (tmp_path / "a" / "b.svg").read_text(encoding="utf-8") == drawing.svg
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == drawing.text + "\n"
    assert (tmp_path / "ascii.txt").read_text(encoding="ascii").startswith("\\xe9\n")
    with pytest.raises(TreeError, match=r"expected a path that ends in .svg or .txt, got .*a.png"):
        drawing.save(tmp_path / "a.png")


def at_most_so_many_nodes(make: Make, size: int, described: str, tmp_path: Path) -> None:
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


def titles_escaped_and_shortened(make: Make, size: int, described: str, tmp_path: Path) -> None:
    drawing = make("</svg><script>\x1b" + "x" * 200)
    escaped = "</svg><script>\\x1b" + "x" * 104 + "…"
    assert escaped in [text.text for text in ET.fromstring(drawing.svg).iter(f"{SVG}text")]
    assert drawing.text.split("\n")[0] == escaped
    assert "".join(make("→").lines(ascii_only=True)).isascii()


every_law = pytest.mark.parametrize(
    "law", [saved_as_its_path_ends, at_most_so_many_nodes, titles_escaped_and_shortened]
)
