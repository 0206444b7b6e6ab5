"""``draw_operations``: a sequence of SPLIT, RECUR and MERGE, step by step, with the stack.

In SVG a step is a line, with a box for each entry of the stack. A token has the same column in all
lines, so the boxes show what is pushed and how it is merged. The current subtree, which is not on
the stack, has a separate colour.

Text has one step per line, too::

    step  token  operation  open  stack │ sub-tree
       1  (      SPLIT      1     · │ (
       2  1      RECUR      1     · │ ( 1
       3  )      MERGE      0     ( 1 )

``open`` is the number of subtrees that are split off and not yet merged. The last column has the
tokens so far: the entries of the stack, the bottom first, and then the current subtree. An entry of
more than ``_MAX_SEGMENT`` characters shows its first and last token. A stack of more than
``MAX_ENTRIES`` shows the upper entries and the number of the others, so lines have bounded length.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees.draw import svg
from dgltrees.draw.labels import MAX_TITLE
from dgltrees.draw.picture import Picture
from dgltrees.draw.strings import printable
from dgltrees.errors import TreeError
from dgltrees.papers.rrnet.graphs import match_splits
from dgltrees.trees.kinds import Operation

MAX_ENTRIES = 12
_MAX_SEGMENT = 32
_TEXT_HEADER = ("step", "token", "operation", "open")

_COLUMN_GAP = 16.0  # between columns of text
_ROW_HEIGHT, _BOX_HEIGHT, _BOX_GAP = 25.0, 21.0, 2.0
_TEXT_MARGIN, _MIN_WIDTH = 5.0, 12.0  # next to a token in its column, of a column
_RADIUS = 6.0
_SVG_HEADER = ("token", "operation", "stack, then the sub-tree being read")


@dataclass(frozen=True)
class OperationStep:
    """One operation, and the tokens up to it, divided among the open subtrees.

    Arguments:
        token: the token of this step; empty if it has none.
        operation: SPLIT, RECUR or MERGE.
        segments: one ``(start, tokens)`` per open subtree, the outermost first: the index of its
            first step, and the tokens of its steps up to the beginning of the next one. Index 0 is
            START, whose token is empty. All segments except the last are entries of the stack.
    """

    token: str
    operation: str
    segments: list[tuple[int, list[str]]]

    @property
    def stack_size(self) -> int:
        """Return the number of entries on the stack."""
        return len(self.segments) - 1


@dataclass(frozen=True, repr=False)
class OperationsDrawing(Picture):
    """An operation sequence drawn by :func:`draw_operations`, with one line per step.

    SVG has a group of class ``step`` per step. Its boxes have the class ``stack``; the last, the
    current subtree, has the class ``current``.
    """

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
        title, columns = self.title, self._columns()
        top = svg.MARGIN + (svg.LINE_HEIGHT[svg.TITLE] if title else 0.0)
        elements = [svg.title(title, svg.MARGIN, svg.MARGIN + svg.TITLE)] if title else []
        for text, x in zip(_SVG_HEADER, columns):
            elements.append(svg.text(text, x, top + svg.DETAIL, svg.DETAIL, svg.GREY, svg.START))
        top += svg.LINE_HEIGHT[svg.DETAIL] + _BOX_GAP
        for row, step in enumerate(self.steps):
            elements.append(_step(step, columns, top + row * _ROW_HEIGHT))
        header_end = columns[2] + svg.text_width(_SVG_HEADER[2], svg.DETAIL)
        title_end = svg.MARGIN + svg.text_width(title or "", svg.TITLE)
        width = max(columns[-1], header_end, title_end) + svg.MARGIN
        height = top + len(self.steps) * _ROW_HEIGHT + svg.MARGIN
        return svg.document(elements, width, height, self._description)

    def _columns(self) -> NDArray[np.float64]:
        """Return the left ends of all columns and the right end of the last, ``(L + 4,)``."""
        tokens = [step.token for step in self.steps]
        names = [step.operation for step in self.steps]
        token_width = max(svg.text_width(text, svg.LABEL) for text in [_SVG_HEADER[0], *tokens])
        name_width = max(svg.text_width(text, svg.DETAIL) for text in [_SVG_HEADER[1], *names])
        widths = [
            max(_MIN_WIDTH, svg.text_width(text, svg.LABEL) + 2 * _TEXT_MARGIN)
            for text in ["", *tokens]
        ]
        return np.cumsum([svg.MARGIN, token_width + _COLUMN_GAP, name_width + _COLUMN_GAP, *widths])

    def _lines(self, ascii_only: bool) -> Iterator[str]:
        bar, dots = "│⋯"
        rows = [
            _TEXT_HEADER,
            *(
                (str(number), step.token, step.operation, str(step.stack_size))
                for number, step in enumerate(self.steps, 1)
            ),
        ]
        stacks = [f"stack {bar} sub-tree", *(_stack(step, bar, dots) for step in self.steps)]
        widths = [max(map(len, column)) for column in zip(*rows)]
        if self.title:
            yield self.title
        for (number, *texts), stack in zip(rows, stacks):
            cells = [f"{text:<{width}}" for text, width in zip(texts, widths[1:])]
            yield "  ".join([f"{number:>{widths[0]}}", *cells, stack])


def draw_operations(
    operations: ArrayLike,
    tokens: Sequence[str],
    *,
    recur_only: bool = False,
    title: str | None = None,
    svg_limit: int = 2000,
) -> OperationsDrawing:
    """Draw the operations of a recurrent-recursive network, and its stack after each of them."""
    ops = np.asarray(operations, np.int64)
    if not len(ops) or not ((ops >= Operation.SPLIT) & (ops <= Operation.MERGE)).all():
        raise TreeError(f"expected operations SPLIT, RECUR or MERGE (1 to 3), got {ops.tolist()}")
    match_splits(ops, [len(ops)])  # raises on a MERGE without a SPLIT
    has_token = ops == Operation.RECUR if recur_only else np.ones(len(ops), np.bool_)
    if len(tokens) != has_token.sum():
        raise TreeError(f"expected a token for each of {has_token.sum()} steps, got {len(tokens)}")
    texts = map(printable, tokens)
    step_tokens = [next(texts) if has else "" for has in has_token.tolist()]
    steps = _steps(ops.tolist(), step_tokens)
    return OperationsDrawing(
        steps, None if title is None else printable(title, MAX_TITLE), svg_limit
    )


def _steps(operations: Sequence[int], tokens: Sequence[str]) -> list[OperationStep]:
    """Return the steps of a sequence, with a token (or "") per step; every MERGE has a SPLIT."""
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


def _step(step: OperationStep, columns: NDArray[np.float64], top: float) -> str:
    """Draw the line of a step: its token, its operation, and its boxes."""
    base_line = top + 0.5 * _BOX_HEIGHT + 0.35 * svg.LABEL
    bold = svg.START + svg.BOLD
    elements = [
        svg.text(step.token, columns[0], base_line, svg.LABEL, svg.GREY, bold),
        svg.text(step.operation, columns[1], base_line, svg.DETAIL, svg.GREY, svg.START),
    ]
    edges = columns[2:]
    for level, (start, tokens) in enumerate(step.segments):
        left, right = edges[start] + _BOX_GAP / 2, edges[start + len(tokens)] - _BOX_GAP / 2
        is_entry = level < step.stack_size
        paint, css_class = (svg.INNER, "stack") if is_entry else (svg.LEAF, "current")
        elements.append(
            svg.box(left, top, right - left, _BOX_HEIGHT, _RADIUS, paint, css_class=css_class)
        )
        for place, token in enumerate(tokens, start):
            if token:
                middle = (edges[place] + edges[place + 1]) / 2
                elements.append(svg.text(token, middle, base_line, svg.LABEL, paint.text))
    tooltip = " ".join(filter(None, (step.token, step.operation, f"{step.stack_size} open")))
    return svg.group(elements, 'class="step"', tooltip)


def _stack(step: OperationStep, bar: str, dots: str) -> str:
    """Format the stack and the current subtree, with bars between them."""
    hidden = max(0, step.stack_size - MAX_ENTRIES)
    texts = [_segment([token for token in tokens if token]) for _, tokens in step.segments[hidden:]]
    return f" {bar} ".join([f"{dots}{hidden}"] * (hidden > 0) + texts)


def _segment(tokens: Sequence[str]) -> str:
    text = " ".join(tokens) or "·"
    return text if len(text) <= _MAX_SEGMENT or len(tokens) < 3 else f"{tokens[0]} … {tokens[-1]}"
