"""The formats of files that can be drawn, and how they are told apart."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Callable

from dgltrees import formats as readers
from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.lines import open_bytes
from dgltrees.trees.builders.json_documents import from_json
from dgltrees.trees.builders.python_source import from_python
from dgltrees.trees.builders.xml_documents import from_xml
from dgltrees.trees.examples import Examples
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["FORMATS", "Format", "guess_format"]


@dataclass(frozen=True)
class Format:
    """A format of files.

    Arguments:
        stream: reads a file, about so many trees at a time.
        line: a pattern of what the first line of such a file looks like.
        ending: the ending of the names of such files.
        names: the names behind ids, by column, that the reader gives no vocabulary.
        arcs: whether the trees are dependency trees, drawn as arcs.
    """

    stream: Callable[[PathLike, int], Iterator[Examples]]
    line: str = r"(?!)"
    ending: str = ""
    names: Mapping[str, Vocabulary] = field(default_factory=dict)
    arcs: bool = False


def _listops(path: PathLike, trees: int) -> Iterator[Examples]:
    return readers.stream_listops(path, trees, max_children=None)


def _conllu(path: PathLike, trees: int) -> Iterator[Examples]:
    return readers.stream_conllu(path, trees, single_root=False)


def _dp(path: PathLike, trees: int) -> Iterator[Examples]:
    return readers.stream_dp(path, trees, single_root=False)


def _json(path: PathLike, trees: int) -> Iterator[Examples]:
    yield Examples(from_json(Path(path).read_bytes(), file=path))


def _xml(path: PathLike, trees: int) -> Iterator[Examples]:
    yield Examples(from_xml(Path(path).read_bytes(), file=path))


def _python(path: PathLike, trees: int) -> Iterator[Examples]:
    try:
        with tokenize.open(path) as file:
            source = file.read()
    except (SyntaxError, UnicodeDecodeError) as error:
        raise TreeError(
            f"expected Python source in UTF-8 or the encoding it declares, got: {error}", file=path
        ) from None
    yield Examples(from_python(source, file=path))


_VARIABLES = Vocabulary("abcdef", frozen=True)

FORMATS = {
    "json": Format(_json, ending=".json"),
    "xml": Format(_xml, ending=".xml"),
    "python": Format(_python, ending=".py"),
    "conllu": Format(_conllu, r"# ?\w+.* = |1(-\d+)?\t([^\t]+\t){8}", ".conllu", arcs=True),
    "dp": Format(_dp, ending=".dp", arcs=True),
    "listops": Format(_listops, r"\d\t[^\t]*$|Source\tTarget"),
    "logic": Format(readers.stream_logic, r"[#<>v|=^]\t.*\t", names={"value": _VARIABLES}),
    "inex": Format(readers.stream_inex, r"\d+:\d+\("),
    "boolsent": Format(readers.stream_boolsent, r"\([01]_[A-Z]|[01]\s*$"),
    "sst": Format(readers.stream_sst, r"\([0-4] "),
    "mrg": Format(readers.stream_mrg, r"\("),
}
"""What ``dgltrees draw`` reads; a document or source text is one tree."""


def guess_format(path: PathLike) -> str:
    """The format of a file by its ending, or by its first line that is not blank.

    Raises:
        TreeError: the line is of no known format, or there is none.
    """
    for name, form in FORMATS.items():
        if form.ending and str(path).endswith(form.ending):
            return name
    with open_bytes(path) as file:
        first = next((line for line in islice(file, 100) if line.strip()), b"")
    text = first.decode("utf-8", "replace").strip()
    for name, form in FORMATS.items():
        if re.match(form.line, text):
            return name
    raise TreeError(
        f"expected a file of one of the formats {', '.join(FORMATS)}, got one that begins with "
        f"{text[:40]!r}; if it is of one of them, name the format",
        file=path,
    )
