"""File formats: how to recognize, read and write each, and :func:`read`."""

from __future__ import annotations

import glob
import inspect
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any

from dgltrees._collector import without_collector
from dgltrees._files import PathLike, in_file
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats.lines import check_chunk_size, empty_file, files_of, first_line, gather
from dgltrees.formats.records import RecordLayout as RecordLayout
from dgltrees.formats.records import complete, numbered, stream_records
from dgltrees.registry import Registry, instance_of
from dgltrees.settings.values import suggestion
from dgltrees.trees.forest import Forest
from dgltrees.trees.labeled import LabeledTrees, encode_like
from dgltrees.trees.vocabulary import freeze_new
from dgltrees.trees.words import frequent_words, recode


@dataclass(frozen=True)
class Format:
    """A file format, a row of :data:`FORMATS`.

    Arguments:
        description: the content of a file of this format, in one sentence.
        stream: ``stream(path, trees)`` reads a file, about ``trees`` examples at a time;
            ``stream(path, trees, layout)`` if the format uses a layout. None if ``records``
            suffice.
        write: ``write(examples, path)`` writes a file that ``stream`` can read; None if the package
            cannot write the format.
        suffixes: the suffixes of such files.
        first_line: a regular expression for the first line that is not blank; None if a first line
            does not identify the format.
        general: whether the first lines of other formats match too; these then take precedence.
        layout: the fields of a :class:`RecordLayout` that ``stream`` uses.
        fits: whether a file with one of the suffixes (a folder if there are none) is of this
            format, given a layout; None if the suffix suffices.
        text: whether files are read from beginning to end, so that standard input works too.
        records: ``records(path)`` iterates over the records of JSON of a file with their lines,
            from which a layout is inferred; None if the format has no such records.
        numbers: whether a node column of strings which are all numbers becomes numbers.
    """

    description: str
    stream: Callable[..., Iterator[LabeledTrees]] | None = None
    write: Callable[[LabeledTrees, PathLike], None] | None = None
    suffixes: tuple[str, ...] = ()
    first_line: str | None = None
    general: bool = False
    layout: tuple[str, ...] = ()
    fits: Callable[[PathLike, RecordLayout], bool] | None = None
    text: bool = True
    records: Callable[[PathLike], Iterator[tuple[int, Any]]] | None = None
    numbers: bool = False

    def complete_layout(self, paths: Sequence[PathLike], layout: RecordLayout) -> RecordLayout:
        """Infer the fields of a layout that are not set from all records of files.

        Arguments:
            paths: the files.
            layout: the layout.

        Returns:
            the layout, unchanged if its fields are set, the format has no records, or a file can be
            read only once.

        Raises:
            TreeError: the records do not decide where the trees are.

        Example:
            >>> from pathlib import Path
            >>> _ = Path("plans.jsonl").write_text('{"plan": {"inputs": [{}, {}]}, "seconds": 1}')
            >>> layout = FORMATS["jsonl"].complete_layout(["plans.jsonl"], RecordLayout())
            >>> layout.tree_path, layout.children_key
            ('plan', 'inputs')
        """
        if self.records is None or not all(map(in_file, paths)):
            return layout
        records = chain.from_iterable(map(self.records, paths))
        folder = os.path.isdir(paths[0])  # not all documents of a folder need to have trees
        with without_collector():
            return complete(layout, (record for _, record in records), sure=0.5 if folder else 0.0)

    def read(
        self,
        path: PathLike | Sequence[PathLike],
        trees: int = 10_000,
        layout: RecordLayout = RecordLayout(),
        names: Collection[str] = (),
        **options: Any,
    ) -> LabeledTrees:
        """Read all examples of a file, ``trees`` at a time.

        Arguments:
            path: the file, or several.
            trees: examples per chunk, which are then joined.
            layout: see :meth:`chunks`.
            names: node columns of strings that stay names, even if all of them are numbers.
            **options: see :meth:`chunks`.

        Returns:
            one data set of all examples.

        Raises:
            TreeError: see :meth:`chunks`.
            ConfigError: see :meth:`chunks`.
        """
        with without_collector():
            examples = gather(self.chunks(path, trees, layout, **options))
            if not self.numbers:
                return examples
            return numbered(examples, [*layout.categorical_columns, *names])

    def chunks(
        self,
        path: PathLike | Sequence[PathLike],
        trees: int = 10_000,
        layout: RecordLayout = RecordLayout(),
        **options: Any,
    ) -> Iterator[LabeledTrees]:
        """Read the examples of a file, about ``trees`` at a time.

        Chunks may differ in columns and vocabularies; :func:`~dgltrees.trees.labeled.align` makes
        them equal.

        Arguments:
            path: the file, or several.
            trees: examples per chunk.
            layout: the keys or columns of the trees, for formats that use a layout.
            **options: further arguments of ``stream``, such as ``vocabs``.

        Returns:
            an iterator over chunks.

        Raises:
            TreeError: the file is not of this format; the error names file and line.
            ConfigError: ``trees`` is below 1; this format does not use a field of the layout that
                is set; ``stream`` has no such option; or the format cannot be read from standard
                input.
        """
        files = files_of(path)
        once = next((file for file in files if not in_file(file)), None)
        if not self.text and once is not None:
            able = ", ".join(name for name, form in FORMATS.items() if form.text)
            raise ConfigError(
                f"expected a file, got {os.fspath(once)}; only these formats can be read from it: "
                f"{able}"
            )
        check_chunk_size(trees)
        check_layout(layout, self.layout, self.description)
        arguments = {} if self.stream is None else inspect.signature(self.stream).parameters
        able_to = [n for n in arguments if arguments[n].kind is inspect.Parameter.KEYWORD_ONLY]
        for name in options:
            if name not in able_to:
                raise ConfigError(
                    f"expected options of this format ({', '.join(able_to) or 'none'}), got "
                    f"{name}; leave it out, or name another format than this one: "
                    f"{self.description}"
                )
        if self.stream is not None and "paths" in arguments:  # which reads several itself
            return self.stream(path, trees, **options)
        layout = self.complete_layout(files, layout)
        return chain.from_iterable(self._parts(file, trees, layout, options) for file in files)

    def _parts(
        self, path: PathLike, trees: int, layout: RecordLayout, options: Mapping[str, Any]
    ) -> Iterator[LabeledTrees]:
        """Read a file; a fault that its reader does not describe is an error with the file."""
        try:
            if self.stream is not None:
                rest = (trees, *([layout] if self.layout else []))
                yield from self.stream(path, *rest, **options)
            else:
                assert self.records is not None
                yield from stream_records(path, self.records(path), layout, trees)
        except (TreeError, ConfigError, OSError, MemoryError, Warning):
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            expected = self.description.rstrip(".")
            raise TreeError(f"expected {expected}, got: {what}", file=path) from error


