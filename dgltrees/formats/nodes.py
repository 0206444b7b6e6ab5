"""Node tables: a row per node, with its tree and its parent, or its depth in preorder."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.arrow import lists_in_rows
from dgltrees.formats.format import TABLES, Format, RecordLayout
from dgltrees.formats.tables import Batch, Table
from dgltrees.formats.values import as_example_columns, as_node_columns
from dgltrees.trees.builders.tables import NodeColumns, forest_of_nodes
from dgltrees.trees.columns import EXACT
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.segments import Ints
from dgltrees.trees.text_cells import MISSING, numbers_of

USUAL = {
    "tree_id": ("tree", "tree_id"),
    "node_id": ("node", "node_id", "id"),
    "parent": ("parent", "parent_id"),
    "depth": ("depth",),
}
"""Default names of the columns that define the trees."""

_NO_PARENT = frozenset((-1, "-1", "-1.0", *MISSING))
"""Parents of roots, where no node has such an id."""
_SEVERAL = (
    "; if the file has several trees, name their column as tree_id of the layout (flag --tree_id "
    "or --data.tree_id)"
)


def is_node_table(header: Sequence[str], layout: RecordLayout) -> bool:
    """Return whether a table has a column of parents or depths, named by default or the layout."""
    if layout.parent or layout.depth or any(name in header for name in USUAL["parent"]):
        return True
    # next to a column of whole trees, the depth is a feature of theirs
    return "json" not in header and any(name in header for name in USUAL["depth"])


def stream_nodes(
    path: PathLike,
    trees: int = 10_000,
    layout: RecordLayout = RecordLayout(),
    *,
    numbers: Collection[str] = (),
) -> Iterator[LabeledTrees]:
    """Read the trees of a node table, about ``trees`` at a time.

    Each row is a node. Nodes and children are in the order of their rows, and the rows of a tree
    follow each other. Either each row has the id of its parent, which is empty at the root (or -1
    or a word for a missing value, if no node has that id); or it has its depth, and the rows are in
    preorder. Without a column for the tree there is a tree per root, or where depths are given, per
    row as deep as the first.

    Node columns: all others. In a CSV or TSV file all cells of a column decide whether it holds
    numbers or names, unless ``numbers`` names it; see
    :class:`~dgltrees.trees.text_cells.CellKind`. Example columns: ``line``, the first line of the
    tree, and the column of the tree.
    """
    nodes = _Nodes(Table(path, layout, numbers=numbers), layout)
    for batch, starts in nodes.trees():
        for first in range(0, len(starts), trees):
            stop = starts[first + trees] if first + trees < len(starts) else len(batch)
            yield nodes.examples(batch.rows(slice(starts[first], stop)))


class _Nodes:
    """The columns of a node table that define its trees."""

    def __init__(self, table: Table, layout: RecordLayout) -> None:
        self.table, self.layout = table, layout
        self.tree = self._column("tree_id")
        self.parent = None if layout.depth else self._column("parent")
        self.depth = None if self.parent else self._column("depth")
        self.node = self._column("node_id") if self.parent else layout.node_id
        if self.parent is None and self.depth is None:
            raise self._missing("the parent of each node, or its depth,", "parent or depth")
        if self.parent is not None and self.node is None:
            raise self._missing("the id of each node", "node_id")
        self._places = (self.tree, self.node, self.parent, self.depth)
        self.others = [name for name in table.header if name not in self._places]

    def _column(self, field: str) -> str | None:
        name: str | None = getattr(self.layout, field)
        if name is None:
            return next((name for name in USUAL[field] if name in self.table.header), None)
        if name not in self.table.header:
            raise self._missing(f"{name!r}", field)
        return name

    def _missing(self, what: str, field: str) -> TreeError:
        header = ", ".join(self.table.header)
        text = f"expected a column with {what} among {header}; name it as {field} of the layout"
        return self.table.error(text, self.table.header_line)

    def trees(self) -> Iterator[tuple[Batch, Ints]]:
        """Iterate over batches of whole trees, and the first row of each tree."""
        parts: list[Batch] = []
        seen: set[Any] = set()
        before = root_depth = None
        for batch in self.table.batches(self.others):
            if self.tree:
                keys = batch.cells[self.tree]
                starts = np.flatnonzero(np.append(keys[0] != before, keys[1:] != keys[:-1]))
                before = keys[-1]
                self._check_together(batch, keys, starts, seen)
            elif self.depth:
                depth = batch.cells[self.depth]
                root_depth = depth[0] if root_depth is None else root_depth
                starts = np.flatnonzero(depth == root_depth)
            else:
                starts = np.zeros(0 if parts else 1, np.int64)
            if len(starts) > (0 if parts else 1):
                yield self._whole([*parts, batch.rows(slice(0, starts[-1]))], root_depth)
                parts = [batch.rows(slice(starts[-1], None))]
            else:
                parts.append(batch)
        yield self._whole(parts, root_depth)

    def _whole(self, parts: Sequence[Batch], root_depth: Any) -> tuple[Batch, Ints]:
        batch = Batch.concat([part for part in parts if len(part)])
        if self.tree:
            keys = batch.cells[self.tree]
            begins = np.append(True, keys[1:] != keys[:-1])
        elif self.depth:
            begins = batch.cells[self.depth] == root_depth
            begins[0] = True
        else:
            begins = np.arange(len(batch)) == 0
        if self.depth and self.node:  # sorted by node within each tree
            order = _values(batch.cells[self.node])
            if any(isinstance(value, str) or value is None for value in order):
                raise self.table.error(
                    f"expected numbers in column {self.node!r}", int(batch.lines[0])
                )
            batch = batch.rows(np.lexsort((order, begins.cumsum())))
        return batch, np.flatnonzero(begins)

    def _check_together(
        self, batch: Batch, keys: NDArray[Any], starts: Ints, seen: set[Any]
    ) -> None:
        """Check that no tree begins that other rows have begun."""
        for start in starts.tolist():
            if keys[start] in seen:
                raise self.table.error(
                    f"expected the rows of a tree one after the other, got more of "
                    f"{keys[start]!r}; sort the rows by {self.tree!r}",
                    int(batch.lines[start]),
                )
            seen.add(keys[start])

    def examples(self, batch: Batch) -> LabeledTrees:
        """Return the examples of whole trees."""

        def error(message: str, row: int) -> TreeError:
            return self.table.error(message, int(batch.lines[row]))

        columns = {name: batch.cells[name] for name in self.others if name in batch.cells}
        arrays, vocabs = as_node_columns(columns)
        forest, first = forest_of_nodes(
            NodeColumns(self.node if self.parent else None, self.parent, self.depth, self.tree),
            {name: _values(batch.cells[name]) for name in self._places if name},
            arrays,
            vocabs,
            error,
            place=lambda row: f"line {batch.lines[row]}",
            cure="" if self.tree else _SEVERAL,
            no_parent=_NO_PARENT,
        )
        beside = {self.tree: batch.cells[self.tree][first]} if self.tree else {}
        return LabeledTrees(forest, as_example_columns(beside, batch.lines[first].tolist()))


def _values(cells: NDArray[Any]) -> list[Any]:
    """Return cells as numbers if all of them are, otherwise as texts; None where one is empty."""
    texts = [None if cell == "" or cell != cell else cell for cell in cells.tolist()]
    numbers = numbers_of(texts) if cells.dtype == object else None
    if numbers is None or (numbers.dtype.kind == "f" and np.nanmax(abs(numbers)) >= EXACT):
        return texts
    values = (None if number != number else number for number in numbers.tolist())
    return [int(each) if each is not None and each % 1 == 0 else each for each in values]


NODES = Format(
    "Node tables, a row per node with its tree and its parent or depth: CSV or Parquet.",
    stream_nodes,
    suffixes=(*TABLES, ".tsv"),
    layout=("tree_id", "node_id", "parent", "depth", "categorical_columns", "missing"),
    fits=lambda path, layout: (
        not lists_in_rows(path, layout) and is_node_table(Table(path).header, layout)
    ),
    text=False,
)
