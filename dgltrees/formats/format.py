"""The file formats: what reads and writes each, how to tell them apart, and :func:`read`."""

from __future__ import annotations

import glob
import inspect
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any

from dgltrees._files import PathLike, in_file
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats.lines import check_chunk_size, files_of, first_line, gather
from dgltrees.registry import Registry, instance_of
from dgltrees.settings.values import suggestion
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.words import frequent_words, recode


@dataclass(frozen=True)
class RecordLayout:
    """Layout of a file: the keys or columns that hold the trees and their nodes.

    Every format reads some of the fields, see :attr:`dgltrees.formats.Format.layout`.
    """

    children: str = "children"
    """Key of the list of children in a node's object."""
    tree: str | list[str] | None = None
    """Path from a record to the root's object, with dots between keys, such as ``Plan`` or
    ``json.Plan``; by default the record itself is the root, or in a table what its column ``tree``
    or ``json`` holds. Two paths where a record holds a pair of trees."""
    tree_id: str | None = None
    """Column that tells the trees of a node table apart; by default ``tree`` or ``tree_id``."""
    node_id: str | None = None
    """Column of the ids of nodes; by default ``node``, ``node_id`` or ``id``. Beside ``depth`` it
    is read only if it is named, and rows are then sorted by it within their tree."""
    parent: str | None = None
    """Column with the id of each node's parent, empty at a root; by default ``parent`` or
    ``parent_id``. In Arrow files the column of lists of parents."""
    depth: str | None = None
    """Column with the depth of each node, whose rows are in preorder; by default ``depth``, if
    there is no column of parents."""
    names: tuple[str, ...] = ()
    """Columns that hold names even where they look like numbers, or hold both."""
    attributes: bool = False
    """Attributes of the elements of XML are nodes too: children ``@name`` with their value."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Each path of ``tree``; there is none where the record itself is the root."""
        return (self.tree,) if isinstance(self.tree, str) else tuple(self.tree or ())


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
        layout: the fields of a :class:`RecordLayout` that ``stream`` reads.
        fits: whether a file with one of the suffixes, or a folder where there are none, looks like
            one of this format with a layout; None where that need not be asked.
        text: whether files are read from their beginning to their end, so that they may come from
            standard input.
    """

    description: str
    stream: Callable[..., Iterator[LabeledTrees]]
    write: Callable[[LabeledTrees, PathLike], None] | None = None
    suffixes: tuple[str, ...] = ()
    first_line: str | None = None
    general: bool = False
    dependencies: bool = False
    layout: tuple[str, ...] = ()
    fits: Callable[[PathLike, RecordLayout], bool] | None = None
    text: bool = True

    def read(
        self,
        path: PathLike | Sequence[PathLike],
        trees: int = 10_000,
        layout: RecordLayout = RecordLayout(),
        **options: Any,
    ) -> LabeledTrees:
        """All examples of a file, read ``trees`` at a time; see :meth:`chunks`."""
        return gather(self.chunks(path, trees, layout, **options))

    def chunks(
        self,
        path: PathLike | Sequence[PathLike],
        trees: int = 10_000,
        layout: RecordLayout = RecordLayout(),
        **options: Any,
    ) -> Iterator[LabeledTrees]:
        """The examples of a file, about ``trees`` at a time.

        Chunks may differ in columns and vocabularies, which
        :func:`~dgltrees.trees.labeled.align` makes the same.

        Arguments:
            path: the file, or several.
            trees: examples per chunk.
            layout: where the trees are in the file, for formats that read that.
            **options: further arguments of ``stream``, such as ``vocabs``.

        Raises:
            TreeError: with the file, and the line where there is one: the file is not of this
                format.
            ConfigError: ``trees`` is below 1; the layout has a field that this format does not
                read and that is not the default; ``stream`` has no such option; or the format
                cannot be read from standard input.
        """
        if not self.text and isinstance(path, (str, os.PathLike)) and not in_file(path):
            able = ", ".join(name for name, form in FORMATS.items() if form.text)
            raise ConfigError(
                f"expected a file, got {os.fspath(path)}, from which only the formats {able} can "
                f"be read, and not: {self.description}"
            )
        check_chunk_size(trees)
        check_layout(layout, self.layout, self.description)
        arguments = inspect.signature(self.stream).parameters
        able_to = [n for n in arguments if arguments[n].kind is inspect.Parameter.KEYWORD_ONLY]
        for name in options:
            if name not in able_to:
                raise ConfigError(
                    f"expected options that this format reads ({', '.join(able_to) or 'none'}), "
                    f"got {name}; leave it out, or name another format than this: "
                    f"{self.description}"
                )
        rest = (trees, *([layout] if self.layout else []))
        if "paths" in arguments:  # which reads several itself
            return self.stream(path, *rest, **options)
        files = files_of(path)
        return chain.from_iterable(self.stream(file, *rest, **options) for file in files)


def check_layout(layout: RecordLayout, read: Collection[str], description: str) -> None:
    """Refuse fields of a layout that are not read."""
    other = sorted(
        field.name
        for field in fields(RecordLayout)
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
        "rows": "dgltrees.formats.tables:ROWS",
        "forest": "dgltrees.formats.folders:FOREST",
        "folder": "dgltrees.formats.folders:FOLDER",
        "json": "dgltrees.formats.documents:JSON",
        "json-records": "dgltrees.formats.jsonl:JSON_RECORDS",
        "xml": "dgltrees.formats.documents:XML",
        "python": "dgltrees.formats.documents:PYTHON",
        "python-functions": "dgltrees.formats.documents:PYTHON_FUNCTIONS",
        "conllu": "dgltrees.formats.conllu:CONLLU",
        "lrt": "dgltrees.formats.lrt:LRT",
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


def guess_format(path: PathLike, layout: RecordLayout = RecordLayout()) -> str:
    """The name of a file's format, by the ending of its name or else its first line.

    Where several formats have the same ending, and for folders, a look at the file decides, and
    what the layout says of it.

    Raises:
        TreeError: neither is that of a known format.
    """
    is_folder = os.path.isdir(path)
    if is_folder and os.path.exists(os.path.join(path, "run.json")):
        raise TreeError(
            "expected trees, got the directory of a trained run; dgltrees predict, evaluate and "
            "explain take it",
            file=path,
        )
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


def get_format(name: str, argument: str = "format") -> Format:
    """Return the format of a name.

    Arguments:
        name: a name in :data:`FORMATS`.
        argument: the name of the argument or setting, for the error.

    Raises:
        ConfigError: there is no such format.
    """
    if name in FORMATS:
        return FORMATS[name]
    cure = suggestion(name, FORMATS)
    if any(f".{name}" in form.suffixes for form in FORMATS.values()):
        cure = f"; leave it out, since the format of .{name} files is inferred"
    raise ConfigError(f"expected {argument} to be one of {', '.join(FORMATS)}, got {name!r}{cure}")


def read(
    path: PathLike | Sequence[PathLike],
    format: str | None = None,  # noqa: A002
    *,
    layout: RecordLayout = RecordLayout(),
    min_count: int = 1,
    **options: Any,
) -> LabeledTrees:
    """All examples of a file: ``read("trees.jsonl")``, ``read("a.conllu", lower=True)``.

    Arguments:
        path: the file or folder, or several.
        format: its format, a name in :data:`FORMATS`; by default :func:`guess_format` says it.
        layout: where the trees are in the file, for formats that read that.
        min_count: words that occur less often become ``<unk>``, and the vocabulary of words is
            frozen; 1, the default, keeps every word.
        **options: further arguments of the format's ``stream``, such as ``vocabs``.

    Raises:
        TreeError: with the file, and the line where there is one: it is not of the format.
        ConfigError: there is no such file or format, or it does not read the layout or an option;
            or ``min_count`` is below 1, or above 1 although ``vocabs`` has the words.
    """
    files = files_of(path)
    for file in files:
        if in_file(file) and not os.path.exists(file):
            cure = "; read takes no patterns, see glob.glob" if glob.has_magic(str(file)) else ""
            raise ConfigError(
                f"expected path to name a file, found none at {os.path.abspath(file)}{cure}"
            )
    chosen = get_format(format or guess_format(files[0], layout))
    if min_count < 1 or (min_count > 1 and "word" in (options.get("vocabs") or {})):
        raise ConfigError(
            f"expected min_count to be 1 where a vocabulary of words is given, and never less, "
            f"got {min_count}"
        )
    examples = chosen.read(path, layout=layout, **options)
    if min_count == 1:
        return examples
    words = frequent_words([examples.forest], min_count)
    return replace(examples, forest=recode(examples.forest, {"word": words}))
