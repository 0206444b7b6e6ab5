"""The steps of reading a sequence as lines of text.

::

    step  token  operation  open  stack │ sub-tree
       1  (      SPLIT      1     · │ (
       2  1      RECUR      1     · │ ( 1
       3  )      MERGE      0     ( 1 )

Behind the number of open sub-trees stands all that has been read: what the stack holds, the bottom
first, then, behind the last bar, what has been read of the sub-tree being read. Long pieces
show their ends alone, and of a high stack the upper ``HIGHEST`` entries, after how many there are
below them; so a line is of bounded length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Optional

from dgltrees.draw.operations_steps import ReadingStep
from dgltrees.draw.trees_text import escaped

__all__ = ["HIGHEST", "reading_lines"]

HIGHEST = 12
_LONGEST = 32  # characters of a piece
_HEADER = ("step", "token", "operation", "open")


def reading_lines(
    steps: Sequence[ReadingStep], title: Optional[str], ascii_only: bool = False
) -> Iterator[str]:
    """The lines of a drawing, without line ends.

    Arguments:
        steps: what to draw.
        title: a line above them, or None.
        ascii_only: whether to do without characters outside ASCII.
    """
    bar, dots = ("|", "...") if ascii_only else ("│", "⋯")
    rows = [_HEADER, *(_row(number, step) for number, step in enumerate(steps, 1))]
    stacks = [f"stack {bar} sub-tree", *(_pieces(step, bar, dots) for step in steps)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    if title:
        yield escaped(title) if ascii_only else title
    for (number, *others), stack in zip(rows, stacks):
        cells = [f"{text:<{width}}" for text, width in zip(others, widths[1:])]
        line = "  ".join([f"{number:>{widths[0]}}", *cells, stack])
        yield escaped(line) if ascii_only else line


def _row(number: int, step: ReadingStep) -> tuple[str, ...]:
    return str(number), step.token, step.operation, str(len(step.parts) - 1)


def _pieces(step: ReadingStep, bar: str, dots: str) -> str:
    hidden = len(step.parts) - 1 - HIGHEST
    texts = [_piece([token for token in part if token]) for _, part in step.parts[max(0, hidden) :]]
    return f" {bar} ".join([f"{dots}{hidden}"] * (hidden > 0) + texts)


def _piece(tokens: Sequence[str]) -> str:
    text = " ".join(tokens) or "·"
    return text if len(text) <= _LONGEST or len(tokens) < 3 else f"{tokens[0]} … {tokens[-1]}"
