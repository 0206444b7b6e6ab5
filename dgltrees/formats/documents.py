"""Documents that are one tree each: JSON, XML and Python source."""

from __future__ import annotations

import io
import re
import tokenize
import warnings
from collections.abc import Iterator

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.layout import Layout
from dgltrees.formats.lines import open_bytes
from dgltrees.formats.table import Format
from dgltrees.trees.builders.code import from_python
from dgltrees.trees.builders.markup import from_xml
from dgltrees.trees.builders.nested import from_json
from dgltrees.trees.builders.scan import check_utf8
from dgltrees.trees.examples import Examples

__all__ = ["JSON", "PYTHON", "XML", "python_text", "stream_json", "stream_python", "stream_xml"]

_ATTRIBUTE = re.compile(rb"<\w[^<>]*\s[\w:.-]+\s*=")


def stream_json(path: PathLike, trees: int = 1) -> Iterator[Examples]:
    """The tree of a JSON document; see :func:`~dgltrees.trees.builders.from_json`."""
    yield Examples(from_json(_contents(path), file=path))


def stream_xml(
    path: PathLike,
    trees: int = 1,
    layout: Layout = Layout(),  # noqa: B008
) -> Iterator[Examples]:
    """The tree of an XML document; see :func:`~dgltrees.trees.builders.from_xml`.

    A warning says so where there are attributes, and ``layout`` does not make them nodes.
    """
    data = _contents(path)
    forest = from_xml(data, attributes=layout.attributes, file=path)
    if not layout.attributes and _ATTRIBUTE.search(data):
        warnings.warn(
            "attributes of XML elements are not read; with attributes true they are nodes",
            stacklevel=2,
        )
    yield Examples(forest)


def stream_python(path: PathLike, trees: int = 1) -> Iterator[Examples]:
    """The syntax tree of Python source; see :func:`~dgltrees.trees.builders.from_python`.

    Raises:
        TreeError: the file is not in the encoding that it declares, or else UTF-8; or what
            ``from_python`` raises.
    """
    yield Examples(from_python(python_text(path), file=path))


def python_text(path: PathLike) -> str:
    """The text of Python source.

    Raises:
        TreeError: with file and line: it is not in the encoding that it declares, or else UTF-8.
    """
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


JSON = Format("A JSON document, which is one tree.", stream_json, suffixes=(".json",))


XML = Format(
    "An XML document, which is one tree.",
    stream_xml,
    suffixes=(".xml",),
    layout=("attributes",),
)


PYTHON = Format("Python source, whose syntax is one tree.", stream_python, suffixes=(".py",))
