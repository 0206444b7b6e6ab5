"""Files of one example a line, read in chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import BinaryIO, Callable

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.builders.balance import check_utf8
from dgltrees.trees.builders.scan import Brackets
from dgltrees.trees.examples import Examples

__all__ = [
    "fields_of_lines",
    "gather",
    "line_chunks",
    "numbered_lines",
    "open_bytes",
    "tree_chunks",
]

_BOM = b"\xef\xbb\xbf"


@contextmanager
def open_bytes(path: PathLike) -> Iterator[BinaryIO]:
    """Open a text file behind its byte order mark, if it has one."""
    with open(path, "rb") as file:
        if file.read(len(_BOM)) != _BOM:
            file.seek(0)
        yield file


def numbered_lines(path: PathLike) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers, blank ones too, without line ends.

    Raises:
        TreeError: at a line that is not UTF-8.
    """
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            check_utf8(line, path, number)
            yield number, line.decode("utf-8").rstrip("\r\n")


def _pieces(
    path: PathLike,
    trees: int,
    skip: int,
    take: Callable[[BinaryIO], list[bytes]],
    blank: bool = False,
) -> Iterator[tuple[bytes, int]]:
    if trees < 1:
        raise ConfigError(f"expected chunks of at least one tree, got trees={trees}")
    first, empty = 1 + skip, True
    with open_bytes(path) as file:
        for _ in islice(file, skip):
            pass
        while lines := take(file):
            data = b"".join(lines)
            if blank or data.strip():
                empty = False
                yield data, first
            first += len(lines)
    if empty:
        raise TreeError("expected at least one tree, got an empty file", file=path)


def line_chunks(
    path: PathLike, trees: int, *, skip: int = 0, blank: bool = False
) -> Iterator[tuple[bytes, int]]:
    """The text of at most ``trees`` lines at a time, and the number of the first of them.

    Arguments:
        path: the file.
        trees: lines a chunk.
        skip: how many lines at the beginning of the file to leave out.
        blank: whether chunks of blank lines come too; else they are left out.

    Raises:
        TreeError: all lines are blank and left out, or there is none.
        ConfigError: ``trees`` is not positive.
    """
    return _pieces(path, trees, skip, lambda file: list(islice(file, trees)), blank)


def tree_chunks(path: PathLike, trees: int) -> Iterator[tuple[bytes, int]]:
    """As :func:`line_chunks` for trees over several lines: a chunk ends where brackets close.

    Trees on one line count as one.
    """

    def take(file: BinaryIO) -> list[bytes]:
        lines: list[bytes] = []
        left, opened = trees, 0
        for line in file:
            lines.append(line)
            opened += line.count(b"(") - line.count(b")")
            if opened <= 0 and not line.isspace():
                left -= 1
                if left == 0 or opened < 0:
                    break
        return lines

    return _pieces(path, trees, 0, take)


def fields_of_lines(brackets: Brackets, fields: int, form: str) -> NDArray[np.int64]:
    """Which field of its line every item outside all brackets is, -1 for those inside; ``(M,)``.

    Arguments:
        brackets: the items.
        fields: how many such items every line has that is not blank.
        form: what a line looks like, for the error.

    Raises:
        TreeError: a line has more or fewer.
    """
    outside = np.flatnonzero(brackets.depth == 0)
    line = np.searchsorted(brackets.ends, brackets.start[outside])
    count = np.bincount(line, minlength=len(brackets.ends))
    wrong = (count != fields) & (count != 0)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise TreeError(
            f"expected a line of the form {form}, with {fields} "
            f"part{'s' * (fields > 1)} outside all brackets, got {count[at]}; is it cut off?",
            file=brackets.file,
            line=brackets.first_line + at,
        )
    field = np.full(len(brackets.depth), -1)
    field[outside] = np.arange(len(outside)) % fields
    return field


def gather(chunks: Iterable[Examples]) -> Examples:
    """All examples of a stream at once."""
    return Examples.concat(list(chunks))
