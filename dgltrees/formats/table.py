"""The table of file formats: what reads and writes each, and how to tell them apart."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields

from dgltrees._files import PathLike, in_file
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats.layout import Layout
from dgltrees.formats.lines import first_line, gather
from dgltrees.registry import Registry, instance_of
from dgltrees.trees.examples import Examples

__all__ = ["FORMATS", "TABLES", "Format", "check_layout", "format_by_suffix", "guess_format"]


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
        general: whether first lines of other formats match too; these then come first.
        dependencies: whether the trees are dependency trees, whose node 0 is ROOT.
        layout: the fields of a :class:`Layout` that ``stream`` reads.
        fits: whether a file with one of the suffixes, or a folder where there are none, looks like
            one of this format with a layout; None where that need not be asked.
        text: whether files are read from their beginning to their end, so that they may come from
            standard input.
    """

    description: str
    stream: Callable[..., Iterator[Examples]]
    write: Callable[[Examples, PathLike], None] | None = None
    suffixes: tuple[str, ...] = ()
    first_line: str | None = None
    general: bool = False
    dependencies: bool = False
    layout: tuple[str, ...] = ()
    fits: Callable[[PathLike, Layout], bool] | None = None
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
        :func:`~dgltrees.trees.examples.align` makes the same.

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
        check_layout(layout, self.layout, self.description)
        return self.stream(path, trees, *([layout] if self.layout else []))


def check_layout(layout: Layout, read: Collection[str], description: str) -> None:
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


TABLES = (".csv", ".parquet", ".arrow", ".feather")
"""Endings of the names of tables, which several formats have."""

FORMATS: Registry[Format] = Registry(
    "formats",
    {
        "jsonl": "dgltrees.formats.jsonl:JSONL",
        "nodes": "dgltrees.formats.nodes:NODES",
        "arrow": "dgltrees.formats.arrow:ARROW",
        "rows": "dgltrees.formats.rows:ROWS",
        "forest": "dgltrees.formats.folders:FOREST",
        "folder": "dgltrees.formats.folders:FOLDER",
        "json": "dgltrees.formats.documents:JSON",
        "json-records": "dgltrees.formats.json_records:JSON_RECORDS",
        "xml": "dgltrees.formats.documents:XML",
        "python": "dgltrees.formats.documents:PYTHON",
        "python-functions": "dgltrees.formats.python_functions:PYTHON_FUNCTIONS",
        "conllu": "dgltrees.formats.conllu:CONLLU",
        "logic": "dgltrees.formats.logic:LOGIC",
        "mrg": "dgltrees.formats.mrg:MRG",
    },
    instance_of(Format),
)
"""The file formats by name; :func:`guess_format` takes the first one that matches."""


def format_by_suffix(path: PathLike) -> str | None:
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
    for name, form in sorted(FORMATS.items(), key=lambda item: item[1].general):
        if form.first_line is not None and re.match(form.first_line, text):
            return name
    raise TreeError(
        f"expected a file of one of the formats {', '.join(FORMATS)}, got one that begins with "
        f"{text[:40]!r}; if it is of one of them, name the format",
        file=path,
    )
