"""The two errors of the package, what is wrong with a file, and the names of settings in errors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

_called: ContextVar[Mapping[str, str]] = ContextVar("called", default=MappingProxyType({}))


class TreeError(ValueError):
    """A tree, or the data a tree is read from, breaks a rule.

    Arguments:
        message: what was expected, what was found, and what to do.
        file: the file the tree was read from.
        line: the line in that file, counted from 1.
        tree: the tree, counted from 0.
        node: the node within its tree, counted from 0; within its batch, if no tree is given.

    The text reads ``file:line: tree 3, node 5: message`` with the parts that are known.
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


class ConfigError(ValueError):
    """A setting, a preset or a run directory cannot be used; the text says which and why."""


def called(setting: str) -> str:
    """The name of a setting for an error: its full name, or what :func:`settings_called` says."""
    return _called.get().get(setting, setting)


@contextmanager
def settings_called(names: Mapping[str, str]) -> Iterator[None]:
    """Let errors of the body name settings by the arguments that the caller knows.

    Arguments:
        names: the argument of each setting, such as ``{"training.lr": "lr"}``.
    """
    before = _called.set(names)
    try:
        yield
    finally:
        _called.reset(before)


def file_problem(error: OSError) -> str:
    """What is wrong with a file, in words: ``"expected a file at x.tsv, found none"``."""
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
