"""Parquet and Arrow (extra ``arrow``): rows of tables, and trees with a row of lists each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike, replacing
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats.format import Format, RecordLayout
from dgltrees.formats.lines import empty_file
from dgltrees.formats.values import (
    ID,
    FileColumn,
    as_example_columns,
    as_node_columns,
    check_writable,
)
from dgltrees.trees.check import check_offsets, check_trees, positions_by_order
from dgltrees.trees.columns import column_names, name_of
from dgltrees.trees.forest import Forest
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.segments import Ints

if TYPE_CHECKING:
    import pyarrow


_MAGIC = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")


def pyarrow_or_error() -> Any:
    """Return the module pyarrow; raise ConfigError if it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise ConfigError(
            "missing pyarrow, which reads Parquet and Arrow files; install it with "
            "pip install 'dgltrees[arrow]'"
        ) from None
    return pyarrow


def is_arrow(path: PathLike) -> bool:
    """Return whether a file is Parquet or Arrow, judged by its first bytes."""
    with open(path, "rb") as file:
        return file.peek(6).startswith(_MAGIC)


@contextmanager
def _open(path: PathLike) -> Iterator[Any]:
    """Open a reader of the batches of a file."""
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
    """Return the columns of a Parquet or Arrow file with their types."""
    with _open(path) as reader:
        schema = reader.schema_arrow if hasattr(reader, "schema_arrow") else reader.schema
    column_names(schema.names, lambda text: TreeError(text, file=path))
    return schema


