"""ListOps: the operators MAX, MED, MIN and SM (sum modulo 10) on nested lists of digits.

Nangia and Bowman, "ListOps: A Diagnostic Dataset for Latent Tree Learning" (NAACL SRW 2018).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.formats.brackets import Grammar, at_brackets, labels_of_lines
from dgltrees.formats.format import Format
from dgltrees.formats.lines import empty_file, line_chunks
from dgltrees.trees.builders.brackets import assemble, find_heads, items_in
from dgltrees.trees.builders.scan import Brackets, check_balance, line_ends
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.segments import Bools
from dgltrees.trees.vocabulary import Vocabulary

LISTOPS_OPERATORS = ("MAX", "MED", "MIN", "SM")
_OPERATORS = {name: i for i, name in enumerate(LISTOPS_OPERATORS)}
_DIGITS = {str(digit): digit for digit in range(10)}
_GRAMMAR = Grammar("value TAB expression", 2, label=0, pair=b"[]", blank=b"()")
_HEADERS = ([b"source", b"target"], [b"source"])


def stream_listops(
    path: PathLike, trees: int = 10_000, *, labeled: bool = True
) -> Iterator[LabeledTrees]:
    """Yield the examples of a ListOps file, ``trees`` lines at a time.

    A line is ``value TAB expression``. The expression has the n-ary form ``[SM 6 5 ]`` or the
    binary form of the official release, ``( ( ( [SM 6 ) 5 ) ] )``, which adds round brackets. In a
    file with the header ``Source TAB Target``, as in another release, the value comes last.

    Node columns: ``op``, the operator's row of :data:`LISTOPS_OPERATORS` or -1 at a digit, and
    ``value``, the digit or -1 at an operator. Example column: ``target``, the value.
    """
    grammar, empty = _GRAMMAR, True
    for data, line in line_chunks(path, trees):
        if line == 1 and data.split(b"\n", 1)[0].lower().split() in _HEADERS:
            grammar = replace(grammar, label=1)
            data = b"\n" + data.partition(b"\n")[2]
        if data.strip():
            empty = False
            items, is_target = grammar.items(data, path, line, labeled=labeled)
            check_line_pairs(data, "()", file=path, first_line=line)
            yield _examples(items, is_target, labeled)
    if empty:
        raise empty_file(path)


def _examples(items: Brackets, is_target: NDArray[np.bool_], labeled: bool) -> LabeledTrees:
    is_op = find_operators(items, "an operator")
    op = at_brackets(items, is_op, items.look_up(is_op, _OPERATORS, "an operator"))
    what = "the value of an expression"
    value_of_line = items.look_up(is_target, _DIGITS, what, known=labeled)
    is_node = ~is_target & ~is_op
    forest = assemble(
        is_node,
        items.parent,
        items.place - 1,
        {"op": op, "value": items.look_up(is_node & ~items.is_open, _DIGITS, "a digit")},
        {"op": Vocabulary(LISTOPS_OPERATORS, frozen=True)},
    )
    target = labels_of_lines(items, is_target, value_of_line)
    return LabeledTrees(forest, {"target": target}, targets=Vocabulary(_DIGITS, frozen=True))


def find_operators(items: Brackets, what: str) -> Bools:
    """Return a mask ``(M,)`` of items that begin a bracket: operators before their arguments."""
    is_operator = find_heads(items, what)
    items.refuse(
        items.is_open & (items_in(items) == 1), lambda _: "expected at least one argument, got none"
    )
    return is_operator


def check_line_pairs(data: bytes, pair: str, *, file: PathLike | None, first_line: int) -> None:
    """Raise TreeError if a line of ``data`` does not close its own brackets ``pair``."""
    letters = np.frombuffer(data, np.uint8)
    opened, closed = letters == ord(pair[0]), letters == ord(pair[1])
    at = np.flatnonzero(opened | closed)
    depth = np.cumsum(opened[at].astype(np.int8) - closed[at].astype(np.int8), dtype=np.int32)
    ends = line_ends(data)
    check_balance(at, depth, ends, pair, by_line=True, file=file, first_line=first_line)


LISTOPS = Format(
    "ListOps, a line per example: value TAB expression.",
    stream_listops,
    first_line=r"\d\t[^\t]*$|Source\tTarget",
)
