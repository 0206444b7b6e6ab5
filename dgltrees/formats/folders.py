"""Folders: saved forests, and files of trees whose labels are the names of their folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

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
from dgltrees.trees.forest import Forest
from dgltrees.trees.labeled import LabeledTrees


def stream_forest(path: PathLike, trees: int = 10_000) -> Iterator[LabeledTrees]:
    """Read the trees of a folder that :meth:`Forest.save <dgltrees.Forest.save>` wrote.

    They have the saved node columns, and no example columns.
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
) -> Iterator[LabeledTrees]:
    """Read the trees of all files of a folder and its subfolders, in the order of their paths.

    Files without the suffix of a format are ignored.

    Example columns: those of the files; ``file``, the path within the folder; and ``label``, the
    first folder on that path, if a file has no column ``label`` (missing for files in the folder
    itself).
    """
    folder = Path(path)
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    streams = [(file, stream) for file in files if (stream := stream_of(file)) is not None]
    if not streams:
        endings = sorted({file.suffix or file.name for file in files})
        raise TreeError(
            "expected a folder with files of trees, got one without any"
            + f"; its files end in {', '.join(endings):.100}" * bool(files),
            file=path,
        )
    parts: list[LabeledTrees] = []
    read: list[str] = []
    size = 0
    for file, stream in streams:
        name, labeled = file.relative_to(folder).as_posix(), None
        for part in stream(file, trees - size):
            labeled = "label" in part.columns if labeled is None else labeled
            parts.append(_with_labels(part, file, name, labeled))
            read.append(str(file))
            size += len(part)
            if size >= trees:
                yield gather(parts, read)
                parts, read, size = [], [], 0
    if parts:
        yield gather(parts, read)


def _with_labels(part: LabeledTrees, file: Path, name: str, labeled: bool) -> LabeledTrees:
    """Return the examples of a file with the columns ``file`` and ``label``."""
    columns = {**part.columns, "file": np.full(len(part), name, object)}
    if not labeled:
        if "label" in columns:
            raise TreeError(
                "expected labels in the first examples too, got none; add null there", file=file
            )
        label = name.partition("/")[0] if "/" in name else None
        columns["label"] = np.full(len(part), label, object)
    return replace(part, columns=columns)


def _stream_folder(path: PathLike, trees: int, layout: RecordLayout) -> Iterator[LabeledTrees]:
    """Read the trees of a folder; each file uses the fields of the layout that its format uses.

    If no file has the suffix of a format, the first lines of the files decide.
    """
    read: dict[str, None] = {}
    have_suffixes = any(map(format_by_suffix, Path(path).rglob("*")))

    def stream_of(file: Path) -> Callable[[Path, int], Iterator[LabeledTrees]] | None:
        if file.name == "forest.json":  # in the folder of a saved forest
            return lambda _, trees: stream_forest(file.parent, trees)
        if have_suffixes and format_by_suffix(file) is None:
            return None
        try:
            name = guess_format(file, layout)
        except TreeError:
            if have_suffixes:
                raise
            return None
        if name == "json-records" and layout.children_key is None and not layout.paths:
            name = "json"  # most documents of the folder have no trees
        form = FORMATS[name]
        read.update(dict.fromkeys(form.layout))
        part = RecordLayout(**{name: getattr(layout, name) for name in form.layout})
        return partial(form.chunks, layout=part)

    for number, examples in enumerate(stream_folder(path, trees, stream_of=stream_of)):
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
    "A folder of files of trees, labelled by the folders in it.",
    _stream_folder,
    layout=tuple(field.name for field in fields(RecordLayout)),
    fits=lambda path, _: os.path.isdir(path),
    text=False,
    first_records=_first_records,
)
