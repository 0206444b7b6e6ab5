"""Tables as text."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence


def aligned(rows: Sequence[Sequence[str]], right: Container[int] = ()) -> Iterator[str]:
    """Format the rows of a table as lines; the columns in ``right`` are right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = enumerate(zip(row, widths))
        yield "  ".join(
            text.rjust(width) if k in right else text.ljust(width) for k, (text, width) in cells
        ).rstrip()
