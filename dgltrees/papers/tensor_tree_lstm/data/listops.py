"""ListOps: the operators MAX, MED, MIN and SM (sum modulo 10) on nested lists of digits.

Nangia & Bowman, "ListOps: A Diagnostic Dataset for Latent Tree Learning", NAACL SRW 2018.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Literal

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.formats.lines import (
    check_nodes,
    choose,
    empty_file,
    fields_of_lines,
    gather,
    labels_of_lines,
    line_chunks,
    write_lines,
)
from dgltrees.formats.table import Format
from dgltrees.trees.builders.brackets import assemble, check_children, find_heads, items_in, render
from dgltrees.trees.builders.scan import check_line_pairs, scan
from dgltrees.trees.examples import Examples
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["LISTOPS", "LISTOPS_OPERATORS", "read_listops", "stream_listops", "write_listops"]

LISTOPS_OPERATORS = ("MAX", "MED", "MIN", "SM")
_DIGITS = tuple("0123456789")
_FORM = "value TAB expression"
_HEADERS = ([b"source", b"target"], [b"source"])


def read_listops(path: PathLike, *, max_children: int | None = 5, labeled: bool = True) -> Examples:
    """All examples of a ListOps file; see :func:`stream_listops`."""
    return gather(stream_listops(path, max_children=max_children, labeled=labeled))


def stream_listops(
    path: PathLike,
    trees: int = 10_000,
    *,
    max_children: int | None = 5,
    labeled: bool = True,
) -> Iterator[Examples]:
    """The examples of a ListOps file, ``trees`` lines at a time.

    A line is ``value TAB expression``. The expression has the n-ary form ``[SM 6 5 ]`` or the
    binary form of the official release, ``( ( ( [SM 6 ) 5 ) ] )``; without its round brackets the
    second is the first. In a file with the header ``Source TAB Target``, as in another release,
    the value comes last.

    Node columns: ``op``, the operator's row of :data:`LISTOPS_OPERATORS` or -1 at a digit, and
    ``value``, the digit or -1 at an operator. Example column: ``target``, the value.

    Arguments:
        path: the file.
        trees: lines per chunk; the last chunk may have fewer.
        max_children: the most arguments that an operator may have; None for any number.
        labeled: whether every line must have a value; otherwise ``target`` is -1 without one.

    Raises:
        TreeError: with file and line: the file is empty or not UTF-8, a line is cut off, a bracket
            is unbalanced, an operator or digit is unknown, or an operator has no arguments or too
            many.
        ConfigError: ``trees`` is below 1.
    """
    value_field, empty = 0, True
    for data, line in line_chunks(path, trees):
        if line == 1 and data.split(b"\n", 1)[0].lower().split() in _HEADERS:
            value_field = 1
            data = b"\n" + data.partition(b"\n")[2]
        if data.strip():
            empty = False
            yield _parse(data, path, line, value_field, max_children, labeled)
    if empty:
        raise empty_file(path)


def _parse(
    data: bytes,
    path: PathLike,
    line: int,
    value_field: int,
    max_children: int | None,
    labeled: bool,
) -> Examples:
    check_line_pairs(data, "()", file=path, first_line=line)
    items = scan(data, pair=b"[]", blank=b"()", file=path, first_line=line)
    is_target = fields_of_lines(items, 2, _FORM, label=value_field, labeled=labeled) == value_field
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
    value_of_line = items.look_up(is_target, digits, "the value of an expression")
    node = ~is_target & ~is_op
    value = items.look_up(node & ~items.is_open, digits, "a digit")
    forest = assemble(
        node,
        items.parent,
        items.place - 1,
        {"op": op, "value": value},
        {"op": Vocabulary(LISTOPS_OPERATORS, frozen=True)},
    )
    target = labels_of_lines(items, is_target, value_of_line)
    return Examples(forest, {"target": target}, targets=Vocabulary(_DIGITS, frozen=True))


def write_listops(
    examples: Examples, path: PathLike, *, form: Literal["binary", "nary"] = "binary"
) -> None:
    """Write ListOps examples as a file, which :func:`read_listops` reads back.

    Arguments:
        examples: with the columns that :func:`stream_listops` lists.
        path: the file; it is replaced once all is written.
        form: of the expressions; ``binary`` is the official ``( ( ( [SM 6 ) 5 ) ] )``, ``nary`` is
            ``[SM 6 5 ]``.

    Raises:
        TreeError: with tree and node: a node with children has no operator, or a leaf no digit.
        ConfigError: ``form`` is neither.
    """
    if form not in ("binary", "nary"):
        raise ConfigError(f"form: expected 'binary' or 'nary', got {form!r}")
    forest, binary = examples.forest, form == "binary"
    inner, is_root = forest.degree > 0, forest.parent < 0
    op, value = forest.columns["op"], forest.columns["value"]
    check_nodes(
        forest,
        np.where(inner, op < 0, (op >= 0) | (value < 0)),
        "expected an operator at a node with children and a digit at a leaf",
    )
    opening = choose([f"[{name} " for name in forest.vocabs["op"].names], op)
    if binary:  # a round bracket per argument, and one for the closing square bracket
        rounds = ["( " * (n + 1) for n in range(forest.degree.max() + 1)]
        opening = choose(rounds, forest.degree) + opening
    digits = choose([f"{digit} " for digit in range(10)], value)
    closing = choose(["", "] ) " if binary else "] "], inner)
    end_of_argument = choose(["", ") "], binary & ~is_root)
    trees = render(forest, np.where(inner, opening, digits), closing + end_of_argument)
    write_lines(examples, path, trees)


LISTOPS = Format(
    "ListOps, a line per example: value TAB expression.",
    partial(stream_listops, max_children=None),
    write_listops,
    first_line=r"\d\t[^\t]*$|Source\tTarget",
)
