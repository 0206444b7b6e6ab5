"""Forests on disk: written part by part, and memory-mapped."""

from __future__ import annotations

import json
import tempfile
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib.format import open_memmap, read_array, write_array_header_1_0
from numpy.typing import NDArray

from dgltrees._files import (
    PathLike,
    check_is_file,
    checked_values,
    file_names,
    replacing,
    with_checksum,
)
from dgltrees.errors import TreeError
from dgltrees.trees.segments import blocks, offsets_of
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dgltrees.trees.forest import Forest

_VERSION = 3
_INDEX = "forest.json"
_STRUCTURE = ("parent", "pos", "depth")
_LARGE = 2**20  # nodes of a forest on disk from which what is made of it is on disk too
_PART = 10_000  # trees in memory at a time

_DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, OSError),
    *(RecursionError, SyntaxError, TypeError, ValueError, tokenize.TokenError),
)


def with_ids(forest: Forest) -> Forest:
    """Encode strings in arrays of objects, which may be missing, as ids with a vocabulary."""
    columns, vocabs = dict(forest.columns), dict(forest.vocabs)
    for name, column in forest.columns.items():
        if column.dtype == object:
            names = [None if v is None or v != v else v for v in column.tolist()]
            if {*map(type, names)} <= {str, type(None)}:
                vocabs[name] = Vocabulary()
                columns[name] = vocabs[name].encode(names)
    return forest.with_columns(columns, vocabs)


def is_on_disk(forest: Forest) -> bool:
    """Return whether the nodes of a forest are memory-mapped."""
    return isinstance(forest.parent, np.memmap)


def in_parts(
    forest: Forest, change: Callable[[Forest], Forest], ids: NDArray[np.int64] | None = None
) -> Forest:
    """Return the result of a function of a forest, or of its trees ``ids``.

    Of many trees on disk it is computed part by part. It is then in temporary files, which the
    operating system deletes when no array uses them any more.
    """
    sizes = forest.sizes if ids is None else forest.sizes.take(ids, mode="wrap")
    if not is_on_disk(forest) or int(sizes.sum()) <= _LARGE:
        return change(forest if ids is None else forest._taken(ids))
    ids = np.arange(len(forest)) if ids is None else ids
    with ForestWriter(tempfile.gettempdir()) as writer:
        for at in range(0, len(ids), _PART):
            try:
                writer.add(change(forest._taken(ids[at : at + _PART])))
            except TreeError as error:
                tree = None if error.tree is None else error.tree + at
                place: dict[str, Any] = {"line": error.line, "tree": tree, "node": error.node}
                raise TreeError(error.message, file=error.file, **place) from None
        return writer.forest()


def joined_on_disk(forests: Sequence[Forest]) -> Forest:
    """Join forests with equal columns and vocabularies in temporary files."""
    with ForestWriter(tempfile.gettempdir()) as writer:
        for forest in forests:
            writer.add(forest)
        return writer.forest()


