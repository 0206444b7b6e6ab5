"""Text files of examples: opened, split into chunks of lines, and written line by line."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby, islice
from typing import Any, BinaryIO, TypeVar, cast

from dgltrees._files import STANDARD_INPUT, Lines, PathLike, in_file
from dgltrees._json import load_json
from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.builders.scan import check_utf8
from dgltrees.trees.labeled import LabeledTrees, align

T = TypeVar("T")

LineError = Callable[[str, int | None], TreeError]
"""Function that makes the error for a line of a file."""

_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"


_Open = tuple[io.BufferedReader, ExitStack]
_AHEAD: dict[Any, _Open] = {}
"""Sources that can be read only once, opened for their first line, and still to be read."""


class _Joined(io.RawIOBase):
    """The bytes that have been read from a file, and then the others."""

    def __init__(self, head: bytes, file: io.BufferedReader) -> None:
        self.head, self.file = head, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.head[: len(buffer)] or self.file.read1(len(buffer))
        self.head = self.head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


def _once(path: PathLike) -> Any:
    """Return the key of a source that can be read only once, or None."""
    if in_file(path) or isinstance(path, Lines):
        return None
    return sys.stdin if os.fspath(path) == STANDARD_INPUT else os.fspath(path)


def _opened(path: PathLike) -> _Open:
    """Open a source after its byte order mark if it has one; gzip is decompressed."""
    with ExitStack() as stack:
        file: Any
        if isinstance(path, Lines):
            file = io.BufferedReader(io.BytesIO(path.data))
        elif os.fspath(path) == STANDARD_INPUT:
            if sys.stdin is None:
                raise ConfigError("the standard input is closed; name a file instead of -")
            file = sys.stdin.buffer
        else:
            file = stack.enter_context(open(path, "rb"))
        if file.peek(len(_GZIP)).startswith(_GZIP):
            unpacked = stack.enter_context(gzip.open(file))
            file = stack.enter_context(io.BufferedReader(unpacked))
        if file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            file = _as_utf8(file, path)
        if file.peek(len(_BOM)).startswith(_BOM):
            file.read(len(_BOM))
        return cast(io.BufferedReader, file), stack.pop_all()


@contextmanager
def _damage(path: PathLike) -> Iterator[None]:
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TreeError(f"expected gzip, got a damaged file: {error}", file=path) from None


@contextmanager
def open_bytes(path: PathLike) -> Iterator[io.BufferedReader]:
    """Open a text file as bytes of UTF-8, after its byte order mark; gzip is decompressed."""
    with _damage(path):
        key = _once(path)
        file, stack = _AHEAD.pop(key) if key in _AHEAD else _opened(path)
        with stack:
            yield file


def _as_utf8(file: BinaryIO, path: PathLike) -> io.BufferedReader:
    """Convert a file of UTF-16, as Windows writes it, to UTF-8 in memory."""
    try:
        text = file.read().decode("utf-16")
    except UnicodeDecodeError as error:
        raise TreeError(
            f"expected UTF-16 text, as its first bytes say, got: {error.reason}; convert the file "
            "to UTF-8",
            file=path,
        ) from None
    return io.BufferedReader(io.BytesIO(text.encode()))


def first_line(path: PathLike) -> str:
    """Return the first line that is not blank, among the first hundred.

    A source that can be read only once is read from its first byte afterwards.
    """
    key = _once(path)
    if key is None:
        with open_bytes(path) as file:
            line = next((line for line in islice(file, 100) if line.strip()), b"")
    else:
        with _damage(path):
            file, stack = _AHEAD.pop(key) if key in _AHEAD else _opened(path)
            head = line = b""
            for _ in range(100):
                line = file.readline()
                head += line
                if line.strip() or not line:
                    break
            _AHEAD[key] = io.BufferedReader(_Joined(head, file)), stack
    return line.decode("utf-8", "replace").strip()


def files_of(paths: PathLike | Sequence[PathLike]) -> list[PathLike]:
    """Convert a path or several to a list; raise ConfigError for none, and for what is no path."""
    files: list[Any] = list(paths) if isinstance(paths, (list, tuple)) else [paths]
    if not files:
        raise ConfigError("expected at least one file, got none")
    for file in files:
        if not isinstance(file, (str, os.PathLike)):
            raise ConfigError(
                f"expected the path of a file, or a list of paths, got {file!r:.40}; write "
                "'trees.jsonl', for example"
            )
    return files


def error_in(path: PathLike) -> LineError:
    """Return the function that makes an error from a message and the number of a line."""
    return lambda message, line: TreeError(message, file=path, line=line)


def empty_file(path: PathLike, what: str = "tree", line: int | None = 1) -> TreeError:
    """Make the error for a file without examples; ``line`` is None for a file without lines."""
    return TreeError(f"expected at least one {what}, got an empty file", file=path, line=line)


def at_least_one(items: Iterable[T], error: TreeError) -> Iterator[T]:
    """Iterate over items; raise the error if there is none."""
    empty = True
    for item in items:
        empty = False
        yield item
    if empty:
        raise error


def numbered_lines(path: PathLike) -> Iterator[tuple[int, str]]:
    """Iterate over lines with numbers from 1, without line ends; TreeError if one is not UTF-8."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            check_utf8(line, path, number)
            yield number, line.decode("utf-8").rstrip("\r\n")


