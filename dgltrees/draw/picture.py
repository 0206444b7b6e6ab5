"""What every kind of drawing does alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from dgltrees._files import PathLike, replacing
from dgltrees.errors import TreeError

__all__ = ["Picture", "check_size", "save_picture"]


class Picture(Protocol):
    """A drawing that is an SVG and lines of text."""

    @property
    def svg(self) -> str:
        """One self-contained SVG element."""

    def lines(self, *, ascii_only: bool = False) -> Iterator[str]:
        """The drawing as lines of text, without line ends."""

    def save(self, path: PathLike, *, ascii_only: bool = False) -> None:
        """Write either to a file."""


def check_size(nodes: int, limit: int) -> None:
    """Refuse an SVG of more than ``limit`` nodes.

    Raises:
        TreeError: there are more.
    """
    if nodes > limit:
        raise TreeError(
            f"expected at most {limit} nodes to draw as SVG, got {nodes}; draw fewer trees "
            f"(tree=0), draw them as text, or allow more with svg_limit={nodes}"
        )


def save_picture(picture: Picture, path: PathLike, *, ascii_only: bool = False) -> None:
    """Write a picture to a path that ends in ``.svg``, text to one that ends in ``.txt``.

    The file is written whole or not at all.

    Raises:
        TreeError: another ending, or an SVG of too many nodes.
    """
    ending = Path(path).suffix
    if ending not in (".svg", ".txt"):
        raise TreeError(f"expected a path that ends in .svg or .txt, got {str(path)!r}")
    svg = picture.svg if ending == ".svg" else None
    with replacing(path) as file:
        if svg is not None:
            file.write(svg)
        else:
            file.writelines(line + "\n" for line in picture.lines(ascii_only=ascii_only))
