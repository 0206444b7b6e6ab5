"""Commands about data: make, draw."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

from dgltrees.draw.files import draw_file
from dgltrees.formats import FORMATS
from dgltrees.formats.synthetic import GENERATORS

__all__ = ["MAKE", "draw"]


def _printing(generator: Callable[..., Mapping[str, Path]]) -> Callable[..., None]:
    """A generator as a command, which prints the paths that it has written."""

    @functools.wraps(generator)
    def command(**arguments: Any) -> None:
        for path in generator(**arguments).values():
            print(path)

    return command


MAKE = {name: _printing(generator) for name, generator in GENERATORS.items()}
"""Write a synthetic data set from a seed: make NAME --out DIR."""


@functools.wraps(draw_file)
def draw(**arguments: Any) -> None:
    """Draw trees as text or SVG: draw FILE --trees 0:5."""
    if arguments.get("style") is None and arguments.get("out") is None and not _speaks_utf8():
        arguments["style"] = "ascii"
    drawing = draw_file(**arguments)
    if arguments.get("out") is None:
        print(drawing)


draw.__doc__ = (draw_file.__doc__ or "").replace(
    ":data:`dgltrees.formats.FORMATS`", ", ".join(FORMATS)
)


def _speaks_utf8() -> bool:
    return (sys.stdout.encoding or "ascii").lower().startswith("utf")