def check_layout(layout: RecordLayout, read: Collection[str], description: str) -> None:
    """Raise ConfigError if a field of a layout is set that the format does not use."""
    other = sorted(
        field.name
        for field in fields(RecordLayout)
        if field.name not in read
        and (getattr(layout, field.name) or field.default) != field.default
    )
    if other:
        reads = ", ".join(read) or "none"
        raise ConfigError(
            f"expected a layout with fields of this format ({reads}), got {', '.join(other)}; "
            f"leave it out, or name another format than this one: {description}"
        )


TABLES = (".csv", ".parquet", ".arrow", ".feather")
"""Suffixes of tables, which several formats share."""

FORMATS: Registry[Format] = Registry(
    "formats",
    {
        "jsonl": "dgltrees.formats.jsonl:JSONL",
        "nodes": "dgltrees.formats.nodes:NODES",
        "arrow": "dgltrees.formats.arrow:ARROW",
        "rows": "dgltrees.formats.tables:ROWS",
        "forest": "dgltrees.formats.folders:FOREST",
        "folder": "dgltrees.formats.folders:FOLDER",
        "json-records": "dgltrees.formats.jsonl:JSON_RECORDS",
        "json": "dgltrees.formats.documents:JSON",
        "xml": "dgltrees.formats.documents:XML",
        "python": "dgltrees.formats.documents:PYTHON",
        "python-functions": "dgltrees.formats.documents:PYTHON_FUNCTIONS",
        "conllu": "dgltrees.formats.conllu:CONLLU",
        "lrt": "dgltrees.formats.lrt:LRT",
        "mrg": "dgltrees.formats.mrg:MRG",
    },
    instance_of(Format),
)
"""The file formats by name; :func:`guess_format` returns the first one that matches."""


def format_by_suffix(path: PathLike) -> str | None:
    """Look up the format with the suffix of a file.

    Arguments:
        path: the file; its content is not read.

    Returns:
        a name in :data:`FORMATS`, or None.

    Example:
        >>> format_by_suffix("trees.conllu")
        'conllu'
    """
    return next((name for name, form in FORMATS.items() if _ends(path, form)), None)


def _ends(path: PathLike, form: Format) -> bool:
    file = str(path)
    return (file[:-3] if file.endswith(".gz") else file).endswith(form.suffixes)


def guess_format(path: PathLike, layout: RecordLayout = RecordLayout()) -> str:
    """Infer the format of a file from its suffix, otherwise from its first line.

    For folders, and if several formats have the same suffix, the content of the file and the layout
    decide.

    Arguments:
        path: the file or folder.
        layout: the keys or columns of the trees.

    Returns:
        a name in :data:`FORMATS`.

    Raises:
        TreeError: the format is unknown.
    """
    is_folder = os.path.isdir(path)
    if is_folder and os.path.exists(os.path.join(path, "run.json")):
        raise TreeError(
            "expected trees, got the directory of a trained run; dgltrees predict, evaluate and "
            "explain take it",
            file=path,
        )
    once = not in_file(path)  # and looked at once
    for name, form in FORMATS.items():
        matches = bool(form.fits and not form.suffixes) if is_folder else _ends(path, form)
        if not form.text and once:
            continue
        if matches and (form.fits is None or form.fits(path, layout)):
            return name
    text = first_line(path)
    if not text:
        raise empty_file(path)
    for name, form in sorted(FORMATS.items(), key=lambda item: item[1].general):
        if form.first_line is not None and re.match(form.first_line, text):
            return name
    raise TreeError(
        f"expected a file of one of the formats {', '.join(FORMATS)}, got one that begins with "
        f"{text[:40]!r}; if it is of one of them, name the format",
        file=path,
    )


