"""Documents with one tree each: JSON, XML and Python source; and the functions of Python source."""

from __future__ import annotations

import ast
import io
import os
import re
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.folders import stream_folder
from dgltrees.formats.format import Format, RecordLayout
from dgltrees.formats.lines import at_least_one, open_bytes
from dgltrees.trees.builders.code import from_python, parse_python
from dgltrees.trees.builders.markup import from_xml
from dgltrees.trees.builders.nested import from_json
from dgltrees.trees.builders.scan import check_utf8
from dgltrees.trees.labeled import LabeledTrees

_ATTRIBUTE = re.compile(rb"<\w[^<>]*\s(?!xmlns[:=\s])[\w:.-]+\s*=")


def stream_json(path: PathLike, trees: int = 1) -> Iterator[LabeledTrees]:
    """Read the tree of a JSON document, see :func:`~dgltrees.trees.builders.from_json`."""
    yield LabeledTrees(from_json(_contents(path), file=path))


def stream_xml(
    path: PathLike, trees: int = 1, layout: RecordLayout = RecordLayout()
) -> Iterator[LabeledTrees]:
    """Read the tree of an XML document, see :func:`~dgltrees.trees.builders.from_xml`.

    Warns:
        UserWarning: there are attributes, and ``layout`` does not make them nodes.
    """
    data = _contents(path)
    forest = from_xml(data, attributes=layout.attributes, file=path)
    if not layout.attributes and _ATTRIBUTE.search(data):
        warnings.warn(
            "attributes of XML elements are ignored; set attributes to true to make them nodes",
            stacklevel=2,
        )
    yield LabeledTrees(forest)


def stream_python(path: PathLike, trees: int = 1) -> Iterator[LabeledTrees]:
    """Read the syntax tree of Python source, see :func:`~dgltrees.trees.builders.from_python`."""
    yield LabeledTrees(from_python(python_text(path), file=path))


def python_text(path: PathLike) -> str:
    """Read the text of Python source."""
    data = _contents(path)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return io.TextIOWrapper(io.BytesIO(data), encoding).read()
    except SyntaxError as error:  # a byte or a declaration in one of the first two lines
        first, *others = data.split(b"\n", 2)
        check_utf8(b"\n".join([first, *others[:1]]), path, 1)
        line, what = 1 if b"coding" in first else 2, str(error)
    except UnicodeDecodeError as error:
        line, what = error.object.count(b"\n", 0, error.start) + 1, str(error)
    raise TreeError(
        f"expected Python source in UTF-8 or the encoding it declares, got: {what}",
        file=path,
        line=line,
    )


def _contents(path: PathLike) -> bytes:
    with open_bytes(path) as file:
        return file.read()


JSON = Format("A JSON document, which is one tree.", stream_json, suffixes=(".json",), numbers=True)


XML = Format(
    "An XML document, which is one tree.",
    stream_xml,
    suffixes=(".xml",),
    first_line=r"<[?!A-Za-z_]",
    general=True,
    layout=("attributes",),
    numbers=True,
)


PYTHON = Format("Python source, whose syntax is one tree.", stream_python, suffixes=(".py",))


def stream_functions(path: PathLike, trees: int = 10_000) -> Iterator[LabeledTrees]:
    """Read the syntax tree of each function of Python source, about ``trees`` at a time.

    Methods and nested functions are trees too, and also parts of the functions around them. Node
    columns are those of :func:`~dgltrees.trees.builders.from_python`. Example columns: ``name``,
    such as ``Forest.build`` or ``outer.<locals>.inner``; ``line``, the first line; ``file``; and
    for a folder ``label``, see :func:`~dgltrees.formats.folders.stream_folder`.
    """
    folder = Path(path).is_dir()
    if folder:
        parts = stream_folder(
            path, trees, stream_of=lambda file: _stream if file.suffix == ".py" else None
        )
    else:
        parts = _stream(path, trees)
    line = None if folder else 1
    none = TreeError("expected Python source with a function, got none", file=path, line=line)
    return at_least_one(parts, none)


def _stream(path: PathLike, trees: int) -> Iterator[LabeledTrees]:
    module = parse_python(python_text(path), file=path)
    functions = list(_functions(module))
    for at in range(0, len(functions), trees):
        some = functions[at : at + trees]
        names = np.array([name for name, _ in some], object)
        lines = np.array([node.lineno for _, node in some], np.int64)
        forest = from_python(*(node for _, node in some), file=path)
        files = np.full(len(some), os.fspath(path), object)
        yield LabeledTrees(forest, {"name": names, "line": lines, "file": files})


def _functions(module: ast.AST) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Iterate over the functions of a module in source order, with their qualified names."""
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
