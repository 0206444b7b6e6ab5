"""Forests in temporary files, for more trees than fit into memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.trees.check import chosen_ids
from dgltrees.trees.forest import Forest
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.segments import blocks, offsets_of
from dgltrees.trees.vocabulary import Vocabulary

_IN_MEMORY = 2**20
"""The largest number of nodes of a selection in memory; a larger one is written to disk."""
_PART = 10_000  # trees that a selection copies at a time


@dataclass(frozen=True)
class DiskForest(Forest):
    """A forest whose node arrays are memory-mapped, unnamed temporary files.

    The files are deleted when no array uses them any more, at the latest when the process ends.
    Only the offsets are in memory, 8 bytes per tree, and the pages that the operating system
    caches.

    Arguments:
        parent, pos, offsets, columns, vocabs: see :class:`~dgltrees.trees.forest.Forest`.
        folder: the folder for the files of large selections.
    """

    folder: PathLike = "."

    def select(self, ids: ArrayLike) -> Forest:
        """Select trees, see :meth:`Forest.select`; a large selection is on disk too."""
        chosen = chosen_ids(ids, len(self))
        if int(self.sizes.take(chosen, mode="wrap").sum()) <= _IN_MEMORY:  # that checks the range
            return super().select(chosen)
        parts = (chosen[at : at + _PART] for at in range(0, len(chosen), _PART))
        return _written(map(super().select, parts), self.folder, self.vocabs)

    def renamed(
        self, tables: Mapping[str, NDArray[Any]], vocabs: Mapping[str, Vocabulary]
    ) -> Forest:
        """Replace ids, see :meth:`Forest.renamed`; the result is on disk too."""
        columns = dict(self.columns)
        for name, table in tables.items():
            rows = self.columns[name]
            with _rows_in(self.folder) as file:
                for block in blocks(len(rows)):
                    file.append(np.where(rows[block] < 0, -1, table[rows[block]]))
                columns[name] = file.mapped()
        return self.with_columns(columns, vocabs)


def examples_on_disk(parts: Iterable[LabeledTrees], folder: PathLike) -> LabeledTrees:
    """Join the parts of a data set, with the trees on disk; the parts are read one at a time."""
    try:
        os.makedirs(folder, exist_ok=True)
        with _rows_in(folder):
            pass
    except OSError as error:
        raise ConfigError(
            f"expected data.cache_dir to be a folder for temporary files, got {folder}: "
            f"{error.strerror}"
        ) from None
    columns: dict[str, list[NDArray[Any]]] = {}
    last: list[LabeledTrees] = []

    def forests() -> Iterator[Forest]:
        for part in parts:
            last[:] = [part]
            for name, column in part.columns.items():
                columns.setdefault(name, []).append(column)
            yield part.forest

    forest = _written(forests(), folder, None)
    joined = {name: np.concatenate(each) for name, each in columns.items()}
    return replace(last[0], forest=forest, columns=joined)


def _written(
    forests: Iterable[Forest], folder: PathLike, vocabs: Mapping[str, Vocabulary] | None
) -> DiskForest:
    """Write forests as one forest on disk, with the given vocabularies or those of the last one."""
    files: dict[str, _Rows] = {}
    sizes: list[NDArray[np.int64]] = []
    in_order, names = True, vocabs or {}
    with ExitStack() as stack:
        for forest in forests:
            structure = {"(parent)": forest.parent, "(pos)": forest.pos, "(depth)": forest.depth}
            for name, array in {**structure, **forest.columns}.items():
                if name not in files:
                    files[name] = stack.enter_context(_rows_in(folder))
                files[name].append(array)
            sizes.append(forest.sizes)
            in_order, names = in_order and forest._in_order, vocabs or forest.vocabs
        mapped = {name: file.mapped() for name, file in files.items()}
    parent, pos, depth = (mapped.pop(f"({name})") for name in ("parent", "pos", "depth"))
    offsets = offsets_of(np.concatenate(sizes))
    forest = DiskForest(parent, pos, offsets, mapped, names, folder)
    forest.__dict__.update(depth=depth, _in_order=in_order)  # nothing need be computed for all
    return forest


@contextmanager
def _rows_in(folder: PathLike) -> Iterator[_Rows]:
    """Open a new unnamed file."""
    with tempfile.TemporaryFile(dir=Path(folder)) as file:
        yield _Rows(file)


class _Rows:
    """Rows of an array that are written to a file, with the dtype of the first."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.count = file, 0
        self.example: NDArray[Any] = np.zeros(0)

    def append(self, rows: NDArray[Any]) -> None:
        """Write rows ``(n, ...)``."""
        if not self.count:
            self.example = np.zeros((0, *rows.shape[1:]), rows.dtype)
        self.file.write(rows.astype(self.example.dtype, casting="same_kind", copy=False).tobytes())
        self.count += len(rows)

    def mapped(self) -> NDArray[Any]:
        """Return all rows as a memory-mapped array; the file may then be closed."""
        if not self.count:
            return self.example
        self.file.flush()
        shape = (self.count, *self.example.shape[1:])
        return np.asarray(np.memmap(self.file, self.example.dtype, "r", shape=shape))
