"""The two errors of the package, and what is wrong with a file in words."""

from __future__ import annotations

import os

__all__ = ["ConfigError", "TreeError", "file_problem"]


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
