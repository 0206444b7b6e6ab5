"""Parquet and Arrow files, batch by batch (extra ``arrow``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "arrow_batches",
    "arrow_schema",
    "cast_column",
    "is_arrow",
    "is_text",
    "numpy_column",
    "pyarrow_or_error",
]

_MAGIC = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")


def pyarrow_or_error() -> Any:
    """The module pyarrow.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import pyarrow
    except ImportError:
        raise ConfigError(
            "expected pyarrow for Parquet and Arrow files, got none; "
            "pip install 'dgltrees[arrow]' installs it"
        ) from None
    return pyarrow


def is_arrow(path: PathLike) -> bool:
    """Whether a file is Parquet or Arrow, by its first bytes."""
    with open(path, "rb") as file:
        return file.peek(6).startswith(_MAGIC)


@contextmanager
def _open(path: PathLike) -> Iterator[Any]:
    """A reader of the batches of a file."""
    arrow = pyarrow_or_error()
    with ExitStack() as stack:
        try:
            with open(path, "rb") as file:
                magic = file.read(6)
            if magic.startswith(b"PAR1"):
                from pyarrow.parquet import ParquetFile

                yield stack.enter_context(ParquetFile(path))
                return
            source = stack.enter_context(arrow.memory_map(str(path)))
            open_reader = arrow.ipc.open_file if magic == b"ARROW1" else arrow.ipc.open_stream
            yield stack.enter_context(open_reader(source))
        except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            message = " ".join(str(error).split())
            raise TreeError(
                f"expected a Parquet or Arrow file, got a damaged one: {message}", file=path
            ) from None


def arrow_schema(path: PathLike) -> pyarrow.Schema:
    """The columns of a Parquet or Arrow file with their types.

    Raises:
        TreeError: the file is neither, or damaged.
        ConfigError: pyarrow is not installed.
    """
    with _open(path) as reader:
        return reader.schema_arrow if hasattr(reader, "schema_arrow") else reader.schema


def arrow_batches(path: PathLike, rows: int) -> Iterator[pyarrow.RecordBatch]:
    """The batches of a Parquet or Arrow file, each of 1 to ``rows`` rows; see :func:`arrow_schema`.

    Those of Arrow files lie in the file, which is mapped into memory.
    """
    with _open(path) as reader:
        if hasattr(reader, "iter_batches"):
            batches = reader.iter_batches(batch_size=rows)
        elif hasattr(reader, "get_batch"):
            batches = map(reader.get_batch, range(reader.num_record_batches))
        else:
            batches = reader
        first = 1
        for batch in batches:
            try:
                batch.validate(full=True)  # offsets in range, texts in UTF-8; else it might crash
            except pyarrow_or_error().ArrowException as error:
                raise TreeError(
                    f"expected rows that are whole, got damage behind this one: "
                    f"{' '.join(str(error).split())}",
                    file=path,
                    line=first,
                ) from None
            list(batch.schema.names)  # in UTF-8 too
            for start in range(0, len(batch), rows):
                yield batch.slice(start, rows)
            first += len(batch)


def is_text(kind: pyarrow.DataType) -> bool:
    """Whether a type is text, spelled out or by a dictionary."""
    types = pyarrow_or_error().types
    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def cast_column(
    name: str,
    column: pyarrow.Array,
    kind: pyarrow.DataType,
    path: PathLike,
    line_of: Callable[[int], int],
) -> pyarrow.Array:
    """A column as another type; see :func:`numpy_column`.

    Raises:
        TreeError: with file, row and column: a value is none of that type.
    """
    arrow = pyarrow_or_error()
    try:
        return column.cast(kind)
    except arrow.ArrowException:
        for i in range(len(column)):
            try:
                column[i : i + 1].cast(kind)
            except arrow.ArrowException as error:
                raise TreeError(
                    f"expected column {name!r} to hold values that fit into {kind}, got: "
                    f"{' '.join(str(error).split())}; leave it out, or list it among the columns "
                    "of names",
                    file=path,
                    line=line_of(i),
                ) from None
        raise


def numpy_column(
    name: str,
    column: pyarrow.Array,
    names: Sequence[str],
    path: PathLike,
    line_of: Callable[[int], int],
) -> NDArray[Any]:
    """A column as an array: texts ``(n,)`` as objects, numbers ``(n,)``, vectors ``(n, k)``.

    Integers and truth values are int64, float64 if one is missing; vectors are float32. Missing
    texts are None, missing numbers NaN. Numbers that are int64 or float64 and of which none is
    missing are not copied.

    Arguments:
        name: the column, for the errors.
        column: its ``n`` values.
        names: columns whose values become text, whatever they are.
        path: the file, for the errors.
        line_of: the row of a value by its index, from 1 in the file.

    Raises:
        TreeError: with the column: it is of another type. With the row too: an integer is beyond
            64 bits with a sign, or bytes that are to be names are not in UTF-8.
    """
    arrow = pyarrow_or_error()
    types, kind = arrow.types, column.type
    if isinstance(column, arrow.ExtensionArray):
        return numpy_column(name, column.storage, names, path, line_of)
    if is_text(kind) or name in names:
        if types.is_nested(kind):
            texts = np.full(len(column), None, object)
            texts[:] = [
                None if value is None else json.dumps(value, default=str)
                for value in column.to_pylist()
            ]
            return texts
        column = cast_column(name, column, arrow.large_string(), path, line_of)
        return np.asarray(column.to_numpy(zero_copy_only=False), object)
    if types.is_null(kind):
        return np.full(len(column), np.nan)
    if types.is_boolean(kind) or types.is_integer(kind):
        if types.is_boolean(kind):
            column = column.cast(arrow.uint8())
        if column.null_count:
            column = column.cast(arrow.float64(), safe=False)
        else:
            column = cast_column(name, column, arrow.int64(), path, line_of)
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if types.is_floating(kind) or types.is_decimal(kind):
        return np.asarray(column.cast(arrow.float64()).to_numpy(zero_copy_only=False))
    if types.is_fixed_size_list(kind):
        value = kind.value_type
        if types.is_floating(value) or types.is_integer(value):
            vectors = np.full((len(column), kind.list_size), np.nan, np.float32)
            members = column.flatten().cast(arrow.float32(), safe=False)
            rows = column.is_valid().to_numpy(zero_copy_only=False)
            flat = members.to_numpy(zero_copy_only=False)
            vectors[rows] = flat.reshape(-1, kind.list_size)
            return vectors
    raise TreeError(
        f"expected column {name!r} to hold numbers, text or vectors of one size, got {kind}; "
        "leave it out, or list it among the columns of names",
        file=path,
    )
