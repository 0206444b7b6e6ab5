"""An operation sequence as lines of text, one step per line.

::

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

from collections.abc import Iterator, Sequence

from dgltrees.draw.strings import aligned
from dgltrees.papers.rrnet.pictures.operations_steps import OperationStep

__all__ = ["MAX_ENTRIES", "operations_text"]

MAX_ENTRIES = 12
_MAX_SEGMENT = 32
_HEADER = ("step", "token", "operation", "open")


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
    rows = [(*_HEADER, f"stack {bar} sub-tree")]
    for number, step in enumerate(steps, 1):
        size = str(step.stack_size)
        rows.append((str(number), step.token, step.operation, size, _stack(step, bar, dots)))
    if title:
        yield title
    yield from aligned(rows, (0,))


def _stack(step: OperationStep, bar: str, dots: str) -> str:
    """The stack and the current sub-tree, with bars between them."""
    hidden = max(0, step.stack_size - MAX_ENTRIES)
    texts = [_segment([token for token in tokens if token]) for _, tokens in step.segments[hidden:]]
    return f" {bar} ".join([f"{dots}{hidden}"] * (hidden > 0) + texts)


def _segment(tokens: Sequence[str]) -> str:
    text = " ".join(tokens) or "·"
    return text if len(text) <= _MAX_SEGMENT or len(tokens) < 3 else f"{tokens[0]} … {tokens[-1]}"
