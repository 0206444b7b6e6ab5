"""Many rooted ordered trees in a few flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from dgltrees import _shortcuts
from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.check import (
    check_depths,
    check_offsets,
    check_rows,
    check_trees,
    checked_columns,
    chosen_ids,
    integers,
    positions_by_order,
)
from dgltrees.trees.order import depths
from dgltrees.trees.saved import (
    ForestWriter,
    in_parts,
    is_on_disk,
    joined_on_disk,
    load_arrays,
    with_ids,
)
from dgltrees.trees.segments import blocks, offsets_of, owner, ranges
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dgl import DGLGraph


@dataclass(frozen=True)
class Forest:
    """``T`` rooted ordered trees with ``N`` nodes in total, as flat arrays (not a random forest).

    The arrays may be memory-mapped. The constructor does not check them; :meth:`build` does.

    Arguments:
        parent: ``(N,)`` int32, the parent of each node by its index *within its tree*, -1 at a
            root.
        pos: ``(N,)`` int32, the position of each node among the children of its parent, from 0; 0
            at a root. A position without a node is a missing child.
        offsets: ``(T + 1,)`` int64; tree ``t`` has the nodes ``offsets[t]:offsets[t + 1]``.
        columns: node data, each ``(N, ...)``.
        vocabs: the vocabularies of the columns that hold ids of names, by column; the id -1 means
            that the name is missing.

    Example:
        >>> forest = Forest.build([-1, 0, 0, -1, 0], offsets=[0, 3, 5])
        >>> len(forest), forest.num_nodes, forest.sizes
        (2, 5, array([3, 2]))
        >>> forest[1]
        Forest(1 tree, 2 nodes, columns: none)
    """

    parent: NDArray[np.int32]
    pos: NDArray[np.int32]
    offsets: NDArray[np.int64]
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    vocabs: Mapping[str, Vocabulary] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        parent: ArrayLike,
        *,
        pos: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
        vocabs: Mapping[str, Vocabulary] | None = None,
        max_children: int | None = None,
        file: PathLike | None = None,
        lines: Sequence[int] | None = None,
    ) -> Forest:
        """Check arrays and build a forest from them.

        Arguments:
            parent: ``(N,)`` the parent of each node within its tree, -1 at a root.
            pos: ``(N,)`` the position of each node among its siblings; default: 0, 1, ... in the
                order of the nodes. Give it if siblings are stored in another order, as nodes are
                that merge others, or words in the order of their heads.
            offsets: ``(T + 1,)`` the first node of each tree, then ``N``; default: one tree.
            columns: node data, each ``(N, ...)``: numbers, strings, or ids of a vocabulary.
            vocabs: the vocabularies of columns that hold ids.
            max_children: the number of child positions of a node; None for any number.
            file: the file that the trees were read from, for the errors.
            lines: ``(T,)`` the line of each tree in that file, for the errors.

        Returns:
            the forest.

        Raises:
            TreeError: a tree is empty or does not have exactly one root; a parent is out of range
                or part of a cycle; a position is out of range or occurs twice; or a column does not
                have ``N`` rows of numbers or strings, or has an id that is not in its vocabulary.

        Example:
            >>> forest = Forest.build([-1, 0, 0], columns={"cost": [3.5, 1.0, 2.0]})
            >>> forest
            Forest(1 tree, 3 nodes, columns: cost (float64))
            >>> Forest.build([-1, 0, 5])
            Traceback (most recent call last):
            dgltrees.errors.TreeError: tree 0, node 2: expected a parent between 0 and 2, ... got 5
        """
        parents = integers(parent, "parents", file)
        bounds = integers([0, len(parents)] if offsets is None else offsets, "offsets", file)
        check_offsets(bounds, len(parents), file, lines)
        if pos is None:
            positions = positions_by_order(parents, bounds)
        else:
            positions = integers(pos, "positions", file)
        check_trees(parents, positions, bounds, max_children, file, lines)
        arrays = checked_columns(columns or {}, len(parents), vocabs or {}, file)
        return cls(
            parents.astype(np.int32), positions.astype(np.int32), bounds, arrays, dict(vocabs or {})
        )

    @classmethod
    def of_preorder(
        cls,
        parent: Sequence[int],
        pos: Sequence[int],
        offsets: Sequence[int],
        depth: Sequence[int],
        columns: Mapping[str, NDArray[Any]],
        vocabs: Mapping[str, Vocabulary],
    ) -> Forest:
        """Make a forest from the result of a walk in preorder; nothing is checked.

        Arguments:
            parent, pos, offsets, columns, vocabs: see the class.
            depth: ``(N,)`` the number of edges between each node and its root.

        Returns:
            the forest, whose depths need not be computed.
        """
        rows = [np.fromiter(each, np.int32, len(each)) for each in (parent, pos, depth)]
        forest = cls(rows[0], rows[1], np.array(offsets, np.int64), columns, vocabs)
        forest.__dict__.update(depth=rows[2], _in_order=True)
        return forest

    @classmethod
    def from_objects(
        cls,
        roots: Iterable[Any],
        children: Any = None,
        columns: Sequence[str] | Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Forest:
        """Build a forest from objects that link to their children, such as nested dictionaries.

        Each root object becomes a tree and each object a node. Strings become ids with a
        vocabulary, numbers stay numbers, and lists of ``k`` numbers become ``(N, k)``. A missing
        value is -1 (ids) or NaN (numbers).

        Arguments:
            roots: the root object of each tree.
            children: the key, attribute, index or function that gives the children of an object; or
                a list of these, one for each child. Default: ``children``; for dictionaries, the
                key of the children and the path to the roots are inferred.
            columns: names that are keys or attributes; or a mapping from names to keys, attributes,
                indices and functions; default: all keys of dictionaries except the children.
            options: ``vocabs``, ``categorical_columns``, ``share`` and ``file``, see
                :func:`~dgltrees.trees.builders.objects.from_objects`.

        Returns:
            the forest.

        Raises:
            TreeError: see :func:`~dgltrees.trees.builders.objects.from_objects`.

        Example:
            >>> plan = {"op": "join", "inputs": [{"op": "scan", "rows": 10}, {"op": "scan"}]}
            >>> forest = Forest.from_objects([plan], "inputs", ["op", "rows"])
            >>> forest
            Forest(1 tree, 3 nodes, columns: op (2 names), rows (float64))
            >>> forest.columns["rows"]
            array([nan, 10., nan])
        """
        return _shortcuts.from_objects(roots, children, columns, **options)

    def to_objects(self, tree: int = 0, children: str = "children") -> dict[str, Any]:
        """Convert a tree to nested dictionaries, which :meth:`from_objects` can read.

        Arguments:
            tree: the index of the tree.
            children: the key for the list of children.

        Returns:
            the root.

        Raises:
            TreeError: see :func:`~dgltrees.trees.builders.objects.to_objects`.

        Example:
            >>> Forest.build([-1, 0], columns={"x": [1, 2]}).to_objects()
            {'x': 1, 'children': [{'x': 2}]}
        """
        return _shortcuts.to_objects(self, tree, children)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int | slice | ArrayLike) -> Forest:
        """Select trees: ``forest[3]``, ``forest[-10:]``, ``forest[mask]``."""
        if isinstance(index, slice):
            return self.select(np.arange(len(self))[index])
        return self.select(index)

    def __iter__(self) -> Iterator[Forest]:
        """Iterate over the trees, each as a forest with one tree."""
        return map(self.tree, range(len(self)))

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} ({kind})" for name, kind in self.column_types.items())
        return (
            f"Forest({counted(len(self), 'tree')}, {counted(self.num_nodes, 'node')}, "
            f"columns: {columns or 'none'})"
        )

    def _repr_html_(self) -> str:
        """Return HTML for Jupyter: the numbers of trees and nodes, columns, and the first tree."""
        return _shortcuts.forest_html(self)

    @property
    def column_types(self) -> dict[str, str]:
        """The content of each column as text: ``5 names``, ``int64``, ``float32 x 300``."""
        return {
            name: counted(len(self.vocabs[name]), "name")
            if name in self.vocabs
            else " x ".join(map(str, (column.dtype, *column.shape[1:])))
            for name, column in self.columns.items()
        }

    @property
    def num_nodes(self) -> int:
        """``N``, the total number of nodes."""
        return len(self.parent)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """``(T,)`` the number of nodes of each tree."""
        return np.diff(self.offsets)

    @cached_property
    def tree_of_node(self) -> NDArray[np.int64]:
        """``(N,)`` the index of the tree that each node belongs to."""
        return owner(self.sizes)

    @cached_property
    def global_parent(self) -> NDArray[np.int64]:
        """``(N,)`` the index of each node's parent among all nodes, -1 at a root."""
        shifted = self.parent + np.repeat(self.offsets[:-1], self.sizes)
        return np.where(self.parent < 0, -1, shifted)

    @cached_property
    def roots(self) -> NDArray[np.int64]:
        """``(T,)`` the index of each root among all nodes."""
        return np.flatnonzero(self.parent < 0)

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """``(N,)`` the number of edges between each node and its root."""
        return depths(self.global_parent)

    @cached_property
    def depths(self) -> NDArray[np.int32]:
        """``(T,)`` the depth of the deepest node of each tree."""
        if len(self) == 0:
            return np.zeros(0, np.int32)
        return np.maximum.reduceat(self.depth, self.offsets[:-1])

    @cached_property
    def degree(self) -> NDArray[np.int64]:
        """``(N,)`` the number of children of each node."""
        up = self.global_parent
        return np.bincount(up[up >= 0], minlength=self.num_nodes)

    @cached_property
    def _in_order(self) -> bool:
        """Whether the children of every node are stored in the order of their positions."""
        up = self.global_parent
        children = np.flatnonzero(up >= 0)
        children = children[np.argsort(up[children], kind="stable")]
        same = up[children[1:]] == up[children[:-1]]
        return not np.any(same & (self.pos[children[1:]] < self.pos[children[:-1]]))

    def with_columns(
        self, columns: Mapping[str, NDArray[Any]], vocabs: Mapping[str, Vocabulary] | None = None
    ) -> Forest:
        """Replace the columns; everything computed about the structure is kept.

        Arguments:
            columns: node data, each ``(N, ...)``.
            vocabs: the vocabularies of columns that hold ids; default: those of this forest.

        Returns:
            a forest of the same trees.

        Raises:
            TreeError: a column does not have a row per node.
        """
        check_rows(columns, self.num_nodes)
        forest = replace(self, columns=columns, vocabs=self.vocabs if vocabs is None else vocabs)
        forest.__dict__.update({**self.__dict__, **forest.__dict__})  # all else is of the structure
        return forest

    def _rows(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the nodes of the trees ``ids`` ``(B,)``, and their offsets ``(B + 1,)``."""
        check_rows(self.columns, self.num_nodes)  # a user may have replaced one
        if len(ids) == len(self) and (ids == np.arange(len(ids))).all():  # all of them
            return np.arange(self.num_nodes), self.offsets
        if len(ids) and not (ids.min() >= 0 and ids.max() < len(self)):
            wrong = ids[(ids < -len(self)) | (ids >= len(self))]
            if len(wrong):
                raise IndexError(
                    f"expected tree ids between 0 and {len(self) - 1}, or negative ones from the "
                    f"end, got {wrong[0]}"
                )
            ids = np.where(ids < 0, ids + len(self), ids)
        sizes = self.sizes.take(ids)
        return ranges(self.offsets.take(ids), sizes), offsets_of(sizes)

    def select(self, ids: ArrayLike) -> Forest:
        """Select trees in a given order; a tree may occur more than once.

        Many trees of a forest on disk are on disk again, in temporary files.

        Arguments:
            ids: integers (negative: from the end), or a boolean mask ``(T,)``.

        Returns:
            a forest of the selected trees.

        Raises:
            IndexError: an id is out of range, or a mask does not have ``T`` values.
            TreeError: the ids are neither integers nor booleans.
        """
        return in_parts(self, lambda forest: forest, chosen_ids(ids, len(self)))

    def _taken(self, ids: NDArray[np.int64]) -> Forest:
        """Copy the trees ``ids`` into memory."""
        rows, offsets = self._rows(ids)
        columns = {name: column[rows] for name, column in self.columns.items()}
        chosen = Forest(self.parent[rows], self.pos[rows], offsets, columns, self.vocabs)
        if "depth" in self.__dict__:  # what has been computed for all trees holds for some
            chosen.__dict__["depth"] = self.depth[rows]
        if "_in_order" in self.__dict__:
            chosen.__dict__["_in_order"] = self._in_order
        return chosen

    def name_counts(self, column: str) -> NDArray[np.int64]:
        """Count the nodes that have each name of a column.

        Arguments:
            column: a column with a vocabulary.

        Returns:
            ``(names,)`` int64 counts.
        """
        ids, names = self.columns[column], len(self.vocabs[column])
        counts = np.zeros(names, np.int64)
        for block in blocks(len(ids)):
            counts += np.bincount(ids[block][ids[block] >= 0], minlength=names)
        return counts

    def renamed(
        self, tables: Mapping[str, NDArray[Any]], vocabs: Mapping[str, Vocabulary]
    ) -> Forest:
        """Replace the ids of names.

        Arguments:
            tables: by column, the new id of each old one; -1 stays.
            vocabs: the vocabularies of the new ids.

        Returns:
            a forest of the same trees.
        """

        def change(forest: Forest) -> Forest:
            columns = dict(forest.columns)
            for name, table in tables.items():
                columns[name] = np.where(columns[name] < 0, -1, table[columns[name]])
            return forest.with_columns(columns, vocabs)

        return in_parts(self, change)

    def tree(self, index: int) -> Forest:
        """Select one tree.

        Arguments:
            index: the index of the tree (negative: from the end).

        Returns:
            a forest of only this tree.
        """
        return self.select([index])

    @staticmethod
    def concat(forests: Sequence[Forest]) -> Forest:
        """Join forests into one.

        Rows of several ids (``(N, P)`` with a vocabulary) are padded with -1 to the longest.

        Arguments:
            forests: forests with the same columns and vocabularies.

        Returns:
            one forest of all trees.

        Raises:
            TreeError: ``forests`` is empty, or their columns or vocabularies differ.
        """
        if not forests:
            raise TreeError("expected at least one forest, got none")
        first = forests[0]
        if len(forests) == 1:
            return first
        for other in forests[1:]:
            if list(other.columns) != list(first.columns) or other.vocabs != first.vocabs:
                got = [n for n, vocab in first.vocabs.items() if other.vocabs.get(n) != vocab]
                got = got if list(other.columns) == list(first.columns) else []
                raise TreeError(
                    f"expected forests with the columns {list(first.columns)} and the same "
                    f"vocabularies, got {list(other.columns)}"
                    + f" with another vocabulary of {', '.join(got)}" * bool(got)
                    + "; read them with shared vocabularies, read(path, like=data)"
                )
        if any(map(is_on_disk, forests)):
            return joined_on_disk(forests)
        sizes = np.concatenate([forest.sizes for forest in forests])
        return Forest(
            np.concatenate([forest.parent for forest in forests]),
            np.concatenate([forest.pos for forest in forests]),
            offsets_of(sizes),
            {
                name: _stacked([each.columns[name] for each in forests], name in first.vocabs)
                for name in first.columns
            },
            first.vocabs,
        )

    def batch(self, ids: ArrayLike | None = None) -> TreeBatch:
        """Make one graph of several trees, with edges from child to parent.

        The nodes of the first tree come first, in the order of the forest, then those of the
        second, and so on. The edges into a node, and so the messages in its mailbox, are in the
        order of the children's positions. Node data are the columns, edge data ``pos``; integers
        are int64.

        Arguments:
            ids: the trees, see :meth:`select`; default: all.

        Returns:
            the batch, on the CPU.

        Raises:
            IndexError: see :meth:`select`.
            TreeError: see :meth:`select`; or a column holds strings.

        Example:
            >>> forest = Forest.build([-1, 0, 0, -1, 0], offsets=[0, 3, 5])
            >>> batch = forest.batch([1, 0])
            >>> batch.sizes, batch.src, batch.dst
            (tensor([2, 3]), tensor([1, 3, 4]), tensor([0, 2, 2]))
        """
        return self._batch(ids)

    def _batch(self, ids: ArrayLike | None, etype: str | None = None) -> TreeBatch:
        """Return a batch, see :meth:`batch`; ``edata["etype"]`` is a column of the children."""
        chosen = np.arange(len(self)) if ids is None else chosen_ids(ids, len(self))
        rows, offsets = self._rows(chosen)
        # Depths and order are computed once for the forest, then read by every batch.
        depth, pos, sizes = self.depth.take(rows), self.pos.take(rows), offsets[1:] - offsets[:-1]
        parent = self.parent.take(rows) + offsets[:-1].repeat(sizes)  # of roots no matter what
        src = depth.nonzero()[0]
        if not self._in_order:
            src = src[np.lexsort((pos[src], parent[src]))]
        dst, pos = parent.take(src), pos.take(src)
        edata = {"pos": _tensor("pos", pos)}
        if etype is not None:
            edata["etype"] = _tensor(etype, self.columns[etype][rows[src]])
        batch = TreeBatch(
            torch.from_numpy(src),
            torch.from_numpy(dst),
            torch.from_numpy(sizes),
            ndata={name: _tensor(name, column[rows]) for name, column in self.columns.items()},
            edata=edata,
            depth=depth,
        )
        batch.vocabs = self.vocabs
        return batch

    def heterograph(self, ids: ArrayLike | None = None, *, etype: str | None = None) -> DGLGraph:
        """Make one DGL graph with named edge types, such as ``("node", "child0", "node")``.

        Edges lead from child to parent. See :meth:`TreeBatch.heterograph
        <dgltrees.trees.batch.TreeBatch.heterograph>`;
        :func:`~dgltrees.trees.builders.graphs.from_dgl` converts back.

        Arguments:
            ids: the trees, see :meth:`select`; default: all.
            etype: a column with a vocabulary that names the edge of each child, such as
                ``"deprel"``; default: the position of the child.

        Returns:
            the graph.

        Raises:
            IndexError: see :meth:`select`.
            TreeError: see :meth:`batch` and :meth:`TreeBatch.heterograph
                <dgltrees.trees.batch.TreeBatch.heterograph>`.
            ConfigError: the column ``etype`` does not exist or has no vocabulary; or DGL is not
                installed.

        Example:
            >>> Forest.build([-1, 0, 0]).heterograph().etypes
            ['child0', 'child1']
        """
        if etype is not None and etype not in self.vocabs:
            raise ConfigError(
                f"expected a column with a vocabulary as etype, one of {list(self.vocabs)}, "
                f"got {etype!r}"
            )
        batch = self._batch(ids, etype)
        if etype is not None:
            batch.etype_names = tuple(self.vocabs[etype].names)
        return batch.heterograph()

    def save(self, folder: PathLike) -> None:
        """Write the arrays to a folder as ``.npy`` files, and the vocabularies as text.

        Strings in arrays of objects, which may be None, become ids with a vocabulary.

        Arguments:
            folder: the folder; it is created if it does not exist.

        Raises:
            TreeError: a column does not hold numbers or strings.

        Example:
            >>> Forest.build([-1, 0, 0]).save("trees")
            >>> Forest.load("trees")
            Forest(1 tree, 3 nodes, columns: none)
        """
        forest = with_ids(self)
        checked_columns(forest.columns, self.num_nodes, {}, folder)
        Path(folder).mkdir(parents=True, exist_ok=True)
        with ForestWriter(folder) as writer:
            writer.add(forest)
            writer.save()

    @classmethod
    def load(cls, folder: PathLike, *, mmap: bool = True) -> Forest:
        """Load the forest that :meth:`save` wrote.

        Arguments:
            folder: the folder.
            mmap: memory-map the arrays instead of reading them.

        Returns:
            the forest.

        Raises:
            TreeError: the folder holds no forest, one of another version, or a damaged one.
        """
        folder = Path(folder)
        saved = load_arrays(folder, mmap=mmap)
        for name in ("parent", "pos", "depth", "offsets"):
            array = saved[name]
            if array.ndim != 1 or array.dtype.kind != "i":
                raise TreeError(
                    f"expected a row of integers as {name}, got {array.dtype} of shape "
                    f"{array.shape}; write the forest again",
                    file=folder,
                )
        parent, pos, depth, offsets = (saved[n] for n in ("parent", "pos", "depth", "offsets"))
        check_offsets(offsets, len(parent), folder, None)
        check_trees(parent, pos, offsets, None, folder, None)
        check_depths(parent, depth, offsets, folder)
        checked_columns(saved["columns"], len(parent), saved["vocabs"], folder)
        forest = cls(parent, pos, offsets, saved["columns"], saved["vocabs"])
        forest.__dict__.update(depth=depth, _in_order=bool(saved["in_order"]))
        return forest


def _stacked(parts: Sequence[NDArray[Any]], are_ids: bool) -> NDArray[Any]:
    """Stack the rows of all parts; rows of several ids are padded with -1."""
    if not are_ids or parts[0].ndim < 2:
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    rows = (np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=-1) for p in parts)
    return np.concatenate(list(rows))


def counted(number: int, what: str) -> str:
    """Return a number and its noun: ``1 tree``, ``2,000 trees``."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def _tensor(name: str, column: NDArray[Any]) -> torch.Tensor:
    """Convert a column to a tensor; integers become int64, torch's dtype of indices."""
    if column.dtype.kind in "US":
        raise TreeError(
            f"expected numbers in column {name!r} of a batch, got strings; encode them with a "
            "Vocabulary"
        )
    if column.dtype.kind in "iu":
        column = column.astype(np.int64)
    return torch.from_numpy(column)