def between_blank(lines: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Group successive lines between blank lines, each line with its number."""
    for filled, block in groupby(lines, lambda numbered: bool(numbered[1].strip())):
        if filled:
            yield list(block)


def not_utf8(path: PathLike, error: UnicodeDecodeError) -> TreeError:
    """Make the error for a file with a byte that is not UTF-8.

    It names the line; the file is read again to find it, if possible.
    """
    try:
        if in_file(path):
            for _ in numbered_lines(path):
                pass
    except TreeError as error_of_line:
        return error_of_line
    return TreeError(f"expected UTF-8 text, got: {error}", file=path)


def check_chunk_size(trees: int) -> None:
    """Raise ConfigError if the number of trees per chunk of a stream is below 1."""
    if trees < 1:
        raise ConfigError(f"expected chunks of at least one tree, got trees={trees}")


def chunks(items: Iterator[T], size: int) -> Iterator[list[T]]:
    """Group successive items into lists of ``size`` items; the last list may be shorter."""
    check_chunk_size(size)
    return iter(lambda: list(islice(items, size)), [])


def parse_json(text: str, path: PathLike, line: int) -> Any:
    """Parse the JSON of a line, or of a cell."""
    try:
        return load_json(text)
    except ValueError as error:
        raise TreeError(str(error), file=path, line=line) from None


def line_chunks(path: PathLike, trees: int, *, blank: bool = False) -> Iterator[tuple[bytes, int]]:
    """Return the text of ``trees`` lines at a time, and the number of the first of them."""
    return _chunks_of_text(path, trees, lambda file: list(islice(file, trees)), blank)


def tree_chunks(path: PathLike, trees: int) -> Iterator[tuple[bytes, int]]:
    """Split text like :func:`line_chunks`, at lines where all brackets close.

    Several trees on one line count as one.
    """

    def read_trees(file: BinaryIO) -> list[bytes]:
        lines: list[bytes] = []
        remaining, opened = trees, 0
        for line in file:
            lines.append(line)
            opened += line.count(b"(") - line.count(b")")
            if opened <= 0 and not line.isspace():
                remaining -= 1
                if remaining == 0 or opened < 0:
                    break
        return lines

    return _chunks_of_text(path, trees, read_trees)


def _chunks_of_text(
    path: PathLike, trees: int, read_lines: Callable[[BinaryIO], list[bytes]], blank: bool = False
) -> Iterator[tuple[bytes, int]]:
    check_chunk_size(trees)
    first, empty = 1, True
    with open_bytes(path) as file:
        while lines := read_lines(file):
            data = b"".join(lines)
            if blank or data.strip():
                empty = False
                yield data, first
            first += len(lines)
    if empty:
        raise empty_file(path)


def gather(stream: Iterable[LabeledTrees], names: Sequence[str] = ()) -> LabeledTrees:
    """Join all examples of a stream to one data set, see :func:`~dgltrees.trees.labeled.align`."""
    return LabeledTrees.concat(align(list(stream), names))
