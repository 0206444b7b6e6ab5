"""Commands about data: draw, inspect."""

from __future__ import annotations

import functools
from typing import Any

from dgltrees.commands.outputs import print_text, speaks_utf8
from dgltrees.draw.files import draw_file
from dgltrees.formats import FORMATS
from dgltrees.formats.format import RecordLayout
from dgltrees.settings import Count
from dgltrees.tasks.custom_trees.inspect import inspect_trees


@functools.wraps(draw_file)
def draw(**arguments: Any) -> None:
    """Draw trees as text or SVG: draw FILE --trees 0:5."""
    if arguments.get("style") is None and arguments.get("out") is None and not speaks_utf8():
        arguments["style"] = "ascii"
    drawing = draw_file(**arguments)
    if arguments.get("out") is None:
        print(drawing)


draw.__doc__ = (draw_file.__doc__ or "").replace(
    ":data:`dgltrees.formats.FORMATS`", ", ".join(FORMATS)
)


def inspect(
    path: str,
    *,
    format: str | None = None,
    trees: Count | None = 10_000,
    target: str | None = None,
    group: str | None = None,
    features: list[str] | dict[str, str] | None = None,
    layout: RecordLayout = RecordLayout(),
) -> None:
    """Summarise a file of trees and print a training command for it: inspect FILE.

    Prints the shapes of the trees, the kind of each column, possible targets, suspicious values,
    one of the trees, and the command that trains on them. In JSON, the path to the trees and the
    key of their children are inferred from the first records, unless --tree_path or --children_key
    is given.

    Arguments:
        path: file or folder of trees, or a pattern such as 'src/*.py'.
        format: format of the file; by default inferred from its suffix or first line.
        trees: largest number of trees to read, from the first; null for all, which are in memory.
        target: column to predict; by default one is proposed.
        group: column of the group of each tree, if the target orders the trees of a group.
        features: input columns; by default all columns except the target.
        layout: keys or columns of the file that hold the trees.
    """
    found = inspect_trees(
        path,
        format=format,
        trees=trees,
        target=target,
        group=group,
        features=features,
        layout=layout,
    )
    print_text(found)
