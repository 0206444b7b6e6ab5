"""Tables of the times of training steps, and the machine that they were measured on."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from dgltrees._dgl import dgl


@dataclass(frozen=True)
class Row:
    """The times of one set of trees.

    Attributes:
        case: the name of the set of trees.
        nodes: the number of nodes of all trees.
        seconds: the median time of a step in seconds, by contender.
    """

    case: str
    nodes: int
    seconds: Mapping[str, float]


def machine() -> str:
    """Return the processor, the number of threads and the versions in one line."""
    return (
        f"{platform.machine()}, {torch.get_num_threads()} threads, Python "
        f"{platform.python_version()}, torch {torch.__version__}, "
        + ("no dgl" if dgl is None else f"dgl {dgl.__version__}")
    )


def table(rows: Sequence[Row], base: str = "dgl") -> str:
    """Format rows as a Markdown table of milliseconds, with the speed-up over ``base`` in brackets.

    Arguments:
        rows: the times by case.
        base: the name of the contender to compare with.
    """

    def cells(row: Row) -> Iterator[str]:
        for name, seconds in row.seconds.items():
            faster = "" if name == base else f" ({row.seconds[base] / seconds:.1f}x)"
            yield f"{1e3 * seconds:.1f}{faster}"

    head = ["case", "nodes", *rows[0].seconds]
    return markdown(head, ([row.case, row.nodes, *cells(row)] for row in rows))


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Format a Markdown table."""
    lines = ["| " + " | ".join(map(str, line)) + " |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])
