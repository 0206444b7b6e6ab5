"""Checks of the bytes of a bracketed text: UTF-8 and balanced brackets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError

__all__ = ["check_balance", "check_line_pairs", "check_utf8", "line_ends"]


def check_utf8(data: bytes, file: PathLike | None, first_line: int) -> None:
    """Check that ``data``, which begins at line ``first_line`` of ``file``, is UTF-8.

    Raises:
        TreeError: it is not; with file and line.
    """
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TreeError(
            f"expected UTF-8 text, got the byte 0x{data[error.start]:02x}; "
            "convert the file to UTF-8",
            file=file,
            line=first_line + data.count(b"\n", 0, error.start),
        ) from None


def check_balance(
    at: NDArray[np.int64],
    depth: NDArray[np.int32],
    ends: NDArray[np.int64],
    pair: str,
    *,
    by_line: bool,
    file: PathLike | None,
    first_line: int,
) -> None:
    """Check that every bracket is closed, and that every closing bracket closes one.

    Arguments:
        at: ``(B,)`` the byte of each bracket; there may be others.
        depth: ``(B,)`` the number of brackets that are open after each byte.
        ends: ``(L,)`` the byte that each line ends at.
        pair: the opening and the closing bracket, for the errors.
        by_line: every line must close its own brackets; otherwise the text as a whole.
        file, first_line: the file of the text and the line it begins at, for the errors.

    Raises:
        TreeError: with file and line.
    """
    last = np.searchsorted(at, ends) - 1  # the last bracket up to each line's end
    still_open = np.where(last < 0, 0, depth[last]) if len(at) else np.zeros(len(ends), np.int32)
    if not by_line:
        still_open[:-1] = np.minimum(still_open[:-1], 0)
    extra = at[np.argmax(depth < 0)] if len(at) and depth.min() < 0 else None
    unclosed = int(np.argmax(still_open != 0)) if still_open.any() else len(ends)
    if extra is not None and np.searchsorted(ends, extra) <= unclosed:
        line = first_line + int(np.searchsorted(ends, extra))
        raise TreeError(
            f"expected an opening {pair[0]!r} for every {pair[1]!r}, "
            f"got a {pair[1]!r} that closes nothing",
            file=file,
            line=line,
        )
    if unclosed < len(ends):
        opened = unclosed
        if not by_line:  # name the line where the unclosed tree begins
            outside = np.flatnonzero(depth == 0)
            begin = outside[-1] + 1 if len(outside) else 0
            opened = int(np.searchsorted(ends, at[begin]))
        raise TreeError(
            f"expected a {pair[1]!r} for every {pair[0]!r}, got {still_open[unclosed]} left open "
            f"at the end of the {'line' if by_line else 'text'}; is it cut off?",
            file=file,
            line=first_line + opened,
        )


def check_line_pairs(data: bytes, pair: str, *, file: PathLike | None, first_line: int) -> None:
    """Check that every line of ``data`` closes its own brackets ``pair``.

    Raises:
        TreeError: with file and line.
    """
    letters = np.frombuffer(data, np.uint8)
    opened, closed = letters == ord(pair[0]), letters == ord(pair[1])
    at = np.flatnonzero(opened | closed)
    depth = np.cumsum(opened[at].astype(np.int8) - closed[at].astype(np.int8), dtype=np.int32)
    ends = line_ends(data)
    check_balance(at, depth, ends, pair, by_line=True, file=file, first_line=first_line)


def line_ends(data: bytes) -> NDArray[np.int64]:
    """``(L,)`` the byte that each line of ``data`` ends at."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    return ends if data.endswith(b"\n") else np.append(ends, len(data))
