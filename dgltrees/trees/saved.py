"""Forests in folders: memory-mappable arrays, vocabularies, and checksums of all files."""

from __future__ import annotations

import json
import tokenize
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.format import open_memmap, read_array
from numpy.typing import NDArray

from dgltrees._files import (
    check_is_file,
    check_sum,
    checked_values,
    file_checksum,
    file_names,
    replacing,
    with_checksum,
)
from dgltrees.errors import TreeError
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dgltrees.trees.forest import Forest


_VERSION = 2
_INDEX = "forest.json"
_STRUCTURE = ("parent", "pos", "offsets")

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


def save_forest(forest: Forest, folder: Path) -> None:
    """Write the arrays of a forest as ``.npy`` files, its vocabularies as text, and an index."""
    arrays: dict[str, NDArray[Any]] = {name: getattr(forest, name) for name in _STRUCTURE}
    arrays.update({f"column.{name}": column for name, column in forest.columns.items()})
    (folder / _INDEX).unlink(missing_ok=True)  # no forest until it is complete
    files = _files(forest.columns, forest.vocabs)
    for name, values in arrays.items():
        with replacing(folder / files[f"{name}.npy"], "wb") as file:
            np.save(file, values, allow_pickle=False)
    for name, vocab in forest.vocabs.items():
        vocab.save(folder / files[f"vocab.{name}.txt"])
    index = {
        "version": _VERSION,
        "columns": list(forest.columns),
        "vocabs": list(forest.vocabs),
        "sha256": {name: file_checksum(folder / name) for name in files.values()},
    }
    with replacing(folder / _INDEX) as file:
        json.dump(with_checksum(index), file, indent=1)


def _files(columns: Iterable[str], vocabs: Iterable[str]) -> dict[str, str]:
    """Return the names of all files but the index."""
    arrays = (*_STRUCTURE, *(f"column.{name}" for name in columns))
    return file_names([f"{name}.npy" for name in arrays] + [f"vocab.{name}.txt" for name in vocabs])


def load_arrays(
    folder: Path, *, mmap: bool
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]], dict[str, Vocabulary]]:
    """Read the structure, the columns and the vocabularies that :func:`save_forest` wrote."""
    try:
        index = _index(folder)
        sums: Mapping[str, str] = index["sha256"]
        files = _files(index["columns"], index["vocabs"])

        def path_of(text: str) -> Path:
            name = files[text]
            path = folder / name
            check_is_file(path)
            try:
                check_sum(file_checksum(path), sums[name])
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
            return path

        structure = {name: _array(path_of(f"{name}.npy"), mmap) for name in _STRUCTURE}
        columns = {name: _array(path_of(f"column.{name}.npy"), mmap) for name in index["columns"]}
        vocabs = {name: Vocabulary.load(path_of(f"vocab.{name}.txt")) for name in index["vocabs"]}
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
    return structure, columns, vocabs


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
    for key in ("columns", "vocabs"):
        names = index[key]
        if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise TypeError(f"expected a list of names as {key!r}, got {names!r:.60}")
    checked_values(index)
    return index


def _array(path: Path, mmap: bool) -> NDArray[Any]:
    """Read the array of a ``.npy`` file; other files that numpy can load are errors."""
    if mmap:
        return open_memmap(path, mode="r")
    with open(path, "rb") as file:
        return read_array(file, allow_pickle=False)
