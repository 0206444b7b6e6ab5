"""Vectors of examples, written part by part: NumPy's .npy and Parquet (extra ``arrow``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike, replacing
from dgltrees.errors import ConfigError
from dgltrees.formats.arrow import pyarrow_or_error

Parts = Iterable[NDArray[np.float32]]
"""Arrays ``(., c)`` to concatenate."""


def writer_of_vectors(path: PathLike) -> Callable[[Parts, PathLike], None]:
    """Return the function that writes vectors in the format of a suffix, in bounded memory."""
    suffix = Path(path).suffix
    if suffix == ".parquet":
        pyarrow_or_error()
        return _write_parquet
    if suffix != ".npy":
        raise ConfigError(f"expected --out to end in .npy or .parquet, got {path}")
    return _write_npy


def _write_npy(parts: Parts, path: PathLike) -> None:
    count = width = 0
    with replacing(path, "wb") as file:
        for part in parts:
            if not count:
                width = part.shape[1]
                _write_header(file, 0, width)
            file.write(np.ascontiguousarray(part, "<f4").tobytes())
            count += len(part)
        file.seek(0)
        _write_header(file, count, width)


def _write_header(file: IO[bytes], rows: int, columns: int) -> None:
    """Write the header of a .npy file, of the same length for any number of rows."""
    about = {"shape": (rows, columns), "fortran_order": False, "descr": "<f4"}
    np.lib.format.write_array_header_1_0(file, about)


def _write_parquet(parts: Parts, path: PathLike) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = [("example", pyarrow.int64()), ("vector", pyarrow.list_(pyarrow.float32()))]
    schema = pyarrow.schema(columns)
    with replacing(path, "wb") as file, parquet.ParquetWriter(file, schema) as writer:
        first = 0
        for part in parts:
            numbers = np.arange(first, first + len(part))
            ends = np.arange(len(part) + 1, dtype=np.int32) * part.shape[1]
            values = np.ascontiguousarray(part, np.float32).ravel()
            vectors = pyarrow.ListArray.from_arrays(ends, values)
            writer.write_table(pyarrow.table({"example": numbers, "vector": vectors}, schema))
            first += len(part)
