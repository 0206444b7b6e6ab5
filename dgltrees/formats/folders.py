"""Folders: saved forests, and files of trees whose labels are the names of their folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
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
from dgltrees.formats.values import check_writable
from dgltrees.trees.columns import name_of
from dgltrees.trees.forest import Forest
from dgltrees.trees.labeled import LabeledTrees, align
from dgltrees.trees.saved import ForestWriter, load_arrays
from dgltrees.trees.vocabulary import Vocabulary


def stream_forest(path: PathLike, trees: int = 10_000) -> Iterator[LabeledTrees]:
    """Read the trees of a folder that :func:`write_forest` wrote.

    They have the saved node columns and example columns.
    """
    forest, saved = Forest.load(path), load_arrays(Path(path), mmap=True)
    if len(forest) == 0:
        raise TreeError("expected at least one tree, got an empty forest", file=path)
    columns = {name: np.array(column) for name, column in saved["examples"].items()}
    for name, vocab in saved["texts"].items():
        columns[name] = np.array([*vocab.names, None], object)[columns[name]]
    data = LabeledTrees(forest, columns, int(saved["arity"]))
    for start in range(0, len(data), trees):
        yield data if trees >= len(data) else data[start : start + trees]


def write_forest(examples: LabeledTrees | Iterable[LabeledTrees], path: PathLike) -> None:
    """Write trees to a folder, which can be larger than memory.

    :func:`stream_forest` reads them, :meth:`Forest.load <dgltrees.Forest.load>` memory-maps their
    nodes, and ``data.train`` takes the folder.

    Arguments:
        examples: the trees with their example columns, or parts of them as
            :meth:`Format.chunks <dgltrees.formats.format.Format.chunks>` returns, which are written
            one after the other.
        path: the folder.

    Raises:
        TreeError: a part has other kinds of columns than an earlier one, or no part has a tree.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("plans.jsonl").write_text('{"op": "join", "children": [{"op": "scan"}]}')
        >>> write_forest(FORMATS["jsonl"].chunks("plans.jsonl"), "plans")
        >>> Forest.load("plans")
        Forest(1 tree, 2 nodes, columns: op (2 names))
    """
    Path(path).mkdir(parents=True, exist_ok=True)
    texts: dict[str, Vocabulary] = {}
    before: list[LabeledTrees] = []
    with ForestWriter(path) as writer:
        for part in [examples] if isinstance(examples, LabeledTrees) else examples:
            check_writable(part)
            part = align([*before, part])[-1]
            columns = {name: c for name, c in part.columns.items() if name != "line"}
            if "target" in columns and len(part.targets):
                names = np.array([*part.targets.names, None], object)
                columns["target"] = names[columns["target"]]
            for name, column in columns.items():
                if column.dtype.kind in "OUS":
                    vocab = texts.setdefault(name, Vocabulary())
                    columns[name] = vocab.encode([*map(name_of, column.tolist())])
            writer.add(part.forest, columns)
            before = [part.select([])]
        if not before:
            raise TreeError("expected at least one part with trees, got none", file=path)
        writer.save(before[0].arity, texts)


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


def _stream_folder(
    path: PathLike, trees: int, layout: RecordLayout, *, numbers: Collection[str] = ()
) -> Iterator[LabeledTrees]:
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
        if name == "json-records" and not layout.keys and not layout.paths:
            name = "json"  # most documents of the folder have no trees
        form = FORMATS[name]
        read.update(dict.fromkeys(form.layout))
        part = RecordLayout(**{name: getattr(layout, name) for name in form.layout})
        options: dict[str, Any] = {"numbers": numbers} if "missing" in form.layout else {}
        return partial(form.chunks, layout=part, **options)

    for number, examples in enumerate(stream_folder(path, trees, stream_of=stream_of)):
        if not number:  # by now all files have been looked at
            check_layout(layout, read, FORMATS["folder"].description)
        yield examples


def _records(path: PathLike) -> Iterator[tuple[int, Any]]:
    """Iterate over the records of the files of a folder that have records."""
    for file in sorted(p for p in Path(path).rglob("*") if p.is_file()):
        name = format_by_suffix(file)
        records = None if name is None else FORMATS[name].records
        if records is not None:
            yield from records(file)


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
    records=_records,
    numbers=True,
)
