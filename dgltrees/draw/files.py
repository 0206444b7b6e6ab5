"""``draw_file``: the trees of a data file, as ``dgltrees draw FILE`` draws them."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from dgltrees._files import PathLike
from dgltrees.draw.labels import decode_column
from dgltrees.draw.layout import Positions
from dgltrees.draw.trees import Drawing, draw
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats import Format, RecordLayout, get_format, guess_format
from dgltrees.formats.lines import gather
from dgltrees.formats.records import numbered
from dgltrees.settings import Count
from dgltrees.trees.labeled import LabeledTrees

Style = Literal["text", "ascii", "svg"]
STYLES: tuple[Style, ...] = get_args(Style)


def draw_file(
    path: PathLike,
    *,
    format: str | None = None,  # noqa: A002
    trees: str = "0:5",
    out: PathLike | None = None,
    style: Style | None = None,
    positions: Positions = "auto",
    svg_limit: Count = 2000,
    layout: RecordLayout = RecordLayout(),
) -> str:
    """Draw selected trees of a file.

    The formats are those of :data:`dgltrees.formats.FORMATS`.

    Arguments:
        path: the file of the trees.
        format: its format; default: inferred from its suffix or first line.
        trees: the examples to draw, from 0: numbers and ranges without their end, such as ``0:5``,
            ``7``, ``1,4,10:`` or ``:``. The rest of the file is not read.
        out: the file to write, .svg or .txt; default: none.
        style: the kind of drawing: ``text``, ``ascii`` (for terminals without Unicode) or ``svg``;
            default: ``svg`` if ``out`` ends in .svg, otherwise ``text``.
        positions: which edges show the position of the child: all, none, or auto (below nodes that
            lack a child before another one).
        svg_limit: the largest number of nodes in an SVG.
        layout: the keys or columns of the trees, for formats that use a layout.

    Returns:
        the drawing as text or SVG, also if it is written to ``out``.

    Raises:
        ConfigError: the format, selection or style does not exist, the style does not fit the
            suffix of ``out``, or the format does not use the layout.
        TreeError: the file is not of its format, a number or range selects no tree, or the trees
            have too many nodes for an SVG.
    """
    if style not in (None, *STYLES):
        raise ConfigError(f"expected style to be one of {', '.join(STYLES)}, got {style!r}")
    endings = (".svg",) if style == "svg" else (".txt",) if style else (".svg", ".txt")
    if out is not None and not str(out).endswith(endings):
        of_style = f" for {style}" if style else ""
        raise ConfigError(
            f"expected a path that ends in {' or '.join(endings)}{of_style}, got {str(out)!r}"
        )
    style = style or ("svg" if str(out).endswith(".svg") else "text")
    form = get_format(format or guess_format(path, layout))
    numbers, examples = _read(path, form, layout, _ranges(trees))
    drawing = draw_examples(examples, numbers, positions=positions, svg_limit=svg_limit)
    if out is not None:
        drawing.save(out, ascii_only=style == "ascii")
    return drawing.svg if style == "svg" else "\n".join(drawing.lines(ascii_only=style == "ascii"))


def draw_examples(
    examples: LabeledTrees,
    numbers: list[int] | None = None,
    *,
    positions: Positions = "auto",
    svg_limit: Count = 2000,
) -> Drawing:
    """Draw all trees of a data set, with their targets.

    Arguments:
        examples: single trees or pairs.
        numbers: ``E`` numbers of the examples, for the titles; default: from 0.
        positions: see :func:`dgltrees.draw.draw`.
        svg_limit: see :func:`dgltrees.draw.draw`.

    Returns:
        the drawing.
    """
    numbers = list(range(len(examples))) if numbers is None else numbers
    targets = examples.columns.get("target")
    if targets is not None and not len(examples.targets) and targets.dtype.kind == "i":
        targets = targets.astype(float)  # -1 is a number, not a missing class
    vocabs = {"target": examples.targets} if len(examples.targets) else {}
    titles = [f"tree {number}" for number in numbers]
    if examples.arity > 1:
        named = replace(examples.forest, vocabs=vocabs)
        shown = [] if targets is None else decode_column(named, "target", np.asarray(targets))
        notes = [f" (target {text})" if text else "" for text in shown] or [""] * len(numbers)
        titles = [
            f"example {number}, tree {side}{note}"
            for number, note in zip(numbers, notes)
            for side in range(examples.arity)
        ]
        targets = None
    elif "target" in examples.forest.columns:  # then every node has one, the root too
        targets = None
    return draw(
        examples.forest,
        targets=targets,
        titles=titles,
        vocabs=vocabs,
        positions=positions,
        svg_limit=svg_limit,
    )


def _ranges(trees: str) -> list[range]:
    """Parse a selection such as ``1,4,10:20`` to ranges."""
    ranges = []
    for part in trees.split(","):
        match = re.fullmatch(r"\s*(?:(\d+)|(\d*):(\d*))\s*", part)
        if match:
            one, start, stop = match.groups()
            last = int(one) + 1 if one else int(stop or sys.maxsize)
            ranges.append(range(int(one or start or 0), last))
        if not match or not ranges[-1]:
            raise ConfigError(
                f"expected trees to be numbers and ranges such as 0:5 or 1,4,10:, got {trees!r}"
            )
    return ranges


def _read(
    path: PathLike, form: Format, layout: RecordLayout, ranges: list[range]
) -> tuple[list[int], LabeledTrees]:
    """Read the examples in ``ranges``; return their numbers and the examples."""
    stop = max(r.stop for r in ranges)
    parts: list[LabeledTrees] = []
    numbers: list[int] = []
    first = 0
    for chunk in form.chunks(path, max(1, min(stop, 10_000)), layout):
        ids = np.arange(first, first + len(chunk))
        selected = ids[np.any([(ids >= r.start) & (ids < r.stop) for r in ranges], axis=0)]
        parts.append(chunk.select(selected - first))
        numbers += selected.tolist()
        first += len(chunk)
        if first >= stop:
            break
    missing = [r.start for r in ranges if not any(number in r for number in numbers)]
    if missing:
        raise TreeError(f"expected trees from 0 to {first - 1}, got {missing[0]}", file=path)
    examples = gather(parts)
    return numbers, numbered(examples, layout.categorical_columns) if form.numbers else examples
