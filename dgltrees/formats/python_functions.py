"""Python source whose functions are the trees."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.documents import python_text
from dgltrees.formats.folders import stream_folder
from dgltrees.formats.lines import check_chunk_size
from dgltrees.formats.table import Format
from dgltrees.trees.builders.code import from_python, parse_python
from dgltrees.trees.examples import Examples

__all__ = ["PYTHON_FUNCTIONS", "stream_functions"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def stream_functions(path: PathLike, trees: int = 10_000) -> Iterator[Examples]:
    """The syntax tree of each function of Python source, about ``trees`` at a time.

    Methods and functions within functions are trees too, and parts of those around them. Node
    columns are those of :func:`~dgltrees.trees.builders.from_python`. Example columns: ``name``,
    such as ``Forest.build`` or ``outer.<locals>.inner``; ``line``, where it begins; ``file``; and
    of a folder ``label``, see :func:`~dgltrees.formats.folders.stream_folder`.

    Arguments:
        path: a ``.py`` file, or a folder of them.
        trees: trees per chunk.

    Raises:
        TreeError: a file is no Python source, there is no function at all, or what a folder raises.
        ConfigError: ``trees`` is below 1.
    """
    check_chunk_size(trees)
    empty = True
    folder = Path(path).is_dir()
    for part in stream_folder(path, trees, stream_of=_reader) if folder else _stream(path, trees):
        empty = False
        yield part
    if empty:
        line = None if folder else 1
        raise TreeError("expected Python source with a function, got none", file=path, line=line)


def _reader(path: Path) -> Callable[[PathLike, int], Iterator[Examples]] | None:
    return _stream if path.suffix == ".py" else None


def _stream(path: PathLike, trees: int) -> Iterator[Examples]:
    module = parse_python(python_text(path), file=path)
    functions = list(_functions(module))
    for at in range(0, len(functions), trees):
        some = functions[at : at + trees]
        names = np.array([name for name, _ in some], object)
        lines = np.array([node.lineno for _, node in some], np.int64)
        forest = from_python(*(node for _, node in some), file=path)
        files = np.full(len(some), os.fspath(path), object)
        yield Examples(forest, {"name": names, "line": lines, "file": files})


def _functions(module: ast.AST) -> Iterator[tuple[str, _Function]]:
    """The functions of a module in the order of the source, with their qualified names."""
    stack: list[tuple[ast.AST, str]] = [(module, "")]
    while stack:
        node, prefix = stack.pop()
        if isinstance(node, ast.ClassDef):
            prefix += f"{node.name}."
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name, node
            prefix += f"{node.name}.<locals>."
        stack += [(child, prefix) for child in reversed([*ast.iter_child_nodes(node)])]


PYTHON_FUNCTIONS = Format(
    "Python source, or a folder of it, each of whose functions is a tree.",
    stream_functions,
    text=False,
)