def get_format(name: str, argument: str = "format") -> Format:
    """Return a format by name.

    Arguments:
        name: a name in :data:`FORMATS`.
        argument: the name of the argument or setting, for the error.

    Returns:
        the format.

    Raises:
        ConfigError: the format does not exist.
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
    min_freq: int = 1,
    like: LabeledTrees | Forest | None = None,
    **options: Any,
) -> LabeledTrees:
    """Read all examples of a file.

    The vocabularies of the trees are frozen. A second file, such as one for validation, is read
    with those of the first: ``read("dev.txt", like=train)``.

    Arguments:
        path: the file or folder, or several.
        format: a name in :data:`FORMATS`; default: see :func:`guess_format`.
        layout: the keys or columns of the trees, for formats that use a layout.
        min_freq: words that occur less often become ``<unk>``, and the vocabulary of words is
            frozen; with 1 every word is kept.
        like: a data set whose columns, vocabularies, classes, layout and options are used again,
            such as the training data. Its vocabularies get the name ``<unk>``, if they have no
            unknown name, which replaces every name that they do not have. Columns that it lacks are
            left out.
        **options: fields of the layout, such as ``tree_id``, or further arguments of the format,
            such as ``vocabs``, or ``lower`` for CoNLL-U.

    Returns:
        the trees and the columns of the examples.

    Raises:
        TreeError: the file is not of the format; the error names file and line.
        ConfigError: the file or format does not exist, or the format does not use the layout or an
            option; or ``min_freq`` is below 1, or above 1 although ``vocabs`` or ``like`` has the
            words; or there are both ``vocabs`` and ``like``.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("plans.jsonl").write_text('{"op": "join", "children": [{"op": "scan"}]}')
        >>> read("plans.jsonl").forest
        Forest(1 tree, 2 nodes, columns: op (2 names))
    """
    of_layout = [each.name for each in fields(RecordLayout) if each.name in options]
    layout = replace(layout, **{name: options.pop(name) for name in of_layout})
    files = files_of(path)
    for file in files:
        if in_file(file) and not os.path.exists(file):
            cure = "; read takes no patterns, see glob.glob" if glob.has_magic(str(file)) else ""
            raise ConfigError(
                f"expected path to name a file, found none at {os.path.abspath(file)}{cure}"
            )
    given = options.get("vocabs") or {}
    other = LabeledTrees(like) if isinstance(like, Forest) else like
    names: Collection[str] = ()
    known = asked = layout
    if other is not None:
        if "vocabs" in options:
            raise ConfigError("expected vocabs or like, got both; leave one of the two out")
        known = _filled(layout, other.reading.get("layout", layout))
    name = format or guess_format(files[0], known)
    chosen = get_format(name)
    if other is not None:
        layout = replace(asked, **{field: getattr(known, field) for field in chosen.layout})
        names = other.forest.vocabs
        if "categorical_columns" in chosen.layout:
            as_names = (*layout.categorical_columns, *names)
            layout = replace(layout, categorical_columns=as_names)
        if "missing" in chosen.layout:
            options["numbers"] = [n for n in other.forest.columns if n not in names]
        if name == other.reading.get("format"):
            options = {**other.reading["options"], **options}
    if min_freq < 1 or (min_freq > 1 and ("word" in given or other is not None)):
        raise ConfigError(
            f"expected min_freq to be 1 where a vocabulary of words is given, and never less, "
            f"got {min_freq}"
        )
    layout = chosen.complete_layout(files, layout)
    examples = chosen.read(path, layout=layout, names=names, **options)
    if other is not None:
        examples = encode_like(examples, other, ["like", os.fspath(files[0])])
    if min_freq > 1:
        words = frequent_words([examples.forest], min_freq)
        examples = replace(examples, forest=recode(examples.forest, {"word": words}))
    freeze_new(examples.forest.vocabs, given)
    rest = {key: value for key, value in options.items() if key not in ("vocabs", "numbers")}
    return replace(examples, reading={"format": name, "layout": layout, "options": rest})


def _filled(layout: RecordLayout, other: RecordLayout) -> RecordLayout:
    """Return a layout with the fields of another one where it has its default."""
    unset = [each.name for each in fields(layout) if getattr(layout, each.name) == each.default]
    return replace(layout, **{name: getattr(other, name) for name in unset})
