"""The steps of reading a sequence as SVG: a line a step, with a box for each entry of the stack.

A token stands below itself in all lines, so that the boxes show what has been pushed, how it is
merged, and the sub-tree being read in a colour of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Optional
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from dgltrees.draw.canvas import DETAIL, LABEL, LINE, TITLE
from dgltrees.draw.colors import GREY, INNER, LEAF
from dgltrees.draw.fonts import FONT, text_width
from dgltrees.draw.operations_steps import ReadingStep
from dgltrees.draw.trees_svg import words_at

__all__ = ["reading_svg"]

_MARGIN, _GAP = 8.0, 16.0  # around the page, between columns of text
_ROW, _BOX = 25.0, 21.0  # the height of a line, of a box in it
_SIDES, _NARROWEST, _APART = 5.0, 12.0, 2.0  # beside a token, a column's least width, between boxes
_CORNER = 6.0
_START = ' text-anchor="start"'
_HEADER = ("token", "operation", "stack, then the sub-tree being read")


def reading_svg(steps: Sequence[ReadingStep], title: Optional[str], about: str) -> str:
    """The picture, with a group of class ``step`` a step; its boxes are of class ``stack``.

    The last box of a step, the sub-tree being read, is of class ``current`` instead.

    Arguments:
        steps: what to draw.
        title: a line above them, or None.
        about: what a screen reader says of the picture.
    """
    columns = _columns(steps)
    top = _MARGIN + (LINE[TITLE] if title else 0.0)
    body = [words_at(title, _MARGIN, _MARGIN + TITLE, TITLE, GREY, _START)] if title else []
    places = (columns[0], columns[1], columns[2])
    body += [words_at(t, x, top + DETAIL, DETAIL, GREY, _START) for t, x in zip(_HEADER, places)]
    top += LINE[DETAIL] + _APART
    for number, step in enumerate(steps):
        body += _step(step, columns, top + number * _ROW)
    ends = [columns[-1], columns[2] + text_width(_HEADER[2], DETAIL)]
    width = max(*ends, _MARGIN + text_width(title or "", TITLE)) + _MARGIN
    height = top + len(steps) * _ROW + _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label={quoteattr(about)}>',
        f'<g font-family="{FONT}" text-anchor="middle">',
        *body,
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _columns(steps: Sequence[ReadingStep]) -> NDArray[np.float64]:
    """Where token, operation, START and then each step begin, and where the last one ends."""
    tokens = [step.token for step in steps]
    first = max(text_width(text, LABEL) for text in [_HEADER[0], *tokens])
    second = max(text_width(text, DETAIL) for text in [_HEADER[1], *(s.operation for s in steps)])
    read = [max(_NARROWEST, text_width(text, LABEL) + 2 * _SIDES) for text in ["", *tokens]]
    return np.cumsum([_MARGIN, first + _GAP, second + _GAP, *read])


def _step(step: ReadingStep, columns: NDArray[np.float64], top: float) -> Iterator[str]:
    """The line of a step: its token, its operation, and its boxes."""
    base = top + 0.5 * _BOX + 0.35 * LABEL
    depth = len(step.parts) - 1
    about = " ".join(filter(None, (step.token, step.operation, f"{depth} open")))
    yield f'<g class="step"><title>{escape(about)}</title>'
    yield words_at(step.token, columns[0], base, LABEL, GREY, _START + ' font-weight="600"')
    yield words_at(step.operation, columns[1], base, DETAIL, GREY, _START)
    edges = columns[2:]
    for level, (first, tokens) in enumerate(step.parts):
        left, right = edges[first] + _APART / 2, edges[first + len(tokens)] - _APART / 2
        paint, name = (LEAF, "current") if level == depth else (INNER, "stack")
        yield (
            f'<rect class="{name}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{_BOX:.1f}" rx="{_CORNER}" fill="{paint.fill}" stroke="{paint.border}" '
            f'stroke-width="1.2"/>'
        )
        for place, token in enumerate(tokens, first):
            middle = (edges[place] + edges[place + 1]) / 2
            if token:
                yield words_at(token, middle, base, LABEL, paint.text)
    yield "</g>"
