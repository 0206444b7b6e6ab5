"""Node tables: a row per node, with its tree and its parent, or its depth in preorder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.arrow import lists_in_rows
from dgltrees.formats.format import TABLES, Format, RecordLayout
from dgltrees.formats.tables import Batch, Table
from dgltrees.formats.values import (
    MISSING_CELLS,
    as_example_columns,
    as_node_columns,
    is_plain,
)
from dgltrees.trees.builders.tables import parents_of_ids
from dgltrees.trees.columns import EXACT
from dgltrees.trees.forest import Forest
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.order import parents_of_depths
from dgltrees.trees.segments import Bools, Ints

USUAL = {
    "tree_id": ("tree", "tree_id"),
    "node_id": ("node", "node_id", "id"),
    "parent": ("parent", "parent_id"),
    "depth": ("depth",),
}
"""Default names of the columns that define the trees."""


def is_node_table(header: Sequence[str], layout: RecordLayout) -> bool:
    """Return whether a table has a column of parents or depths, named by default or the layout."""
    if layout.parent or layout.depth or any(name in header for name in USUAL["parent"]):
        return True
    # next to a column of whole trees, the depth is a feature of theirs
    return "json" not in header and any(name in header for name in USUAL["depth"])


def stream_nodes(
    path: PathLike, trees: int = 10_000, layout: RecordLayout = RecordLayout()
) -> Iterator[LabeledTrees]:
    """Read the trees of a node table, about ``trees`` at a time.

    Each row is a node. Nodes and children are in the order of their rows, and the rows of a tree
    follow each other. Either each row has the id of its parent, which is empty at the root (or -1,
    if no node has that id); or it has its depth, and the rows are in preorder. Without a column for
    the tree, rows with parents are one tree, and each row as deep as the first begins a tree.

    Node columns: all others, see :class:`~dgltrees.formats.values.ColumnTypes`. Example columns:
    ``line``, the first line of the tree, and the column of the tree.
    """
    table = Table(path, layout.categorical_columns)
    nodes = _Nodes(table, layout)
    for batch, starts in nodes.trees():
        for first in range(0, len(starts), trees):
            stop = starts[first + trees] if first + trees < len(starts) else len(batch)
            rows = batch.rows(slice(starts[first], stop))
            yield nodes.examples(rows, starts[first : first + trees] - starts[first])


_SEVERAL = (
    "; if the file has several trees, name their column as tree_id of the layout (flag --tree_id "
    "or --data.tree_id)"
)


class _Nodes:
    """The columns of a node table that define its trees."""

    def __init__(self, table: Table, layout: RecordLayout) -> None:
        self.table, self.layout, self.path = table, layout, table.path
        self.tree = self._column("tree_id")
        self.parent = None if layout.depth else self._column("parent")
        self.depth = None if self.parent else self._column("depth")
        self.node = self._column("node_id") if self.parent else layout.node_id
        if self.parent is None and self.depth is None:
            raise self._missing("the parent of each node, or its depth,", "parent or depth")
        if self.parent is not None and self.node is None:
            raise self._missing("the id of each node", "node_id")
        places = (self.tree, self.node, self.parent, self.depth)
        self.others = [name for name in table.header if name not in places]
        self._root_depth: Any | None = None
        self.several = "" if self.tree else _SEVERAL

    def _column(self, field: str) -> str | None:
        name: str | None = getattr(self.layout, field)
        if name is None:
            return next((name for name in USUAL[field] if name in self.table.header), None)
        if name not in self.table.header:
            raise self._missing(f"{name!r}", field)
        return name

    def _missing(self, what: str, field: str) -> TreeError:
        return TreeError(
            f"expected a column with {what} among {', '.join(self.table.header)}; name it as "
            f"{field} of the layout",
            file=self.path,
            line=self.table.header_line,
        )

    def trees(self) -> Iterator[tuple[Batch, Ints]]:
        """Iterate over batches of whole trees, and the first row of each tree."""
        parts: list[Batch] = []
        seen: set[Any] = set()
        before = None
        for batch in self.table.batches():
            starts, before = self._starts(batch, before, seen)
            if len(starts) > (0 if parts else 1):
                yield self._whole([*parts, batch.rows(slice(0, starts[-1]))])
                parts = [batch.rows(slice(starts[-1], None))]
            else:
                parts.append(batch)
        yield self._whole(parts)

    def _whole(self, parts: Sequence[Batch]) -> tuple[Batch, Ints]:
        batch = Batch.concat([part for part in parts if len(part)])
        starts = self._starts(batch, None, set())[0]
        if self.depth and self.node:  # sorted by node within each tree
            order = _ids(batch.cells[self.node])
            if order is None:
                raise self._error(f"expected numbers in column {self.node!r}", batch, 0)
            tree = np.zeros(len(batch), np.int64)
            tree[starts] = 1
            batch = batch.rows(np.lexsort((order, tree.cumsum())))
        return batch, starts

    def _starts(self, batch: Batch, before: Any, seen: set[Any]) -> tuple[Ints, Any]:
        """Return the rows that begin a tree, given the key ``before`` them, and the last key."""
        if self.tree:
            keys = batch.cells[self.tree]
            missing = f"missing value in column {self.tree!r}"
            self._refuse(_is_null(keys), batch, lambda _: missing)
            begins = np.append(keys[0] != before, keys[1:] != keys[:-1])
            starts = np.flatnonzero(begins)
            for start in starts.tolist():
                if keys[start] in seen:
                    raise self._error(
                        f"expected the rows of a tree one after the other, got more of "
                        f"{_shown(keys[start])}; sort the rows by {self.tree!r}",
                        batch,
                        start,
                    )
                seen.add(keys[start])
            return starts, keys[-1]
        if self.depth is None:
            return np.zeros(0 if before else 1, np.int64), True
        depth = batch.cells[self.depth]
        if self._root_depth is None:
            self._root_depth = depth[0]
        return np.flatnonzero(depth == self._root_depth), None

    def examples(self, batch: Batch, starts: Ints) -> LabeledTrees:
        """Return the examples of whole trees."""
        offsets = np.append(starts, len(batch))
        tree = np.repeat(np.arange(len(starts)), np.diff(offsets))
        up = self._by_parent(batch, tree) if self.parent else self._by_depth(batch, starts)
        columns, vocabs = as_node_columns(self.table.columns(batch, self.others))
        lines = batch.lines[starts]
        try:
            forest = Forest.build(
                np.where(up < 0, -1, up - starts[tree]),
                offsets=offsets,
                columns=columns,
                vocabs=vocabs,
            )
        except TreeError as error:
            row = int(starts[error.tree or 0]) + (error.node or 0)
            name = f" of {_shown(batch.cells[self.tree][row])}" if self.tree else ""
            several = self.several if (up < 0).sum() > 1 else ""
            message = f"in the tree{name}: {error.message}{several}"
            raise self._error(message, batch, row) from None
        beside = {self.tree: batch.cells[self.tree][starts]} if self.tree else {}
        return LabeledTrees(forest, as_example_columns(beside, lines.tolist()))

    def _by_parent(self, batch: Batch, tree: Ints) -> Ints:
        """Return the row of each row's parent, -1 at roots."""
        assert self.node is not None
        assert self.parent is not None
        nodes, parents = batch.cells[self.node], batch.cells[self.parent]
        missing = f"missing value in column {self.node!r}"
        self._refuse(_is_missing(nodes), batch, lambda _: missing)
        is_root = _is_missing(parents)
        if parents.dtype.kind == "f":
            self._refuse(
                abs(parents) >= EXACT,
                batch,
                lambda row: (
                    f"expected column {self.parent!r}, which has missing values, to hold ids below "
                    f"2^53, got {_shown(parents[row])}; read it as strings with categorical_columns"
                ),
            )
        ids = _ids(nodes)
        parent_ids = None if ids is None else _ids(np.where(is_root, "-1", parents))
        if ids is None or parent_ids is None:
            ids, parent_ids = nodes, parents
            if nodes.dtype.kind != parents.dtype.kind:  # numbers and texts
                ids, parent_ids = (np.array([*map(str, each)], object) for each in (ids, parents))
        up, first = parents_of_ids(tree, ids.tolist(), parent_ids.tolist())
        self._refuse(
            first != np.arange(len(first)),
            batch,
            lambda row: f"expected every node once, got {_shown(nodes[row])} again{self.several}",
        )
        known = (up >= 0) & ~is_root
        is_root |= ~known & np.isin(parents.astype(str), ("-1", "-1.0"))
        self._refuse(
            ~(known | is_root),
            batch,
            lambda row: (
                f"expected column {self.parent!r} to hold the id of a node of the same tree, or "
                f"nothing at the root, got {_shown(parents[row])}"
            ),
        )
        return np.where(is_root, -1, up)

    def _by_depth(self, batch: Batch, starts: Ints) -> Ints:
        """Return the row of each row's parent: the last one before it that is less deep."""
        assert self.depth is not None
        cells = batch.cells[self.depth]
        depth = _ids(cells)
        if depth is None:
            row = next(i for i in range(len(cells)) if _ids(cells[i : i + 1]) is None)
            raise self._error(
                f"expected column {self.depth!r} to hold integers, got {_shown(cells[row])}",
                batch,
                row,
            )
        return parents_of_depths(
            depth, starts, lambda message, row: self._error(message, batch, row)
        )

    def _refuse(self, broken: Bools, batch: Batch, rule: Callable[[int], str]) -> None:
        """Raise TreeError at the first broken row, if there is one."""
        if broken.any():
            row = int(broken.argmax())
            raise self._error(rule(row), batch, row)

    def _error(self, message: str, batch: Batch, row: int) -> TreeError:
        return TreeError(message, file=self.path, line=int(batch.lines[row]))


