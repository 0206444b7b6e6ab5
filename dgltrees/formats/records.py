"""Examples from JSON records: a tree at a path in each record, and the members next to it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from dgltrees._files import PathLike
from dgltrees._json import load_json
from dgltrees.errors import TreeError
from dgltrees.formats.format import RecordLayout, complete_layout
from dgltrees.formats.lines import error_in
from dgltrees.formats.values import (
    ID,
    ColumnTypes,
    FileColumn,
    as_example_columns,
    as_node_columns,
    shown,
)
from dgltrees.trees.builders.objects import CHILDREN
from dgltrees.trees.builders.walk import walk
from dgltrees.trees.columns import Column
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.vocabulary import Vocabulary

_NO_NODES = ("Workers",)
"""Keys of PostgreSQL's lists of objects that are not nodes."""


def parse_json(text: str, path: PathLike, line: int) -> Any:
    """Parse JSON of a line; replace a list of one value, as EXPLAIN prints it, by that value."""
    try:
        value = load_json(text)
    except ValueError as error:
        raise TreeError(str(error), file=path, line=line) from None
    return single(value)


def single(value: Any) -> Any:
    """Return the value of a list of one value, as EXPLAIN has it; another value unchanged."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def listed(trees: Any) -> Any:
    """Return a column of trees as a list or array, and other trees unchanged.

    A column is a Series of pandas, or a table or array with one column, as ensembles of
    scikit-learn pass it.
    """
    if getattr(trees, "ndim", 0) == 2 and trees.shape[1] == 1:
        return np.asarray(trees)[:, 0]
    return trees.to_list() if hasattr(trees, "to_list") else trees


def is_records(trees: Any) -> bool:
    """Return whether trees are a sequence of dictionaries, each possibly in a list of its own."""
    some = isinstance(trees, (list, tuple, np.ndarray)) and len(trees) > 0
    return some and isinstance(single(trees[0]), dict)


def layout_of(layout: RecordLayout, records: Sequence[Any]) -> RecordLayout:
    """Complete a layout by the first records, or by all if these have no children."""
    found = complete_layout(layout, records[:100])
    return found if found.children_key else complete_layout(layout, records)


def with_roots(layout: Any, records: Sequence[Any], inputs: Sequence[Column]) -> Any:
    """Return the layout of a model that learned from roots, for new records.

    Records with one of its columns are roots, even if they have no children and one of their
    members has some. In others the path to the root is inferred.
    """
    known = layout.children_key is not None and layout.tree_path is None
    first = [each for each in map(single, records[:100]) if isinstance(each, dict)]
    if known and any(column.name in each for each in first for column in inputs):
        return replace(layout, tree_path="")
    return layout


def trees_of_records(
    records: Sequence[Any],
    layout: RecordLayout,
    share: Literal[False] | None = None,
    inputs: Sequence[Column] = (),
) -> tuple[LabeledTrees, RecordLayout]:
    """Convert dictionaries in memory to trees, as those of a JSON Lines file."""
    reader = Records(None, with_roots(layout, records, inputs), share)
    trees = reader.examples([*map(single, records)], range(len(records)))
    return trees, reader.layout


class Records:
    """A reader of the records of one file, chunk by chunk.

    Arguments:
        path: the file, for the errors; None for records in memory, whose lines are their numbers.
        layout: the paths of the roots in a record, and the key of the children in a node.
        share: see :func:`~dgltrees.trees.builders.objects.from_objects`.
    """

    def __init__(
        self, path: PathLike | None, layout: RecordLayout, share: Literal[False] | None = None
    ) -> None:
        self.layout, self.share = layout, share
        self.error = (
            (lambda text, line: TreeError(text, tree=line)) if path is None else error_in(path)
        )
        self.nodes = ColumnTypes(path, layout.categorical_columns)
        self.beside = ColumnTypes(path, layout.categorical_columns, unchanged=ID)
        self._in_memory, self._is_complete = path is None, False

    def examples(
        self,
        records: Sequence[Any],
        lines: Sequence[int],
        columns: Mapping[str, FileColumn] | None = None,
    ) -> LabeledTrees:
        """Return the examples of some records.

        Node columns: the members of the nodes without their children. Example columns: ``line``,
        then ``columns``, then the members of the records next to the trees.
        """
        if not self._is_complete:
            self._complete(records)
        paths = [path.split(".") for path in self.layout.paths] or [[]]
        arity = len(paths)
        roots = [
            self._root(record, keys, line) for record, line in zip(records, lines) for keys in paths
        ]
        try:
            lists = walk(roots, self._children, share=self.share)
        except TreeError as error:
            line = lines[(error.tree or 0) // arity]
            raise self.error(error.message, line) from error.__cause__
        nodes, offsets = lists.objects, np.array(lists.offsets)
        children = str(self.layout.children_key)

        def line_of(node: int) -> int:
            return lines[(int(offsets.searchsorted(node, side="right")) - 1) // arity]

        columns_of = self.nodes.of_objects(nodes, line_of, without=[(children,)])
        arrays, vocabs = as_node_columns(columns_of)
        self._warn_of_lists(vocabs)
        self._warn_of_objects(arrays)
        forest = lists.walked(arrays, vocabs)
        beside = dict(columns or {})
        if self.layout.paths:
            without = [tuple(keys) for keys in paths]
            members = self.beside.of_objects(records, lines.__getitem__, without=without)
            self._warn_of_trees(members)
            for name, column in members.items():
                if name in beside:
                    raise self.error(f"expected every column once, got {name!r} twice", lines[0])
                beside[name] = column
        return LabeledTrees(forest, as_example_columns(beside, lines), arity)

    def _complete(self, records: Sequence[Any]) -> None:
        """Complete the layout by the first records, which may be roots in spite of its path."""
        layout, first = self.layout, records[0]
        outer = layout.paths[0].partition(".")[0] if len(layout.paths) == 1 else None
        is_root = isinstance(first, dict) and (self._in_memory or layout.children_key in first)
        if outer is not None and is_root and outer not in first:
            layout = replace(layout, tree_path=None)
        elif self._in_memory or layout.children_key is None:  # a file has been looked at
            layout = layout_of(layout, records)
        self.layout = replace(layout, children_key=layout.children_key or CHILDREN)
        self._is_complete = True

    def _warn_of_lists(self, vocabs: Mapping[str, Vocabulary]) -> None:
        """Warn of other keys with lists of objects, some of which may be meant as children."""
        lists = [
            name
            for name, names in vocabs.items()
            if name not in _NO_NODES and any(each.startswith('[{"') for each in names.names)
        ]
        if lists:
            warnings.warn(
                f"lists of objects under {', '.join(map(repr, lists))} are read as strings; the "
                f"key of the children is {self.layout.children_key!r}",
                stacklevel=2,
            )

    def _warn_of_objects(self, columns: Mapping[str, Any]) -> None:
        """Warn of objects with the members of nodes, which may be meant as children."""
        members: dict[str, set[str]] = {}
        for name in columns:
            key, _, member = name.rpartition(".")
            members.setdefault(key, set()).add(member)
        own = members.pop("", set())
        keys = [
            key for key, of in members.items() if "." not in key and 2 * len(of & own) >= len(of)
        ]
        if keys:
            warnings.warn(
                f"objects under {', '.join(map(repr, keys))} have the members of nodes, and are "
                "read as columns; if they are children, use Forest.from_objects, whose argument "
                "children takes several keys or a function",
                stacklevel=2,
            )

    def _warn_of_trees(self, beside: Mapping[str, FileColumn]) -> None:
        """Warn of other trees next to those at the paths, which are read as strings."""
        key = self.layout.children_key
        others = [
            name
            for name, column in beside.items()
            if name.rpartition(".")[2] == key
            and column.dtype == object
            and any(isinstance(text, str) and text.startswith("[{") for text in column.tolist())
        ]
        if others:
            warnings.warn(
                f"trees with children under {', '.join(map(repr, others))} are read as strings; "
                f"the roots are under {', '.join(self.layout.paths)}, and two paths read pairs",
                stacklevel=2,
            )

    def _root(self, record: Any, keys: Sequence[str], line: int) -> Mapping[str, Any]:
        """Return the object of a root, which may be in a list of its own."""
        value, place = record, ""
        for key in keys:
            if not isinstance(value, dict) or key not in value:
                got = f"the keys {', '.join(value)}" if isinstance(value, dict) else shown(value)
                raise self.error(
                    f"expected the root under {'.'.join(keys)!r}, got {got}"
                    f"{f' under {place!r}' if place else ''}",
                    line,
                )
            value, place = value[key], f"{place}.{key}" if place else key
            value = single(value)
        if not isinstance(value, dict):
            where = f" under {place!r}" if place else ""
            raise self.error(f"expected an object for the root{where}, got {shown(value)}", line)
        return value

    def _children(self, node: Any) -> Sequence[Any]:
        if not isinstance(node, dict):
            raise TreeError(f"expected an object for each node, got {shown(node)}")
        children = node.get(self.layout.children_key)
        if children is None:
            return ()
        if not isinstance(children, (list, tuple)):
            key = self.layout.children_key
            raise TreeError(f"expected a list of nodes under {key!r}, got {shown(children)}")
        return children