class ForestWriter:
    """A writer of a forest, part by part, to be used in a ``with`` statement.

    Names have ids of one vocabulary per column, which may grow from part to part. A column that a
    part does not have is missing there.

    Arguments:
        folder: the folder for its files, which have no names until :meth:`save`.
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder, self._stack = Path(folder), ExitStack()
        self._structure = {name: self._rows() for name in _STRUCTURE}
        self._columns: dict[str, _Rows] = {}
        self._examples: dict[str, _Rows] = {}
        self._vocabs: dict[str, Vocabulary] = {}
        self._sizes: list[NDArray[np.int64]] = []
        self._nodes, self._in_order = 0, True
        self._last: Forest | None = None

    def __enter__(self) -> ForestWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _rows(self) -> _Rows:
        return _Rows(self._stack.enter_context(tempfile.TemporaryFile(dir=self.folder)))

    def add(self, forest: Forest, examples: Mapping[str, NDArray[Any]] | None = None) -> None:
        """Write the next trees, and arrays with a row per example."""
        for name, rows in self._structure.items():
            rows.append(getattr(forest, name), self._nodes)
        for name, column in forest.columns.items():
            if name not in self._columns:
                self._columns[name] = self._rows()
            self._columns[name].append(column, self._nodes)
        trees = sum(map(len, self._sizes))
        for name, column in (examples or {}).items():
            if name not in self._examples:
                self._examples[name] = self._rows()
            self._examples[name].append(column, trees * len(column) // len(forest))
        self._sizes.append(forest.sizes)
        self._nodes += forest.num_nodes
        self._in_order = self._in_order and forest._in_order
        self._vocabs.update(forest.vocabs)
        self._last = forest

    def forest(self) -> Forest:
        """Return the forest, memory-mapped."""
        assert self._last is not None
        parent, pos, depth = (rows.mapped(self._nodes) for rows in self._structure.values())
        columns = {
            name: rows.mapped(self._nodes, are_ids=name in self._vocabs)
            for name, rows in self._columns.items()
        }
        offsets = offsets_of(np.concatenate(self._sizes))
        forest = replace(self._last, parent=parent, pos=pos, offsets=offsets, columns=columns)
        forest.__dict__.update(depth=depth, _in_order=self._in_order)
        return forest

    def save(self, arity: int = 1, texts: Mapping[str, Vocabulary] | None = None) -> None:
        """Write a folder that :func:`load_arrays` reads; it replaces a forest that is there.

        Arguments:
            arity: the number of trees per example.
            texts: the vocabularies of example columns that hold ids.
        """
        texts = texts or {}
        sizes = np.concatenate(self._sizes) if self._sizes else np.zeros(0, np.int64)
        offsets = self._rows()
        offsets.append(offsets_of(sizes), 0)
        index = {
            "version": _VERSION,
            "columns": list(self._columns),
            "vocabs": list(self._vocabs),
            "examples": list(self._examples),
            "texts": list(texts),
            "arity": arity,
            "in_order": self._in_order,
        }
        files = _files(index)
        (self.folder / _INDEX).unlink(missing_ok=True)  # no forest until it is complete
        for name, rows in {**self._structure, "offsets": offsets}.items():
            rows.save(self.folder / files[f"{name}.npy"], rows.count)
        for name, rows in self._columns.items():
            path = self.folder / files[f"column.{name}.npy"]
            rows.save(path, self._nodes, are_ids=name in self._vocabs)
        for name, rows in self._examples.items():
            path = self.folder / files[f"example.{name}.npy"]
            rows.save(path, len(sizes) // arity, are_ids=name in texts)
        for kind, vocabs in (("vocab", self._vocabs), ("text", texts)):
            for name, vocab in vocabs.items():
                vocab.save(self.folder / files[f"{kind}.{name}.txt"])
        with replacing(self.folder / _INDEX) as file:
            json.dump(with_checksum(index), file, indent=1)


class _Rows:
    """Rows of an array in a temporary file, of the parts that have them."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.count = file, 0
        self._parts: list[tuple[int, NDArray[Any] | None]] = []  # each with an example, no rows

    def append(self, rows: NDArray[Any], before: int) -> None:
        """Write rows ``(n, ...)`` after ``before`` rows, whose last ones may be missing."""
        self._fill_up(before)
        self.file.writelines(rows[block].tobytes() for block in blocks(len(rows)))
        self._parts.append((len(rows), np.zeros((0, *rows.shape[1:]), rows.dtype)))
        self.count += len(rows)

    def _fill_up(self, count: int) -> None:
        if self.count < count:
            self._parts.append((count - self.count, None))
            self.count = count

    def _like(self, *, are_ids: bool) -> NDArray[Any]:
        """Return an array without rows, of the type that all parts fit into."""
        some = [each for _, each in self._parts if each is not None]
        kinds = {each.dtype for each in some}
        if len(some) < len(self._parts) and not are_ids:
            kinds.add(np.dtype(np.float32))  # which NaN needs
        return some[0].astype(np.result_type(*kinds))

    def _blocks(self, *, are_ids: bool) -> Iterator[NDArray[Any]]:
        like = self._like(are_ids=are_ids)
        self.file.seek(0)
        for count, part in self._parts:
            for block in blocks(count):
                shape = (block.stop - block.start, *like.shape[1:])
                if part is None:
                    yield np.full(shape, -1 if are_ids else np.nan, like.dtype)
                    continue
                size = int(np.prod(shape)) * part.dtype.itemsize
                rows = np.frombuffer(self.file.read(size), part.dtype).reshape(shape)
                yield rows.astype(like.dtype, copy=False)

    def mapped(self, count: int, *, are_ids: bool = False) -> NDArray[Any]:
        """Return ``count`` rows, memory-mapped; those that were not written are missing."""
        self._fill_up(count)
        like = self._like(are_ids=are_ids)
        shape = (count, *like.shape[1:])
        if all(part is not None and part.dtype == like.dtype for _, part in self._parts):
            self.file.flush()
            return np.memmap(self.file, like.dtype, "r", shape=shape)
        with tempfile.TemporaryFile() as file:
            file.writelines(each.tobytes() for each in self._blocks(are_ids=are_ids))
            file.flush()
            return np.memmap(file, like.dtype, "r", shape=shape)

    def save(self, path: Path, count: int, *, are_ids: bool = False) -> None:
        """Write ``count`` rows as an ``.npy`` file, and delete the temporary one."""
        self._fill_up(count)
        like = self._like(are_ids=are_ids)
        with replacing(path, "wb") as file:
            header = {"descr": np.lib.format.dtype_to_descr(like.dtype), "fortran_order": False}
            write_array_header_1_0(file, {**header, "shape": (count, *like.shape[1:])})
            file.writelines(each.tobytes() for each in self._blocks(are_ids=are_ids))
        self.file.close()


