"""The table of file formats: what reads and writes each, and how to tell them apart."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import Callable, Optional

from dgltrees._files import PathLike, in_file
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats.arrow import has_lists, stream_arrow, write_parquet
from dgltrees.formats.boolsent import stream_boolsent
from dgltrees.formats.conllu import stream_conllu, write_conllu
from dgltrees.formats.documents import stream_json, stream_python, stream_xml
from dgltrees.formats.dp import stream_dp
from dgltrees.formats.entailment import stream_entailment
from dgltrees.formats.folders import is_forest, stream_folder, stream_forest, write_forest
from dgltrees.formats.inex import stream_inex
from dgltrees.formats.json_records import stream_json_records
from dgltrees.formats.jsonl import stream_jsonl, write_jsonl
from dgltrees.formats.layout import Layout
from dgltrees.formats.lines import first_line, gather
from dgltrees.formats.listops import stream_listops, write_listops
from dgltrees.formats.logic import stream_logic, write_logic
from dgltrees.formats.mee import stream_mee
from dgltrees.formats.mrg import stream_mrg
from dgltrees.formats.nodes import is_node_table, stream_nodes
from dgltrees.formats.python_functions import stream_functions
from dgltrees.formats.rows import stream_rows
from dgltrees.formats.running_text import stream_running_text
from dgltrees.formats.sst import stream_sst
from dgltrees.formats.tables import Table
from dgltrees.formats.wikiqa import stream_wikiqa
from dgltrees.trees.examples import Examples

__all__ = ["FORMATS", "Format", "format_by_suffix", "guess_format"]


@dataclass(frozen=True)
class Format:
    """A file format.

    Arguments:
        description: what a file of this format looks like, in one sentence.
        stream: ``stream(path, trees)`` reads a file, about ``trees`` examples at a time;
            ``stream(path, trees, layout)`` where the format reads a layout.
        write: ``write(examples, path)`` writes a file that ``stream`` reads back; None where the
            package does not write the format.
        suffixes: endings of the names of such files.
        first_line: a regular expression that matches the first line of such files that is not
            blank; None where a first line tells nothing.
        dependencies: whether the trees are dependency trees, whose node 0 is ROOT.
        layout: the fields of a :class:`Layout` that ``stream`` reads.
        fits: whether a file with one of the suffixes, or a folder where there are none, looks like
            one of this format with a layout; None where that need not be asked.
        text: whether files are read from their beginning to their end, so that they may come from
            standard input.
    """

    description: str
    stream: Callable[..., Iterator[Examples]]
    write: Optional[Callable[[Examples, PathLike], None]] = None
    suffixes: tuple[str, ...] = ()
    first_line: Optional[str] = None
    dependencies: bool = False
    layout: tuple[str, ...] = ()
    fits: Optional[Callable[[PathLike, Layout], bool]] = None
    text: bool = True

    def read(
        self,
        path: PathLike,
        trees: int = 10_000,
        layout: Layout = Layout(),  # noqa: B008
    ) -> Examples:
        """All examples of a file, read ``trees`` at a time; see :meth:`chunks`."""
        return gather(self.chunks(path, trees, layout))

    def chunks(
        self,
        path: PathLike,
        trees: int = 10_000,
        layout: Layout = Layout(),  # noqa: B008
    ) -> Iterator[Examples]:
        """The examples of a file, about ``trees`` at a time.

        Chunks may differ in columns and vocabularies, which
        :func:`~dgltrees.trees.align.align` makes the same.

        Arguments:
            path: the file.
            trees: examples per chunk.
            layout: where the trees stand in the file, for formats that read that.

        Raises:
            TreeError: with the file, and the line where there is one: the file is not of this
                format.
            ConfigError: ``trees`` is below 1; the layout has a field that this format does not
                read and that is not the default; or the format cannot be read from standard input.
        """
        if not (self.text or in_file(path)):
            able = ", ".join(name for name, form in FORMATS.items() if form.text)
            raise ConfigError(
                f"expected a file, got {os.fspath(path)}, from which only the formats {able} can "
                f"be read, and not: {self.description}"
            )
        _check_layout(layout, self.layout, self.description)
        return self.stream(path, trees, *([layout] if self.layout else []))


def _check_layout(layout: Layout, read: Collection[str], description: str) -> None:
    """Refuse fields of a layout that are not read."""
    other = sorted(
        field.name
        for field in fields(Layout)
        if field.name not in read
        and (getattr(layout, field.name) or field.default) != field.default
    )
    if other:
        reads = ", ".join(read) or "none"
        raise ConfigError(
            f"expected a layout of what this format reads ({reads}), got {', '.join(other)}; "
            f"leave it out, or name another format than this: {description}"
        )


def _write_conllu(examples: Examples, path: PathLike) -> None:
    write_conllu(examples.forest, path)


TABLES = (".csv", ".parquet", ".arrow", ".feather")


def _stream_folder(path: PathLike, trees: int, layout: Layout) -> Iterator[Examples]:
    """The trees of a folder; each file reads of the layout what its format does."""
    read = {"names": None}  # of labels.csv

    def stream_of(file: PathLike) -> Optional[Callable[[PathLike, int], Iterator[Examples]]]:
        if format_by_suffix(file) is None:
            return None
        form = FORMATS[guess_format(file, layout)]
        read.update(dict.fromkeys(form.layout))
        part = Layout(**{name: getattr(layout, name) for name in form.layout})
        return partial(form.chunks, layout=part)

    parts = stream_folder(path, trees, stream_of=stream_of, names=layout.names)
    for number, examples in enumerate(parts):
        if not number:  # by now all files have been looked at
            _check_layout(layout, read, FORMATS["folder"].description)
        yield examples


def _has_lists(path: PathLike, layout: Layout) -> bool:
    return has_lists(path, layout.parent or "parent")


FORMATS = {
    "jsonl": Format(
        "JSON Lines, a record per line, with a tree of objects in objects.",
        stream_jsonl,
        write_jsonl,
        suffixes=(".jsonl", ".ndjson"),
        first_line=r"\[?\{.*\}\]?$",
        layout=("children", "tree", "names"),
    ),
    "nodes": Format(
        "Node tables, a row per node with its tree and its parent or depth: CSV or Parquet.",
        stream_nodes,
        suffixes=(*TABLES, ".tsv"),
        layout=("tree_id", "node_id", "parent", "depth", "names"),
        fits=lambda path, layout: (
            not _has_lists(path, layout) and is_node_table(Table(path).header, layout)
        ),
        text=False,
    ),
    "arrow": Format(
        "Parquet or Arrow, a row per tree with lists of the parents and values of its nodes.",
        stream_arrow,
        write_parquet,
        suffixes=TABLES,
        layout=("parent", "names"),
        fits=_has_lists,
        text=False,
    ),
    "rows": Format(
        "Tables with a row per tree, which a column holds as JSON: CSV or Parquet.",
        stream_rows,
        suffixes=TABLES,
        layout=("tree", "children", "names"),
        text=False,
    ),
    "forest": Format(
        "A folder that Forest.save wrote.",
        stream_forest,
        write_forest,
        fits=lambda path, _: is_forest(path),
        text=False,
    ),
    "folder": Format(
        "A folder of files of trees, labelled by the folders in it or by labels.csv.",
        _stream_folder,
        layout=tuple(field.name for field in fields(Layout)),
        fits=lambda path, _: os.path.isdir(path),
        text=False,
    ),
    "json": Format("A JSON document, which is one tree.", stream_json, suffixes=(".json",)),
    "json-records": Format(
        "A JSON document that is a list of records, each with a tree of objects in objects.",
        stream_json_records,
        layout=("children", "tree", "names"),
    ),
    "xml": Format(
        "An XML document, which is one tree.",
        stream_xml,
        suffixes=(".xml",),
        layout=("attributes",),
    ),
    "python": Format("Python source, whose syntax is one tree.", stream_python, suffixes=(".py",)),
    "python-functions": Format(
        "Python source, or a folder of it, each of whose functions is a tree.",
        stream_functions,
        text=False,
    ),
    "conllu": Format(
        "Dependency trees as CoNLL-U or CoNLL-X, a word per line in ten columns.",
        partial(stream_conllu, single_root=False),
        _write_conllu,
        suffixes=(".conllu", ".conll"),
        first_line=r"# ?\w+.* = |1(-\d+)?\t([^\t]+\t){8}",
        dependencies=True,
    ),
    "dp": Format(
        "Dependency trees, a word per line: word TAB tag TAB head.",
        partial(stream_dp, single_root=False),
        suffixes=(".dp",),
        dependencies=True,
    ),
    "listops": Format(
        "ListOps, a line per example: value TAB expression.",
        partial(stream_listops, max_children=None),
        write_listops,
        first_line=r"\d\t[^\t]*$|Source\tTarget",
    ),
    "logic": Format(
        "Logical relations, a line per pair: relation TAB sentence TAB sentence.",
        stream_logic,
        write_logic,
        first_line=r"[#<>v|=^]\t.*\t",
    ),
    "inex": Format(
        "Structures of XML documents, a line per tree: class:label(child child ...).",
        stream_inex,
        first_line=r"\d+:\d+\(",
    ),
    "boolsent": Format(
        "Boolean expressions, one per line: (1_AND 1 (1_OR 0 1 ) ).",
        stream_boolsent,
        first_line=r"\([01]_[A-Z]|[01]\s*$",
    ),
    "sst": Format(
        "The Stanford Sentiment Treebank, a tree per line: (3 (2 so) (4 good)).",
        stream_sst,
        first_line=r"\([0-4] |\(.*\([^\s()]+\)",  # or words in brackets of their own
    ),
    "mrg": Format(
        "Constituent trees in the brackets of the Penn Treebank: ( (S (VB Go) )).",
        stream_mrg,
        suffixes=(".mrg",),
        first_line=r"\(",
    ),
    "mee": Format(
        "Math expressions as chains of characters, a line each: value TAB expression.", stream_mee
    ),
    "entailment": Format(
        "Pairs of sentences as chains of words: the files of SNLI and SICK.", stream_entailment
    ),
    "wikiqa": Format(
        "Questions and sentences as chains of words: the files of WikiQA.", stream_wikiqa
    ),
    "text": Format(
        "Sentences as chains of words, one per line, spaces between words.", stream_running_text
    ),
}
"""The file formats by name; :func:`guess_format` takes the first one that matches."""


def format_by_suffix(path: PathLike) -> Optional[str]:
    """The name of the format whose files' names end as this one; None if there is none."""
    return next((name for name, form in FORMATS.items() if _ends(path, form)), None)


def _ends(path: PathLike, form: Format) -> bool:
    file = str(path)
    return (file[:-3] if file.endswith(".gz") else file).endswith(form.suffixes)


def guess_format(path: PathLike, layout: Layout = Layout()) -> str:  # noqa: B008
    """The name of a file's format, by the ending of its name or else its first line.

    Where several formats have the same ending, and for folders, a look at the file decides, and
    what the layout says of it.

    Raises:
        TreeError: neither is that of a known format.
    """
    is_folder = os.path.isdir(path)
    for name, form in FORMATS.items():
        matches = bool(form.fits and not form.suffixes) if is_folder else _ends(path, form)
        if matches and (form.fits is None or form.fits(path, layout)):
            return name
    text = first_line(path)
    for name, form in FORMATS.items():
        if form.first_line is not None and re.match(form.first_line, text):
            return name
    raise TreeError(
        f"expected a file of one of the formats {', '.join(FORMATS)}, got one that begins with "
        f"{text[:40]!r}; if it is of one of them, name the format",
        file=path,
    )
