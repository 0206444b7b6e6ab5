"""An operation sequence as SVG: one line per step, with a box for each entry of the stack.

A token has the same column in all lines, so the boxes show what is pushed and how it is merged. The
current sub-tree, which is not on the stack, has a colour of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dgltrees.draw.colors import GREY, INNER, LEAF
from dgltrees.draw.fonts import DETAIL, LABEL, LINE_HEIGHT, TITLE, text_width
from dgltrees.draw.svg import (
    MARGIN,
    box_element,
    group,
    svg_document,
    text_element,
    text_group,
    title_element,
)
from dgltrees.papers.rrnet.pictures.operations_steps import OperationStep

__all__ = ["operations_svg"]

_COLUMN_GAP = 16.0  # between columns of text
_ROW_HEIGHT, _BOX_HEIGHT, _BOX_GAP = 25.0, 21.0, 2.0
_TEXT_MARGIN, _MIN_WIDTH = 5.0, 12.0  # beside a token in its column, of a column
_RADIUS = 6.0
_HEADER = ("token", "operation", "stack, then the sub-tree being read")


def operations_svg(steps: Sequence[OperationStep], title: str | None, description: str) -> str:
    """The picture, with a group of class ``step`` per step.

    Its boxes are of class ``stack``; the last, the current sub-tree, is of class ``current``.

    Arguments:
        steps: what to draw.
        title: a line above them, or None.
        description: the text for screen readers.
    """
    columns = _columns(steps)
    top = MARGIN + (LINE_HEIGHT[TITLE] if title else 0.0)
    elements = [title_element(title, MARGIN, MARGIN + TITLE)] if title else []
    for text, x in zip(_HEADER, columns):
        elements.append(text_element(text, x, top + DETAIL, DETAIL, GREY, start=True))
    top += LINE_HEIGHT[DETAIL] + _BOX_GAP
    for row, step in enumerate(steps):
        elements += _step(step, columns, top + row * _ROW_HEIGHT)
    header_end = columns[2] + text_width(_HEADER[2], DETAIL)
    width = max(columns[-1], header_end, MARGIN + text_width(title or "", TITLE)) + MARGIN
    height = top + len(steps) * _ROW_HEIGHT + MARGIN
    return svg_document(text_group(elements), width, height, description)


def _columns(steps: Sequence[OperationStep]) -> NDArray[np.float64]:
    """``(L + 4,)`` left ends: of token, operation, START and each step, and the last right end."""
    tokens = [step.token for step in steps]
    operations = [step.operation for step in steps]
    token_width = max(text_width(text, LABEL) for text in [_HEADER[0], *tokens])
    operation_width = max(text_width(text, DETAIL) for text in [_HEADER[1], *operations])
    widths = [max(_MIN_WIDTH, text_width(text, LABEL) + 2 * _TEXT_MARGIN) for text in ["", *tokens]]
    return np.cumsum([MARGIN, token_width + _COLUMN_GAP, operation_width + _COLUMN_GAP, *widths])


def _step(step: OperationStep, columns: NDArray[np.float64], top: float) -> Iterator[str]:
    """The line of a step: its token, its operation, and its boxes."""
    base_line = top + 0.5 * _BOX_HEIGHT + 0.35 * LABEL
    elements = [
        text_element(
            step.token, columns[0], base_line, LABEL, GREY, start=True, more=' font-weight="600"'
        ),
        text_element(step.operation, columns[1], base_line, DETAIL, GREY, start=True),
    ]
    edges = columns[2:]
    for level, (start, tokens) in enumerate(step.segments):
        left, right = edges[start] + _BOX_GAP / 2, edges[start + len(tokens)] - _BOX_GAP / 2
        paint, css_class = (INNER, "stack") if level < step.stack_size else (LEAF, "current")
        elements.append(
            box_element(left, top, right - left, _BOX_HEIGHT, _RADIUS, paint, css_class=css_class)
        )
        for place, token in enumerate(tokens, start):
            if token:
                middle = (edges[place] + edges[place + 1]) / 2
                elements.append(text_element(token, middle, base_line, LABEL, paint.text))
    tooltip = " ".join(filter(None, (step.token, step.operation, f"{step.stack_size} open")))
    return group("step", tooltip, elements)
