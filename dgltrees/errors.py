"""The two errors of the package, and functions for the texts of errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

_called: ContextVar[Mapping[str, str]] = ContextVar("called", default=MappingProxyType({}))


class TreeError(ValueError):
    """Error in a tree, or in the data of a tree.

    The text is ``file:line: tree 3, node 5: message`` with the parts that are known.

    Arguments:
        message: what was expected, what was found, and what to do.
        file: the file of the tree.
        line: the line in that file, from 1.
        tree: the index of the tree, from 0.
        node: the index of the node within its tree, from 0; within its batch, if no tree is given.

    Example:
        >>> print(TreeError("expected one root, got 2", file="a.csv", line=7, tree=3))
        a.csv:7: tree 3: expected one root, got 2
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | os.PathLike[str] | None = None,
        line: int | None = None,
        tree: int | None = None,
        node: int | None = None,
    ) -> None:
        where = "" if file is None else os.fspath(file)
        if line is not None:
            where = f"{where}:{line}" if where else f"line {line}"
        place = [f"{what} {i}" for what, i in (("tree", tree), ("node", node)) if i is not None]
        super().__init__(": ".join(part for part in (where, ", ".join(place), message) if part))
        self.message = message
        self.file, self.line, self.tree, self.node = file, line, tree, node


RowError = Callable[[str, int], TreeError]
"""Builds an error from its message and its row."""


class ConfigError(ValueError):
    """Error in a setting, a preset or a run directory; the text names it and the reason."""


def called(setting: str) -> str:
    """Return the name of a setting for an error: full, or given to :func:`settings_called`."""
    return _called.get().get(setting, setting)


@contextmanager
def settings_called(names: Mapping[str, str]) -> Iterator[None]:
    """Replace names of settings in the body's errors by arguments that the caller knows."""
    before = _called.set(names)
    try:
        yield
    finally:
        _called.reset(before)


def file_problem(error: OSError) -> str:
    """Describe a problem with a file: ``"expected a file at x.tsv, found none"``."""
    name = "" if error.filename is None else os.fspath(error.filename)
    if not name:
        return str(error)
    if isinstance(error, FileNotFoundError):
        return f"expected a file at {name}, found none"
    if isinstance(error, IsADirectoryError):
        return f"expected a file at {name}, found a folder"
    if isinstance(error, NotADirectoryError):
        return f"expected a folder in place of a file in {name}"
    if isinstance(error, FileExistsError):
        return f"expected a folder at {name}, found a file"
    return f"cannot open {name}: {(error.strerror or str(error)).lower()}"
