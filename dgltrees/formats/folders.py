"""Folders: saved forests, and files of trees whose labels are the names of their folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.format import (
    FORMATS,
    Format,
    RecordLayout,
    check_layout,
    format_by_suffix,
    guess_format,
)
from dgltrees.formats.lines import gather
from dgltrees.formats.tables import Table
from dgltrees.formats.values import ID, as_example_columns
from dgltrees.trees.forest import Forest
from dgltrees.trees.labeled import LabeledTrees

LABELS = "labels.csv"


def stream_forest(path: PathLike, trees: int = 10_000) -> Iterator[LabeledTrees]:
    """Read the trees of a folder that :meth:`Forest.save <dgltrees.Forest.save>` wrote.

    They have the saved node columns, and no example columns.

    Raises:
        TreeError: see ``Forest.load``; or the forest has no tree.
    """
    forest = Forest.load(path)
    if len(forest) == 0:
        raise TreeError("expected at least one tree, got an empty forest", file=path)
    for start in range(0, len(forest), trees):
        yield LabeledTrees(forest[start : start + trees])


def write_forest(examples: LabeledTrees, path: PathLike) -> None:
    """Write trees for :func:`stream_forest`; TreeError for columns of examples, or pairs."""
    if examples.columns or examples.arity > 1:
        raise TreeError(
            f"expected only trees, got {examples.arity} per example and the example columns "
            f"{', '.join(examples.columns) or 'none'}; write Arrow, which holds columns"
        )
    examples.forest.save(path)


def stream_folder(
    path: PathLike,
    trees: int = 10_000,
    *,
    stream_of: Callable[[Path], Callable[[Path, int], Iterator[LabeledTrees]] | None],
    names: Sequence[str] = (),
) -> Iterator[LabeledTrees]:
    """Read the trees of all files of a folder and its subfolders, in the order of their paths.

    Files without the suffix of a format are ignored.

    Example columns: those of the files; ``file``, the path within the folder; and ``label``, the
    first folder on that path, if a file has no column ``label`` (missing for files in the folder
    itself). If the folder has a table ``labels.csv`` with a column ``file``, its other columns
    replace ``label``.

    Arguments:
        path: the folder.
        trees: the approximate number of trees per chunk.
        stream_of: returns the function that reads a file, by its suffix; None for no format.
        names: columns of ``labels.csv`` that hold names, even if their values look like numbers.

    Raises:
        TreeError: the folder has no such files; ``labels.csv`` has no column ``file``, lists a file
            twice or a file that does not exist, or has a column that a file has too; or an error of
            a file's format.
    """
    folder = Path(path)
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != LABELS)
    streams = [(file, stream) for file in files if (stream := stream_of(file)) is not None]
    if not streams:
        raise TreeError("expected a folder with files of trees, got one without any", file=path)
    labels = _Labels(folder, [file for file, _ in streams], names)
    parts: list[LabeledTrees] = []
    read: list[str] = []
    size = 0
    for file, stream in streams:
        for part in stream(file, trees - size):
            parts.append(labels.add(part, file))
            read.append(str(file))
            size += len(part)
            if size >= trees:
                yield gather(parts, read)
                parts, read, size = [], [], 0
    if parts:
        yield gather(parts, read)


class _Labels:
    """The columns of ``labels.csv``, or the labels from the names of folders."""

    def __init__(self, folder: Path, files: list[Path], names: Sequence[str]) -> None:
        self.folder = folder
        self.labeled: dict[Path, bool] = {}  # whether a file has labels of its own
        self.rows: dict[str, int] = {}
        self.columns: dict[str, NDArray[Any]] = {}
        path = folder / LABELS
        if not path.exists():
            return
        table = Table(path, [*names, ID])
        if "file" not in table.header:
            raise TreeError(
                f"expected a column 'file' among {', '.join(table.header)}", file=path, line=1
            )
        known = {file.relative_to(folder).as_posix() for file in files}
        for batch in table.batches(2**31):
            for row, (name, line) in enumerate(zip(batch.cells["file"], batch.lines.tolist())):
                if name not in known or name in self.rows:
                    got = "again" if name in self.rows else "which there is not"
                    raise TreeError(
                        f"expected every file of the folder once, got {name!r} {got}",
                        file=path,
                        line=line,
                    )
                self.rows[name] = row
            others = [name for name in table.header if name != "file"]
            columns = as_example_columns(table.columns(batch, others), batch.lines.tolist())
            self.columns = {n: c for n, c in columns.items() if n != "line"}

    def add(self, part: LabeledTrees, file: Path) -> LabeledTrees:
        """Return the examples of a file with its columns."""
        name = file.relative_to(self.folder).as_posix()
        columns: dict[str, Any] = {**part.columns, "file": np.full(len(part), name, object)}
        if not self.columns:
            if not self.labeled.setdefault(file, "label" in columns):
                if "label" in columns:
                    raise TreeError(
                        "expected labels in the first examples too, got none; add null there",
                        file=file,
                    )
                label = name.partition("/")[0] if "/" in name else None
                columns["label"] = np.full(len(part), label, object)
            return replace(part, columns=columns)
        row = self.rows.get(name)
        for key, column in self.columns.items():
            if key in columns:
                raise TreeError(
                    f"expected every column once, got {key!r} in {LABELS} and in this file; rename "
                    f"that of {LABELS}",
                    file=file,
                )
            texts = column.dtype == object
            value = column[row] if row is not None else None if texts else np.nan
            dtype = column.dtype if texts or row is not None else np.float64
            columns[key] = np.full(len(part), value, dtype)
        return replace(part, columns=columns)


def _stream_folder(path: PathLike, trees: int, layout: RecordLayout) -> Iterator[LabeledTrees]:
    """Read the trees of a folder; each file uses the fields of the layout that its format uses."""
    read = {"categorical_columns": None}  # of labels.csv

    def stream_of(file: Path) -> Callable[[Path, int], Iterator[LabeledTrees]] | None:
        if file.name == "forest.json":  # in the folder of a saved forest
            return lambda _, trees: stream_forest(file.parent, trees)
        if format_by_suffix(file) is None:
            return None
        name = guess_format(file, layout)
        if name == "json-records" and layout.children_key is None and not layout.paths:
            name = "json"  # most documents of the folder have no trees
        form = FORMATS[name]
        read.update(dict.fromkeys(form.layout))
        part = RecordLayout(**{name: getattr(layout, name) for name in form.layout})
        return partial(form.chunks, layout=part)

    parts = stream_folder(path, trees, stream_of=stream_of, names=layout.categorical_columns)
    for number, examples in enumerate(parts):
        if not number:  # by now all files have been looked at
            check_layout(layout, read, FORMATS["folder"].description)
        yield examples


def _first_records(path: PathLike, count: int) -> Iterator[Any]:
    """Parse the first records of the files of a folder that have records."""
    for file in sorted(p for p in Path(path).rglob("*") if p.is_file())[:count]:
        name = format_by_suffix(file)
        records = None if name is None else FORMATS[name].first_records
        if records is not None:
            yield from records(file, count)


FOREST = Format(
    "A folder that Forest.save wrote.",
    stream_forest,
    write_forest,
    fits=lambda path, _: (Path(path) / "forest.json").exists(),
    text=False,
)


FOLDER = Format(
    "A folder of files of trees, labelled by the folders in it or by labels.csv.",
    _stream_folder,
    layout=tuple(field.name for field in fields(RecordLayout)),
    fits=lambda path, _: os.path.isdir(path),
    text=False,
    first_records=_first_records,
)
