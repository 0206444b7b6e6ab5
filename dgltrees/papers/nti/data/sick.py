"""SICK with parses: Sentences Involving Compositional Knowledge, in pairs.

M. Marelli and others, "A SICK cure for the evaluation of compositional distributional semantic
models", LREC 2014.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.papers.nti.data.pairs import Pair
from dgltrees.papers.nti.data.snli import bracketed_pair

__all__ = ["sick_pairs"]


def sick_pairs(
    lines: Iterable[tuple[int, str]], path: PathLike, labeled: bool = True
) -> Iterator[Pair]:
    """The pairs of lines ``label TAB parse TAB parse``, with two further fields or none.

    A first line that begins with ``%`` names the fields. Labels become lower case, as in SNLI.

    Arguments:
        lines: the lines of the file with their numbers.
        path: the file, for errors.
        labeled: whether every line must have a label.

    Raises:
        TreeError: with file and line: a line is not UTF-8, has another number of fields, or is cut
            off.
    """
    for number, line in lines:
        if not line.strip() or (number == 1 and line.startswith("%")):
            continue
        fields = line.split("\t")
        if len(fields) == 2 and not labeled:
            fields = ["", *fields]
        if len(fields) not in (3, 5):
            missing = "; training and evaluation need the label" * (len(fields) == 2)
            raise TreeError(
                f"expected label TAB parse TAB parse, and two more fields or none, got "
                f"{len(fields)} fields{missing}",
                file=path,
                line=number,
            )
        label = fields[0].strip().lower()
        yield bracketed_pair(number, label, (fields[1], fields[2]), path, labeled)
