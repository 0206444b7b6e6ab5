"""BoolSent: Boolean expressions with the value of every subexpression.

The data set of Castellana & Bacciu, "Generalising Recursive Neural Models by Tensor Decomposition",
IJCNN 2020.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dgltrees._files import PathLike
from dgltrees.formats.lines import fields_of_lines, gather, line_chunks
from dgltrees.formats.table import Format
from dgltrees.trees.builders.brackets import assemble, check_children, find_heads, items_in
from dgltrees.trees.builders.scan import Brackets, scan
from dgltrees.trees.examples import Examples
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["BOOLSENT", "BOOLSENT_OPERATORS", "read_boolsent", "stream_boolsent"]

BOOLSENT_OPERATORS = ("AND", "OR", "XOR", "IMPL")
_BITS = {"0": 0, "1": 1}
_HEADS = {  # an operator with its value, and without
    f"{bit}_{name}": 3 * i + value
    for i, name in enumerate(BOOLSENT_OPERATORS)
    for bit, value in _BITS.items()
}
_BARE_HEADS = {name: 3 * i + 2 for i, name in enumerate(BOOLSENT_OPERATORS)}


def read_boolsent(
    path: PathLike, *, max_children: int | None = None, labeled: bool = True
) -> Examples:
    """All expressions of a BoolSent file; see :func:`stream_boolsent`."""
    return gather(stream_boolsent(path, max_children=max_children, labeled=labeled))


def stream_boolsent(
    path: PathLike,
    trees: int = 10_000,
    *,
    max_children: int | None = None,
    labeled: bool = True,
) -> Iterator[Examples]:
    """The expressions of a BoolSent file, ``trees`` lines at a time.

    A line is one expression, ``(1_AND 1 (1_OR 0 1 ) )``: before each operator stands the value of
    its subexpression.

    Node columns: ``op``, the operator's row of :data:`BOOLSENT_OPERATORS` or -1 at a leaf;
    ``value``, the bit of a leaf or -1 at an operator; ``target``, the value of the subexpression,
    which is the bit itself at a leaf. Example column: ``target``, the root's value.

    Arguments:
        path: the file.
        trees: lines per chunk; the last chunk may have fewer.
        max_children: the most arguments that an operator may have; None for any number.
        labeled: whether every operator must have its value, as in ``1_AND``; otherwise ``target``
            is -1 where it stands alone, as in ``AND``.

    Raises:
        TreeError: with file and line: the file is empty or not UTF-8, a line is cut off, a bracket
            is unbalanced, an operator or bit is unknown, or an operator has no arguments or too
            many.
        ConfigError: ``trees`` is below 1.
    """
    for data, line in line_chunks(path, trees):
        yield _parse(scan(data, file=path, first_line=line), max_children, labeled)


def _parse(items: Brackets, max_children: int | None, labeled: bool) -> Examples:
    fields_of_lines(items, 1, "(value_OPERATOR ...)")
    is_head = find_heads(items, "an operator with its value")
    children = items_in(items) - items.is_open
    items.refuse(
        items.is_open & (children == 0), lambda _: "expected at least one argument, got none"
    )
    check_children(items, children, max_children)
    node = ~is_head
    value = items.look_up(node & ~items.is_open, _BITS, "a bit")
    heads, what = (_HEADS, " with its value") if labeled else ({**_HEADS, **_BARE_HEADS}, "")
    head = items.look_up(is_head, heads, "an operator" + what)[is_head]
    op = np.full(len(node), -1, np.int32)
    op[items.parent[is_head]] = head // 3
    target = value.astype(np.int64)
    target[items.parent[is_head]] = np.where(head % 3 == 2, -1, head % 3)
    forest = assemble(
        node,
        items.parent,
        items.place - 1,
        {"op": op, "value": value, "target": target},
        {"op": Vocabulary(BOOLSENT_OPERATORS, frozen=True)},
    )
    return Examples(
        forest,
        {"target": forest.columns["target"][forest.roots]},
        targets=Vocabulary(_BITS, frozen=True),
    )


BOOLSENT = Format(
    "Boolean expressions, one per line: (1_AND 1 (1_OR 0 1 ) ).",
    stream_boolsent,
    first_line=r"\([01]_[A-Z]|[01]\s*$",
)
