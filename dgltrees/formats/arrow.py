"""Parquet and Arrow (extra ``arrow``): rows of tables, and trees with a row of lists each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
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
    LineOf,
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


@dataclass(frozen=True)
class ArrowColumn:
    """A column of some rows of a file, or the values of the lists in it.

    Arguments:
        name: the column, for the errors.
        values: its ``n`` values.
        path: the file, for the errors.
        line_of: returns the row of a value in the file, from 1, by its index.
    """

    name: str
    values: pyarrow.Array
    path: PathLike
    line_of: LineOf

    def cast(self, kind: pyarrow.DataType) -> pyarrow.Array:
        """Convert the values to another type; errors name file, row and column."""
        arrow, values = pyarrow_or_error(), self.values
        try:
            return values.cast(kind)
        except arrow.ArrowException:
            for i in range(len(values)):
                try:
                    values[i : i + 1].cast(kind)
                except arrow.ArrowException as error:
                    raise TreeError(
                        f"expected column {self.name!r} to hold values that fit into {kind}, got: "
                        f"{' '.join(str(error).split())}; leave it out, or read it as strings "
                        "with categorical_columns",
                        file=self.path,
                        line=self.line_of(i),
                    ) from None
            raise

    def array(self, names: Sequence[str]) -> FileColumn:
        """Convert the values to an array.

        Integers and booleans become int64, or float64 if one is missing; vectors become float32.
        Missing strings are None, missing numbers NaN. Numbers that are int64 or float64 already,
        without missing ones, are not copied.
        """
        arrow, values = pyarrow_or_error(), self.values
        types, kind = arrow.types, values.type
        if isinstance(values, arrow.ExtensionArray):
            return replace(self, values=values.storage).array(names)
        if _is_text(kind) or self.name in names:
            if types.is_nested(kind):
                listed = values.to_pylist()
                texts = [None if each is None else json.dumps(each, default=str) for each in listed]
                return np.array(texts, object)
            return np.asarray(_to_numpy(self.cast(arrow.large_string())), object)
        if types.is_null(kind):
            return np.full(len(values), np.nan)
        if types.is_floating(kind) or types.is_decimal(kind):
            return _to_numpy(values.cast(arrow.float64()))
        if types.is_boolean(kind):
            return replace(self, values=values.cast(arrow.uint8())).array(names)
        if types.is_integer(kind):
            if values.null_count:
                return _to_numpy(values.cast(arrow.float64(), safe=False))
            return _to_numpy(self.cast(arrow.int64()))
        if types.is_fixed_size_list(kind):
            value = kind.value_type
            if types.is_floating(value) or types.is_integer(value) or types.is_boolean(value):
                vectors = np.full((len(values), kind.list_size), np.nan, np.float32)
                members = _to_numpy(values.flatten().cast(arrow.float32(), safe=False))
                vectors[_to_numpy(values.is_valid())] = members.reshape(-1, kind.list_size)
                return vectors
        raise TreeError(
            f"expected column {self.name!r} to hold numbers, text or vectors of one size, got "
            f"{kind}; leave it out, or read it as strings with categorical_columns",
            file=self.path,
        )

    def integers(self) -> NDArray[Any]:
        """Return parents or positions, not copied unless they are unsigned; null becomes -1."""
        types, values = pyarrow_or_error().types, self.values
        if not types.is_integer(values.type):
            raise TreeError(
                f"expected lists of integers in column {self.name!r}, got {values.type}",
                file=self.path,
            )
        if types.is_unsigned_integer(values.type):
            values = self.cast(pyarrow_or_error().int64())
        return _to_numpy(values.fill_null(-1))


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
    names, categorical = batch.schema.names, layout.categorical_columns
    is_integer = pyarrow_or_error().types.is_integer
    if parent not in names or not _is_list(batch.schema.field(parent).type):
        raise TreeError(
            f"expected a column {parent!r} with lists of parents, got the columns "
            f"{', '.join(names)}; name it as parent of the layout",
            file=path,
        )
    rows = np.arange(first, first + len(batch))
    offsets, parents = _flat(parent, batch.column(parent), rows, path)

    def row_of(node: int) -> int:
        return int(rows[offsets.searchsorted(node, side="right") - 1])

    nodes: dict[str, FileColumn] = {}
    beside: dict[str, FileColumn] = {}
    pos = None
    for name, column in zip(names, batch.columns):
        if name == parent:
            continue
        if not _is_list(column.type):
            is_id = name == ID and name not in categorical
            if is_id and column.null_count and is_integer(column.type):
                beside[name] = np.array(column.to_pylist(), object)
            else:
                beside[name] = ArrowColumn(name, column, path, rows.__getitem__).array(categorical)
            continue
        bounds, values = _flat(name, column, rows, path)
        wrong = np.diff(bounds) != np.diff(offsets)
        if wrong.any():
            row = int(wrong.argmax())
            raise TreeError(
                f"expected column {name!r} to have a value per node, {np.diff(offsets)[row]} as "
                f"{parent!r} has, got {np.diff(bounds)[row]}",
                file=path,
                line=int(rows[row]),
            )
        of_nodes = ArrowColumn(name, values, path, row_of)
        if name == "pos":
            pos = of_nodes.integers()
        else:
            nodes[name] = of_nodes.array(categorical)
    arrays, vocabs = as_node_columns(nodes)
    up = ArrowColumn(parent, parents, path, row_of).integers()
    lines = rows.tolist()
    check_offsets(offsets, len(up), path, lines)
    places = positions_by_order(up, offsets) if pos is None else pos
    check_trees(up, places, offsets, None, path, lines)
    up, places = (each.astype(np.int32, copy=False) for each in (up, places))
    forest = Forest(up, places, offsets, arrays, vocabs)  # no copy of columns
    return LabeledTrees(forest, as_example_columns(beside, lines))


def _flat(
    name: str, column: pyarrow.Array, rows: Ints, path: PathLike
) -> tuple[Ints, pyarrow.Array]:
    """Return the offsets ``(T + 1,)`` of a column of lists, and the values of all lists."""
    if column.null_count:
        row = int(column.is_null().to_numpy(zero_copy_only=False).argmax())
        raise TreeError(
            f"expected a list in column {name!r}, got null", file=path, line=int(rows[row])
        )
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
