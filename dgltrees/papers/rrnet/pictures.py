"""``draw_operations``: a sequence of SPLIT, RECUR and MERGE, step by step, with the stack.

In SVG a step is a line, with a box for each entry of the stack. A token has the same column in all
lines, so the boxes show what is pushed and how it is merged. The current sub-tree, which is not on
the stack, has a colour of its own.

Text has one step per line, too::

    step  token  operation  open  stack │ sub-tree
       1  (      SPLIT      1     · │ (
       2  1      RECUR      1     · │ ( 1
       3  )      MERGE      0     ( 1 )

``open`` is the number of sub-trees that are split off and not yet merged. The last column has the
tokens so far: the entries of the stack, the bottom first, and then the current sub-tree. An entry
of more than ``_MAX_SEGMENT`` characters shows its first and last token, a stack of more than
``MAX_ENTRIES`` the upper ones after the number of those below, so a line is of bounded length.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees.draw.inputs import MAX_TITLE
from dgltrees.draw.picture import Picture
from dgltrees.draw.strings import printable
from dgltrees.draw.svg import (
    DETAIL,
    GREY,
    INNER,
    LABEL,
    LEAF,
    LINE_HEIGHT,
    MARGIN,
    TITLE,
    box_element,
    group,
    svg_document,
    text_element,
    text_group,
    text_width,
    title_element,
)
from dgltrees.errors import TreeError
from dgltrees.papers.rrnet.operations import Operation
from dgltrees.papers.rrnet.operations.matching import match_splits

__all__ = [
    "MAX_ENTRIES",
    "OperationStep",
    "OperationsDrawing",
    "draw_operations",
    "operation_steps",
    "operations_svg",
    "operations_text",
]


@dataclass(frozen=True, repr=False)
class OperationsDrawing(Picture):
    """An operation sequence drawn by :func:`draw_operations`: one line per step."""

    steps: list[OperationStep]
    title: str | None
    svg_limit: int

    _unit: ClassVar[str] = "tokens"

    @property
    def _size(self) -> int:
        return len(self.steps) * (len(self.steps) + 1) // 2

    @property
    def _description(self) -> str:
        deepest = max(step.stack_size for step in self.steps)
        return f"{len(self.steps)} steps of reading, with up to {deepest} entries on the stack"

    def _svg(self) -> str:
        return operations_svg(self.steps, self.title, self._description)

    def _lines(self, ascii_only: bool) -> Iterator[str]:
        return operations_text(self.steps, self.title, ascii_only)


def draw_operations(
    operations: ArrayLike,
    tokens: Sequence[str],
    *,
    recur_only: bool = False,
    title: str | None = None,
    svg_limit: int = 2000,
) -> OperationsDrawing:
    """Draw the operations of a recurrent-recursive network, and its stack after each of them.

    Evaluate it in Jupyter for a picture, print it for text, ``save`` it to a file.

    Arguments:
        operations: ``(L,)`` SPLIT, RECUR or MERGE, without START. A SPLIT need not have a MERGE.
        tokens: the ``L`` tokens; with ``recur_only`` as many as there are RECURs.
        recur_only: whether only RECUR has a token.
        title: a line above the steps.
        svg_limit: the most tokens an SVG may have, all lines together: ``L (L + 1) / 2``.

    Raises:
        TreeError: there is no step, an operation is another, a MERGE has no SPLIT, or the number
            of tokens differs from the number of steps that have one.
    """
    ops = np.asarray(operations, np.int64)
    if not len(ops) or not ((ops >= Operation.SPLIT) & (ops <= Operation.MERGE)).all():
        raise TreeError(f"expected operations SPLIT, RECUR or MERGE (1 to 3), got {ops.tolist()}")
    match_splits(ops, [len(ops)])  # raises on a MERGE without a SPLIT
    has_token = ops == Operation.RECUR if recur_only else np.ones(len(ops), np.bool_)
    if len(tokens) != has_token.sum():
        raise TreeError(f"expected a token for each of {has_token.sum()} steps, got {len(tokens)}")
    texts = map(printable, tokens)
    step_tokens = [next(texts) if has else "" for has in has_token.tolist()]
    steps = operation_steps(ops.tolist(), step_tokens)
    return OperationsDrawing(
        steps, None if title is None else printable(title, MAX_TITLE), svg_limit
    )


@dataclass(frozen=True)
class OperationStep:
    """One operation, and the tokens up to it, divided among the open sub-trees.

    Arguments:
        token: the token of this step; empty if it has none.
        operation: SPLIT, RECUR or MERGE.
        segments: one ``(start, tokens)`` per open sub-tree, the outermost first: the place of its
            first step, and the tokens of its steps up to where the next one begins. Place 0 is
            START, whose token is empty. All segments but the last are entries of the stack.
    """

    token: str
    operation: str
    segments: list[tuple[int, list[str]]]

    @property
    def stack_size(self) -> int:
        """The number of entries on the stack."""
        return len(self.segments) - 1


def operation_steps(operations: Sequence[int], tokens: Sequence[str]) -> list[OperationStep]:
    """The steps of a sequence whose every MERGE has a SPLIT, and a token (or "") per step."""
    with_start = ["", *tokens]
    steps, starts = [], [0]  # where each open sub-tree begins, the whole sequence first
    for place, (token, operation) in enumerate(zip(tokens, operations), start=1):
        if operation == Operation.SPLIT:
            starts.append(place)
        elif operation == Operation.MERGE:
            starts.pop()
        bounds = [*starts, place + 1]
        segments = [(start, with_start[start:stop]) for start, stop in itertools.pairwise(bounds)]
        steps.append(OperationStep(token, Operation(operation).name, segments))
    return steps


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


MAX_ENTRIES = 12
_MAX_SEGMENT = 32
_TEXT_HEADER = ("step", "token", "operation", "open")


def operations_text(
    steps: Sequence[OperationStep], title: str | None, ascii_only: bool = False
) -> Iterator[str]:
    """The lines of a drawing, without line ends.

    Arguments:
        steps: what to draw.
        title: a line above them, or None.
        ascii_only: whether separators are in ASCII; tokens are as they are.
    """
    bar, dots = ("|", "...") if ascii_only else ("│", "⋯")
    rows = [_TEXT_HEADER, *(_cells(number, step) for number, step in enumerate(steps, 1))]
    stacks = [f"stack {bar} sub-tree", *(_stack(step, bar, dots) for step in steps)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    if title:
        yield title
    for (number, *texts), stack in zip(rows, stacks):
        cells = [f"{text:<{width}}" for text, width in zip(texts, widths[1:])]
        yield "  ".join([f"{number:>{widths[0]}}", *cells, stack])


def _cells(number: int, step: OperationStep) -> tuple[str, ...]:
    return str(number), step.token, step.operation, str(step.stack_size)


def _stack(step: OperationStep, bar: str, dots: str) -> str:
    """The stack and the current sub-tree, with bars between them."""
    hidden = max(0, step.stack_size - MAX_ENTRIES)
    texts = [_segment([token for token in tokens if token]) for _, tokens in step.segments[hidden:]]
    return f" {bar} ".join([f"{dots}{hidden}"] * (hidden > 0) + texts)


def _segment(tokens: Sequence[str]) -> str:
    text = " ".join(tokens) or "·"
    return text if len(text) <= _MAX_SEGMENT or len(tokens) < 3 else f"{tokens[0]} … {tokens[-1]}"
