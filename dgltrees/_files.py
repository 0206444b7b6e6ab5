"""Atomic writing: a file is written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Union

__all__ = ["STANDARD_INPUT", "Lines", "PathLike", "in_file", "replacing"]

PathLike = Union[str, os.PathLike[str]]

STANDARD_INPUT = "-"
"""What stands for standard input in place of the name of a file."""


class Lines(os.PathLike[str]):
    """Lines in memory, which readers of text take in place of a file.

    Arguments:
        lines: with or without line ends.
        name: what errors call the file.
    """

    def __init__(self, lines: Iterable[str], name: str = "<lines>") -> None:
        self.data = "".join(line.rstrip("\r\n") + "\n" for line in lines).encode()
        self.name = name

    def __fspath__(self) -> str:
        return self.name


def in_file(path: PathLike) -> bool:
    """Whether a path names a file or folder: not standard input, nor lines in memory."""
    return not isinstance(path, Lines) and os.fspath(path) != STANDARD_INPUT


@contextmanager
def replacing(path: PathLike, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file beside ``path`` and rename it to ``path`` at the end.

    If the body raises, ``path`` stays as it was and the temporary file is removed. Text is UTF-8
    with ``\\n`` at the end of a line on every machine.

    Arguments:
        path: the file to write; its folder is created if it does not exist.
        mode: ``"w"`` or ``"wb"``.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    try:
        with open(handle, mode, **text) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    """The process's umask, for the final file: temporary files are private."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
