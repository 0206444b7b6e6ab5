"""ListOps: nested lists of digits under MAX, MED, MIN and SM, each with its value.

Nangia & Bowman, "ListOps: A Diagnostic Dataset for Latent Tree Learning", NAACL SRW 2018.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

import numpy as np

from dgltrees._files import PathLike
from dgltrees.formats.lines import fields_of_lines, gather, line_chunks, open_bytes
from dgltrees.trees.builders.assemble import assemble, check_children, find_heads, items_in
from dgltrees.trees.builders.balance import check_line_pairs
from dgltrees.trees.builders.scan import scan
from dgltrees.trees.examples import Examples
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["LISTOPS_OPERATORS", "read_listops", "stream_listops"]

LISTOPS_OPERATORS = ("MAX", "MED", "MIN", "SM")
_DIGITS = tuple("0123456789")
_FORM = "value TAB expression"


def read_listops(path: PathLike, *, max_children: Optional[int] = 5) -> Examples:
    """All examples of a ListOps file; see :func:`stream_listops`."""
    return gather(stream_listops(path, max_children=max_children))


def stream_listops(
    path: PathLike, trees: int = 10_000, *, max_children: Optional[int] = 5
) -> Iterator[Examples]:
    """The examples of a ListOps file, at most ``trees`` at a time.

    A line is ``value TAB expression``. The expression stands in the plain form ``[SM 6 5 ]`` or in
    the binarised form of the official release, ``( ( ( [SM 6 ) 5 ) ] )``; dropping the round
    brackets of the second gives the first. A first line ``Source TAB Target``, which one release
    has, is a header and says that the value comes last.

    Node columns: ``op``, the operator's row of :data:`LISTOPS_OPERATORS` or -1 at a digit, and
    ``value``, the digit or -1 at an operator. Example column: ``target``, the value.

    Arguments:
        path: the file.
        trees: how many lines to read at a time.
        max_children: the most arguments an operator may have; None for any number.

    Raises:
        TreeError: with file and line: the file is empty or not UTF-8, a line is cut off, a bracket
            unbalanced, an operator or digit unknown, an operator without arguments or with too
            many.
    """
    with open_bytes(path) as file:
        header = file.readline(100).lower().split() == [b"source", b"target"]
    for data, line in line_chunks(path, trees, skip=int(header)):
        yield _parse(data, path, line, 1 if header else 0, max_children)


def _parse(
    data: bytes, path: PathLike, line: int, label: int, max_children: Optional[int]
) -> Examples:
    check_line_pairs(data, "()", file=path, first_line=line)
    items = scan(data, pair=b"[]", blank=b"()", file=path, first_line=line)
    is_label = fields_of_lines(items, 2, _FORM) == label
    is_op = find_heads(items, "an operator")
    arguments = items_in(items) - items.is_open
    items.refuse(
        items.is_open & (arguments == 0), lambda _: "expected at least one argument, got none"
    )
    check_children(items, arguments, max_children)
    operators = {name: i for i, name in enumerate(LISTOPS_OPERATORS)}
    digits = {name: i for i, name in enumerate(_DIGITS)}
    op = np.full(len(is_op), -1, np.int32)
    op[items.parent[is_op]] = items.look_up(is_op, operators, "an operator")[is_op]
    target = items.look_up(is_label, digits, "the value of an expression")[is_label]
    node = ~is_label & ~is_op
    value = items.look_up(node & ~items.is_open, digits, "a digit")
    forest = assemble(
        node,
        items.parent,
        items.place - 1,
        {"op": op, "value": value},
        {"op": Vocabulary(LISTOPS_OPERATORS, frozen=True)},
    )
    return Examples(
        forest, {"target": target.astype(np.int64)}, targets=Vocabulary(_DIGITS, frozen=True)
    )