def _shown(cell: Any) -> str:
    """Return a cell as text for an error, without the type that numpy shows."""
    return repr(cell.item() if isinstance(cell, np.generic) else cell)


def _is_null(cells: NDArray[Any]) -> Bools:
    """Return a mask of missing values, for tables that are not text."""
    if cells.dtype == object:
        return np.array([cell is None for cell in cells.tolist()])
    return np.isnan(cells) if cells.dtype.kind == "f" else np.zeros(len(cells), np.bool_)


def _is_missing(cells: NDArray[Any]) -> Bools:
    """Return a mask of missing values; in text they are one of several words."""
    if cells.dtype == object:
        return np.array([cell is None or cell in MISSING_CELLS for cell in cells.tolist()])
    return _is_null(cells)


def _ids(cells: NDArray[Any]) -> Ints | None:
    """Convert cells to integers; None if one is not an integer, such as the text 1_2."""
    if not is_plain("".join(cell for cell in cells.tolist() if isinstance(cell, str))):
        return None
    if cells.dtype.kind != "f":  # whose fractions int() would cut off
        with suppress(ValueError, OverflowError, TypeError):
            return np.array(list(map(int, cells.tolist())), np.int64)
    try:
        numbers = np.array(list(map(float, cells.tolist())))
    except (ValueError, TypeError):
        return None
    if not (np.isfinite(numbers) & (numbers == np.floor(numbers)) & (abs(numbers) < EXACT)).all():
        return None
    return numbers.astype(np.int64)


NODES = Format(
    "Node tables, a row per node with its tree and its parent or depth: CSV or Parquet.",
    stream_nodes,
    suffixes=(*TABLES, ".tsv"),
    layout=("tree_id", "node_id", "parent", "depth", "categorical_columns"),
    fits=lambda path, layout: (
        not lists_in_rows(path, layout) and is_node_table(Table(path).header, layout)
    ),
    text=False,
)