def arrow_batches(path: PathLike, rows: int) -> Iterator[pyarrow.RecordBatch]:
    """Iterate over the batches of a Parquet or Arrow file, each of 1 to ``rows`` rows.

    Batches of Arrow files are memory-mapped.
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
                    f"expected a whole file, got damage after this row: "
                    f"{' '.join(str(error).split())}",
                    file=path,
                    line=first,
                ) from None
            list(batch.schema.names)  # in UTF-8 too
            for start in range(0, len(batch), rows):
                yield batch.slice(start, rows)
            first += len(batch)


def _is_text(kind: pyarrow.DataType) -> bool:
    """Return whether a type is text, plain or dictionary-encoded."""
    types = pyarrow_or_error().types
    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def column_array(
    name: str, values: pyarrow.Array, names: Sequence[str], path: PathLike
) -> FileColumn:
    """Convert the values of a column to an array.

    Integers and booleans become int64, or float64 if one is missing; vectors become float32.
    Columns in ``names`` become strings. Missing strings are None, missing numbers NaN. Numbers that
    are int64 or float64 already, without missing ones, are not copied.
    """
    arrow = pyarrow_or_error()
    if isinstance(values, arrow.ExtensionArray):
        values = values.storage
    try:
        array = _array_of(values, as_text=name in names)
    except arrow.ArrowException as error:
        raise TreeError(
            f"expected column {name!r} to hold values that fit into 64 bits, or text in UTF-8, "
            f"got: {' '.join(str(error).split())}; leave it out, or read it as strings with "
            "categorical_columns",
            file=path,
        ) from None
    if array is None:
        raise TreeError(
            f"expected column {name!r} to hold numbers, text or vectors of one size, got "
            f"{values.type}; leave it out, or read it as strings with categorical_columns",
            file=path,
        )
    return array


def _array_of(values: pyarrow.Array, *, as_text: bool) -> FileColumn | None:
    arrow, kind = pyarrow_or_error(), values.type
    types = arrow.types
    if as_text and types.is_nested(kind):
        listed = values.to_pylist()
        texts = [None if each is None else json.dumps(each, default=str) for each in listed]
        return np.array(texts, object)
    if as_text or _is_text(kind):
        return np.asarray(_to_numpy(values.cast(arrow.large_string())), object)
    if types.is_null(kind):
        return np.full(len(values), np.nan)
    if types.is_floating(kind) or types.is_decimal(kind):
        return _to_numpy(values.cast(arrow.float64()))
    if types.is_boolean(kind):
        values, kind = values.cast(arrow.uint8()), arrow.uint8()
    if types.is_integer(kind):
        if values.null_count:
            return _to_numpy(values.cast(arrow.float64(), safe=False))
        return _to_numpy(values.cast(arrow.int64()))
    if types.is_fixed_size_list(kind) and not types.is_nested(kind.value_type):
        vectors = np.full((len(values), kind.list_size), np.nan, np.float32)
        members = _to_numpy(values.flatten().cast(arrow.float32(), safe=False))
        vectors[_to_numpy(values.is_valid())] = members.reshape(-1, kind.list_size)
        return vectors
    return None


def _integers(name: str, values: pyarrow.Array, path: PathLike) -> NDArray[Any]:
    """Return parents or positions, not copied unless they are unsigned; null becomes -1."""
    types = pyarrow_or_error().types
    if not types.is_integer(values.type):
        raise TreeError(
            f"expected lists of integers in column {name!r}, got {values.type}", file=path
        )
    values = values.fill_null(-1 if types.is_signed_integer(values.type) else 0)
    if types.is_unsigned_integer(values.type):
        return column_array(name, values, (), path)
    return _to_numpy(values)


def _to_numpy(values: pyarrow.Array) -> NDArray[Any]:
    return np.asarray(values.to_numpy(zero_copy_only=False))


_ROWS = 10_000


def lists_in_rows(path: PathLike, layout: RecordLayout) -> bool:
    """Return whether a file is Parquet or Arrow with a row per tree: its parents are lists."""
    if not is_arrow(path):
        return False
    schema, parent = arrow_schema(path), layout.parent or "parent"
    return parent in schema.names and _is_list(schema.field(parent).type)


def stream_arrow(
    path: PathLike, trees: int = 10_000, layout: RecordLayout = RecordLayout()
) -> Iterator[LabeledTrees]:
    """Read a Parquet or Arrow file with a row per tree, at most ``trees`` trees at a time.

    The column of parents (``layout.parent``, by default ``parent``) has a list per tree: the index
    of each node's parent in the list, -1 or null at the root. An optional column ``pos`` has the
    positions of the nodes among their siblings. Other lists have a value per node: numbers,
    booleans, strings, or lists of a fixed size, which are vectors. Parents of int32, and numbers of
    float64 or int64 without missing ones, are not copied; in Arrow files they are memory-mapped.

    Node columns: the other lists. Example columns: ``line``, the number of the row from 1, and the
    columns that are not lists.
    """
    parent, first = layout.parent or "parent", 1
    arrow_schema(path)  # with every column once
    for batch in arrow_batches(path, trees):
        yield _examples(batch, parent, layout, first, path)
        first += len(batch)
    if first == 1:
        raise empty_file(path, line=None)


def _examples(
    batch: pyarrow.RecordBatch, parent: str, layout: RecordLayout, first: int, path: PathLike
) -> LabeledTrees:
    kinds, names = dict(zip(batch.schema.names, batch.schema.types)), layout.categorical_columns
    if parent not in kinds or not _is_list(kinds[parent]):
        raise TreeError(
            f"expected a column {parent!r} with lists of parents, got the columns "
            f"{', '.join(kinds)}; name it as parent of the layout",
            file=path,
        )
    lines = list(range(first, first + len(batch)))
    offsets, parents = _flat(parent, batch.column(parent), lines, path)
    up, pos = _integers(parent, parents, path), None
    nodes: dict[str, FileColumn] = {}
    others: dict[str, FileColumn] = {}
    for name, column in zip(kinds, batch.columns):
        if name == parent:
            continue
        if not _is_list(kinds[name]):
            is_id = name == ID and name not in names and column.null_count
            if is_id and pyarrow_or_error().types.is_integer(kinds[name]):
                others[name] = np.array(column.to_pylist(), object)
            else:
                others[name] = column_array(name, column, names, path)
            continue
        bounds, values = _flat(name, column, lines, path)
        wrong = np.diff(bounds) != np.diff(offsets)
        if wrong.any():
            row = int(wrong.argmax())
            raise TreeError(
                f"expected column {name!r} to have a value per node, {np.diff(offsets)[row]} as "
                f"{parent!r} has, got {np.diff(bounds)[row]}",
                file=path,
                line=lines[row],
            )
        if name == "pos":
            pos = _integers(name, values, path)
        else:
            nodes[name] = column_array(name, values, names, path)
    arrays, vocabs = as_node_columns(nodes)
    check_offsets(offsets, len(up), path, lines)
    pos = positions_by_order(up, offsets) if pos is None else pos
    check_trees(up, pos, offsets, None, path, lines)
    up, pos = (each.astype(np.int32, copy=False) for each in (up, pos))
    forest = Forest(up, pos, offsets, arrays, vocabs)  # no copy of columns
    return LabeledTrees(forest, as_example_columns(others, lines))


def _flat(
    name: str, column: pyarrow.Array, lines: Sequence[int], path: PathLike
) -> tuple[Ints, pyarrow.Array]:
    """Return the offsets ``(T + 1,)`` of a column of lists, and the values of all lists."""
    if column.null_count:
        row = int(column.is_null().to_numpy(zero_copy_only=False).argmax())
        raise TreeError(f"expected a list in column {name!r}, got null", file=path, line=lines[row])
    offsets = column.offsets.to_numpy().astype(np.int64)
    return offsets - offsets[0], column.values[offsets[0] : offsets[-1]]


def _is_list(kind: pyarrow.DataType) -> bool:
    types = pyarrow_or_error().types
    return bool(types.is_list(kind) or types.is_large_list(kind))


def write_arrow(examples: LabeledTrees, path: PathLike) -> None:
    """Write an Arrow file (also called Feather) that :func:`stream_arrow` can read.

    Each row is a tree: lists of ``parent``, ``pos`` and node columns, and the example columns
    without ``line``. Names are written as strings.

    Arguments:
        examples: single trees.
        path: the file; it is replaced when the new one is complete.

    Raises:
        TreeError: examples are pairs, a column has more than two dimensions, or a node column has
            the name of an example column, or ``parent`` or ``pos``.
        ConfigError: pyarrow is not installed.
    """
    _write(examples, path, pyarrow_or_error().ipc.new_file)


def write_parquet(examples: LabeledTrees, path: PathLike) -> None:
    """Write a Parquet file that :func:`stream_arrow` can read.

    Arguments:
        examples: single trees.
        path: the file; it is replaced when the new one is complete.

    Raises:
        TreeError: see :func:`write_arrow`.
        ConfigError: pyarrow is not installed.
    """
    pyarrow_or_error()
    from pyarrow.parquet import ParquetWriter

    _write(examples, path, ParquetWriter)


def _write(examples: LabeledTrees, path: PathLike, writer: Callable[..., Any]) -> None:
    if examples.arity > 1:
        raise TreeError(f"expected single trees, got {examples.arity} per example")
    beside = {name for name in examples.columns if name != "line"}
    twice = sorted((beside | {"parent", "pos"}) & set(examples.forest.columns))
    twice += sorted(beside & {"parent", "pos"})
    if twice:
        raise TreeError(
            f"expected every column once, got {', '.join(map(repr, twice))} twice among parent, "
            "pos, node columns and example columns; rename one"
        )
    check_writable(examples)
    if ID in examples.columns:
        ids = _of_one_type(examples.columns[ID])
        examples = replace(examples, columns={**examples.columns, ID: ids})
    with replacing(path, "wb") as file:
        schema = _batch(examples[:1]).schema
        with writer(file, schema) as sink:
            for start in range(0, len(examples), _ROWS):
                sink.write_batch(_batch(examples[start : start + _ROWS]))


def _of_one_type(column: NDArray[Any]) -> NDArray[Any]:
    """Return ids that are objects as integers, or else as strings; others unchanged."""
    if column.dtype != object:
        return column
    values = column.tolist()
    if set(map(type, values)) == {int}:
        with suppress(OverflowError):
            return np.array(values, np.int64)
    return np.array(list(map(name_of, values)), object)


def _batch(examples: LabeledTrees) -> pyarrow.RecordBatch:
    arrow, forest = pyarrow_or_error(), examples.forest
    columns = {"parent": forest.parent, "pos": forest.pos, **forest.columns}
    offsets = arrow.array(forest.offsets.astype(np.int32))
    arrays = {}
    for name, column in columns.items():
        values = _array(column, forest.vocabs[name].names if name in forest.vocabs else None)
        arrays[name] = arrow.ListArray.from_arrays(offsets, values)
    for name, column in examples.columns.items():
        is_class = name == "target" and len(examples.targets) > 0
        if name != "line":
            arrays[name] = _array(column, examples.targets.names if is_class else None)
    return arrow.RecordBatch.from_pydict(arrays)


def _array(column: NDArray[Any], names: Any) -> pyarrow.Array:
    """Convert a column to an Arrow array; missing names become null."""
    arrow = pyarrow_or_error()
    if names is not None:
        ids = arrow.array(column, mask=np.asarray(column) < 0)
        return arrow.DictionaryArray.from_arrays(ids, arrow.array(names, arrow.string())).cast(
            arrow.string()
        )
    if column.dtype.kind in "OU":
        return arrow.array(column.tolist(), arrow.string())
    if column.ndim == 1:
        return arrow.array(column)
    return arrow.FixedSizeListArray.from_arrays(
        arrow.array(np.ascontiguousarray(column).ravel()), int(np.prod(column.shape[1:]))
    )


ARROW = Format(
    "Parquet or Arrow, a row per tree with lists of the parents and values of its nodes.",
    stream_arrow,
    write_parquet,
    suffixes=(".parquet", ".arrow", ".feather"),
    layout=("parent", "categorical_columns"),
    fits=lists_in_rows,
    text=False,
)
