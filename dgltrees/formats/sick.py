"""SICK with parses: Sentences Involving Compositional Knowledge, in pairs.

M. Marelli and others, "A SICK cure for the evaluation of compositional distributional semantic
models", LREC 2014.
"""

from __future__ import annotations

from collections.abc import Iterator

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.lines import numbered_lines
from dgltrees.formats.pairs import Pair
from dgltrees.formats.snli import leaves

__all__ = ["sick_pairs"]


def sick_pairs(path: PathLike) -> Iterator[Pair]:
    """The pairs of a file of lines ``label TAB parse TAB parse``, with two further fields or none.

    A first line that begins with ``%`` names the fields. Labels become lower case, as in SNLI.

    Raises:
        TreeError: with file and line: a line is not UTF-8, has another number of fields, or is cut
            off.
    """
    for number, line in numbered_lines(path):
        if not line.strip() or (number == 1 and line.startswith("%")):
            continue
        fields = line.split("\t")
        if len(fields) not in (3, 5):
            raise TreeError(
                f"expected label TAB parse TAB parse, and two more fields or none, got "
                f"{len(fields)} fields",
                file=path,
                line=number,
            )
        left, right = (leaves(parse, path, number) for parse in fields[1:3])
        yield Pair(number, fields[0].strip().lower(), left, right)