def _files(index: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of all files but the index."""
    arrays = [*_STRUCTURE, "offsets", *(f"column.{name}" for name in index["columns"])]
    arrays += [f"example.{name}" for name in index["examples"]]
    texts = [f"{kind}.{name}" for kind in ("vocab", "text") for name in index[f"{kind}s"]]
    return file_names([f"{name}.npy" for name in arrays] + [f"{name}.txt" for name in texts])


def load_arrays(folder: Path, *, mmap: bool) -> dict[str, Any]:
    """Read what :meth:`ForestWriter.save` wrote: the index with arrays and vocabularies."""
    try:
        index = _index(folder)
        files = _files(index)

        def array(name: str) -> NDArray[Any]:
            return _array(folder / files[f"{name}.npy"], mmap)

        def vocab(name: str) -> Vocabulary:
            check_is_file(folder / files[f"{name}.txt"])
            return Vocabulary.load(folder / files[f"{name}.txt"])

        return {
            **index,
            **{name: array(name) for name in (*_STRUCTURE, "offsets")},
            "columns": {name: array(f"column.{name}") for name in index["columns"]},
            "vocabs": {name: vocab(f"vocab.{name}") for name in index["vocabs"]},
            "examples": {name: array(f"example.{name}") for name in index["examples"]},
            "texts": {name: vocab(f"text.{name}") for name in index["texts"]},
        }
    except FileNotFoundError as error:
        name = Path(error.filename).name
        raise TreeError(
            f"expected a folder that Forest.save wrote, got one without {name}", file=folder
        ) from None
    except TreeError:
        raise
    except _DAMAGE as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise TreeError(
            f"expected a folder that Forest.save wrote, got a damaged one ({what:.300}); "
            "write it again",
            file=folder,
        ) from error


def _index(folder: Path) -> dict[str, Any]:
    """Read and check ``forest.json``."""
    check_is_file(folder / _INDEX)
    index: dict[str, Any] = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
    version = index["version"]
    if version != _VERSION:
        raise TreeError(
            f"expected a forest of version {_VERSION}, got version {version!r:.40}; "
            "write it again with this version of the package",
            file=folder,
        )
    for key in ("columns", "vocabs", "examples", "texts"):
        names = index[key]
        if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise TypeError(f"expected a list of names as {key!r}, got {names!r:.60}")
    return checked_values(index)[0]


def _array(path: Path, mmap: bool) -> NDArray[Any]:
    """Read the array of a ``.npy`` file; other files that numpy can load are errors."""
    check_is_file(path)
    if mmap:
        return open_memmap(path, mode="r")
    with open(path, "rb") as file:
        return read_array(file, allow_pickle=False)
