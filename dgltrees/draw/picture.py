"""The base class of all drawings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from dgltrees._files import PathLike, replacing
from dgltrees.draw.strings import to_ascii
from dgltrees.errors import TreeError


class Picture(ABC):
    """A drawing: Jupyter shows it as SVG, ``print`` as text, and :meth:`save` writes either.

    SVG and text are rendered when they are first used. A subclass defines ``_size``,
    ``_description``, ``_svg`` and ``_lines``.

    Attributes:
        svg_limit: the largest ``_size`` that is rendered as SVG.
    """

    svg_limit: int
    _unit: ClassVar[str] = "nodes"

    @property
    @abstractmethod
    def _size(self) -> int:
        """The size of the SVG, counted in ``_unit``."""

    @property
    @abstractmethod
    def _description(self) -> str:
        """A short description of the content."""

    @abstractmethod
    def _svg(self) -> str:
        """Return the SVG, regardless of its size."""

    @abstractmethod
    def _lines(self, ascii_only: bool) -> Iterator[str]:
        """Iterate over the lines of text; with ``ascii_only`` boxes are drawn in ASCII."""

    @cached_property
    def svg(self) -> str:
        """The drawing as one self-contained SVG element, legible on light and dark pages.

        Raises:
            TreeError: the drawing is larger than ``svg_limit``.
        """
        if self._size > self.svg_limit:
            raise TreeError(
                f"expected at most {self.svg_limit} {self._unit} to draw as SVG, got {self._size}; "
                f"draw less, print it as text, or pass svg_limit={self._size}"
            )
        return self._svg()

    @cached_property
    def text(self) -> str:
        """The drawing as text."""
        return "\n".join(self.lines())

    def lines(self, *, ascii_only: bool = False) -> Iterator[str]:
        """Iterate over the lines of :attr:`text`.

        Arguments:
            ascii_only: whether to use only ASCII characters.

        Returns:
            the lines, without line ends.
        """
        lines = self._lines(ascii_only)
        return map(to_ascii, lines) if ascii_only else lines

    def save(self, path: PathLike, *, ascii_only: bool = False) -> None:
        """Write SVG to a path that ends in ``.svg``, text to one that ends in ``.txt``.

        The file is written atomically.

        Arguments:
            path: the file.
            ascii_only: whether text uses only ASCII characters.

        Raises:
            TreeError: the path has another suffix, or the SVG is larger than ``svg_limit``.
        """
        suffix = Path(path).suffix
        if suffix not in (".svg", ".txt"):
            raise TreeError(f"expected a path that ends in .svg or .txt, got {str(path)!r}")
        svg = self.svg if suffix == ".svg" else None
        with replacing(path) as file:
            if svg is not None:
                file.write(svg)
            else:
                file.writelines(line + "\n" for line in self.lines(ascii_only=ascii_only))

    def _repr_svg_(self) -> str | None:
        """Return the SVG for Jupyter; None above ``svg_limit``, so that Jupyter shows the repr."""
        return self.svg if self._size <= self.svg_limit else None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self._description}: print it for text, .svg for a picture of "
            f"up to {self.svg_limit} {self._unit})"
        )

    def __str__(self) -> str:
        return self.text
