"""Examples from records: a tree at a path in each record, and the members next to it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from dgltrees._collector import without_collector
from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.lines import error_in
from dgltrees.formats.values import ID, FileColumn, as_example_columns
from dgltrees.trees.builders.walk import NodeLists, walk
from dgltrees.trees.columns import Column
from dgltrees.trees.columns_of import FirstValues, columns_of, is_missing, shown, with_numbers
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.layout import (
    CHILDREN,
    Evidence,
    children_in,
    infer_layout,
    is_flat,
    nest_nodes,
    single,
)
from dgltrees.trees.vocabulary import Vocabulary

LOGGER = logging.getLogger("dgltrees")
"""The logger of what the package infers, at level INFO."""

ETYPE = "etype"
"""The node column with the key of each child, where children have several keys."""

_DECIDE = 10_000  # records of a pipe that decide on the layout
_PART = 1000  # records that are converted together


@dataclass(frozen=True)
class RecordLayout:
    """Names of the keys or columns of a file that hold the trees and their nodes.

    Each format uses some of the fields, see ``Format.layout``.

    Example:
        >>> from pathlib import Path
        >>> from dgltrees.formats import read
        >>> _ = Path("plans.jsonl").write_text('{"plan": {"inputs": [{}, {}]}, "seconds": 1.5}')
        >>> data = read("plans.jsonl", layout=RecordLayout("inputs", tree_path="plan"))
        >>> data.forest, data.columns["seconds"]
        (Forest(1 tree, 3 nodes, columns: none), array([1.5]))
    """

    children_key: str | list[str] | None = None
    """Key of the children in the object of a node: a list of objects, or one object; or several
    keys, whose children follow each other, with the key of each in the column ``etype``. If the
    tree is a list of nodes, the key of the indices of their children, or of their number in
    preorder. Default: the key that recurs in its own lists, or one with a known name."""
    tree_path: str | list[str] | None = None
    """Path from a record to the object of the root, with dots between keys, such as ``Plan`` or
    ``json.Plan``; default: inferred too. Empty: the record is the root. Two paths if a record has a
    pair of trees."""
    tree_id: str | None = None
    """Column of the tree of each row of a node table; default: ``tree`` or ``tree_id``."""
    node_id: str | None = None
    """Column of the ids of nodes; default: ``node``, ``node_id`` or ``id``. With ``depth`` it is
    used only if it is named here; the rows of each tree are then sorted by it."""
    parent: str | None = None
    """Column of the id of each node's parent, empty at a root; default: ``parent`` or
    ``parent_id``. In Arrow files the column of lists of parents."""
    depth: str | None = None
    """Column of the depth of each node, with rows in preorder; default: ``depth``, if there is no
    column of parents."""
    categorical_columns: tuple[str, ...] = ()
    """Columns to read as strings, even if all or some of their values are numbers."""
    missing: tuple[str, ...] = ()
    """Words of a CSV or TSV file that mean a missing value in every column, such as ``NA`` or
    ``-``; default: only an empty cell, and in columns of numbers also ``NA``, ``N/A``, ``NaN``,
    ``nan``, ``NULL``, ``null`` and ``\\N``."""
    attributes: bool = False
    """Whether attributes of XML elements are nodes too: children ``@name`` with their value."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths to the roots as a tuple; empty if the record itself is the root."""
        path = self.tree_path
        return (path,) if isinstance(path, str) and path else tuple(path or ())

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the children as a tuple; empty if they are not given."""
        key = self.children_key
        return (key,) if isinstance(key, str) else tuple(key or ())


Layout = TypeVar("Layout", bound=RecordLayout)


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


def complete(layout: Layout, records: Iterable[Any], *, sure: float = 0.0) -> Layout:
    """Infer the path to the root and the key of the children that a layout does not have.

    With ``sure`` above 0, the layout stays as it is unless this share of the records decides, see
    :func:`~dgltrees.trees.layout.infer_layout`.
    """
    if layout.keys and layout.tree_path is not None:
        return layout
    found = infer_layout(records, _given(layout), layout.keys, sure=sure)
    return layout if found is None and sure else _completed(layout, found)


def _given(layout: RecordLayout) -> tuple[str, ...]:
    return ("",) if layout.tree_path == "" else layout.paths


def _completed(layout: Layout, found: tuple[str, tuple[str, ...]] | None) -> Layout:
    path, keys = found or ("", layout.keys or (CHILDREN,))
    key: Any = keys[0] if len(keys) == 1 else [*keys]
    return replace(
        layout,
        children_key=layout.children_key or key,
        tree_path=path if layout.tree_path is None else layout.tree_path,
    )


def layout_of_model(layout: Layout, records: Sequence[Any], inputs: Sequence[Column]) -> Layout:
    """Return the layout of a model for new records, whose roots may be in another place.

    Records with a column of the model or with its children are roots.
    """
    first = [each for each in map(single, records[:100]) if isinstance(each, Mapping)]
    outer = layout.paths[0].partition(".")[0] if layout.paths else None
    if len(layout.paths) > 1 or any(outer in each for each in first):
        return layout
    names = {*layout.keys, *(part for c in inputs for part in (c.name, c.name.partition(".")[0]))}
    if not first or any(not names.isdisjoint(each) for each in first):
        return replace(layout, tree_path="")
    return complete(replace(layout, tree_path=None), records)


def read_as_names(layout: Layout, inputs: Sequence[Column]) -> Layout:
    """Return a layout that reads the categories and texts of a model as names."""
    names = [each.name for each in inputs if each.kind in ("category", "text")]
    return replace(layout, categorical_columns=(*layout.categorical_columns, *names))


def trees_of_records(
    records: Sequence[Any],
    layout: RecordLayout,
    share: Literal[False] | None = None,
    inputs: Sequence[Column] = (),
) -> tuple[LabeledTrees, RecordLayout]:
    """Convert dictionaries in memory to trees, as those of a JSON Lines file.

    ``inputs`` are the columns of a model, whose layout it is.
    """
    if inputs:
        layout = read_as_names(layout_of_model(layout, records, inputs), inputs)
    layout = complete(layout, records)
    reader = Records(None, layout, share)
    examples = reader.examples(records, range(len(records)))
    reader.announce()
    return examples, layout


def numbered(examples: LabeledTrees, names: Sequence[str] = ()) -> LabeledTrees:
    """Convert node columns of strings which are all numbers, see :func:`with_numbers`."""
    forest, columns = with_numbers(examples.forest, names)
    if columns:
        LOGGER.info("numbers in strings: %s", ", ".join(map(repr, columns)))
    return replace(examples, forest=forest) if columns else examples


def reading(layout: RecordLayout, sizes: NDArray[np.int64]) -> str:
    """Return a line with the layout of records and the numbers of nodes of their trees."""
    low, median, high = np.quantile(sizes, [0, 0.5, 1], method="nearest").tolist()
    count = f"{low:,}" if low == high else f"{low:,} to {high:,} (median {median:,})"
    if not layout.keys:
        return f"nodes per tree: {count}"
    roots = ", ".join(map(repr, layout.paths)) or "the record"
    return f"root: {roots}; children: {', '.join(map(repr, layout.keys))}; nodes per tree: {count}"


def stream_records(
    path: PathLike, numbered: Iterator[tuple[int, Any]], layout: RecordLayout, trees: int
) -> Iterator[LabeledTrees]:
    """Convert the records of a file with their lines to examples, ``trees`` at a time.

    If the layout is not complete, the file can be read only once: its first records decide, and a
    later record that decides otherwise is an error.
    """
    source: Any = numbered  # a generator, which holds the file
    if not layout.keys or layout.tree_path is None:
        first = [*islice(numbered, _DECIDE)]
        evidence = Evidence(_given(layout), layout.keys)
        for _, record in first:
            evidence.add(record)
        given, layout = layout, _completed(layout, evidence.layout())
        numbered = chain(first, _checked(numbered, evidence, given, layout, path))
    reader = Records(path, layout)
    try:
        while True:
            with without_collector():
                part = [*islice(numbered, min(trees, _PART))]
                if not part:
                    break
                lines, records = zip(*part)
                examples = reader.examples(records, lines)
            yield examples
    finally:
        source.close()
        reader.announce()


def _checked(
    numbered: Iterator[tuple[int, Any]],
    evidence: Evidence,
    given: RecordLayout,
    layout: RecordLayout,
    path: PathLike,
) -> Iterator[tuple[int, Any]]:
    """Iterate over further records, which must not change the layout."""
    facts = evidence.facts()
    for line, record in numbered:
        evidence.add(record)
        if evidence.facts() != facts:
            facts, got = evidence.facts(), ""
            try:
                other = _completed(given, evidence.layout())
            except TreeError as error:
                other, got = None, f": {error.message}"
            if other != layout:
                if other is not None:
                    got = f", got {other.children_key!r} at {other.tree_path!r}"
                raise TreeError(
                    f"expected children under {layout.children_key!r} and roots at "
                    f"{layout.tree_path!r}, as the first {_DECIDE:,} records have them{got}; give "
                    f"children_key and tree_path, or read a file in place of a pipe",
                    file=path,
                    line=line,
                )
        yield line, record


class Records:
    """A reader of the records of one data set, part by part.

    Arguments:
        path: the file, for the errors; None for records in memory, whose lines are their numbers.
        layout: the paths of the roots in a record, and the keys of the children in a node.
        share: see :func:`~dgltrees.trees.builders.objects.from_objects`.
    """

    def __init__(
        self,
        path: PathLike | None,
        layout: RecordLayout,
        share: Literal[False] | None = None,
    ) -> None:
        self.layout = layout if layout.keys else replace(layout, children_key=CHILDREN)
        self.keys, self.share = self.layout.keys, share
        self.error = (
            (lambda text, line: TreeError(text, tree=line)) if path is None else error_in(path)
        )
        self.names = frozenset(layout.categorical_columns)
        self.path, self.sizes = path, list[NDArray[np.int64]]()
        self.nodes: tuple[FirstValues, dict[str, Vocabulary]] = ({}, {})
        self.others: tuple[FirstValues, dict[str, Vocabulary]] = ({}, {})

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
        records = [*map(single, records)]
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
        offsets = np.array(lists.offsets)

        def error_of_node(message: str, node: int) -> TreeError:
            tree = int(offsets.searchsorted(node, side="right")) - 1
            return self.error(message, lines[tree // arity])

        first, known = self.nodes
        arrays, vocabs = columns_of(
            lists.objects,
            error_of_node,
            vocabs=known,
            names=self.names,
            first=first,
            without=[(key,) for key in self.keys],
        )
        if len(self.keys) > 1:
            if ETYPE in arrays:
                raise error_of_node(f"expected no key {ETYPE!r}, which is that of edges", 0)
            vocabs[ETYPE] = known.setdefault(ETYPE, Vocabulary())
            arrays[ETYPE] = vocabs[ETYPE].encode(self._types(lists))
        forest = lists.walked(arrays, vocabs)
        self.sizes.append(forest.sizes)
        beside = dict(columns or {})
        if self.layout.paths:
            for name, column in self._members(records, lines, paths).items():
                if name in beside:
                    raise self.error(f"expected every column once, got {name!r} twice", lines[0])
                beside[name] = column
        return LabeledTrees(forest, as_example_columns(beside, lines), arity)

    def announce(self) -> None:
        """Say where the trees were."""
        if self.sizes and LOGGER.isEnabledFor(logging.INFO):
            text = reading(self.layout, np.concatenate(self.sizes))
            LOGGER.info("%s: %s", os.fspath(self.path or "trees"), text)

    def _members(
        self, records: Sequence[Any], lines: Sequence[int], paths: Sequence[Sequence[str]]
    ) -> dict[str, NDArray[Any]]:
        """Return the columns of the members next to the trees; names are strings."""
        first, known = self.others
        without = [tuple(keys) for keys in paths]
        columns, vocabs = columns_of(
            records,
            lambda message, row: self.error(message, lines[row]),
            vocabs=known,
            names=self.names,
            first=first,
            without=[*without, (ID,)],
        )
        ids = [each.get(ID) for each in records]
        if (ID,) not in without and not all(map(is_missing, ids)):
            columns[ID] = np.empty(len(ids), object)
            columns[ID][:] = ids
        for name, vocab in vocabs.items():
            columns[name] = np.array([*vocab.names, None], object)[columns[name]]
        return columns

    def _root(self, record: Any, keys: Sequence[str], line: int) -> Mapping[str, Any]:
        """Return the object of a root, which may be in a list of its own."""
        value, place = record, ""
        for key in keys:
            if not isinstance(value, dict) or key not in value:
                got = f"the keys {', '.join(value)}" if isinstance(value, dict) else shown(value)
                raise self.error(
                    f"expected the root under {'.'.join(keys)!r}, got {got}"
                    f"{f' under {place!r}' if place else ''}; tree_path names another path",
                    line,
                )
            value, place = value[key], f"{place}.{key}" if place else key
            value = single(value)
        if isinstance(value, list) and is_flat(value, self.keys[0]):
            try:
                return nest_nodes(value, self.keys[0])
            except TreeError as error:
                raise self.error(error.message, line) from None
        if not isinstance(value, dict):
            where = f" under {place!r}" if place else ""
            raise self.error(f"expected an object for the root{where}, got {shown(value)}", line)
        return value

    def _children(self, node: Any) -> Sequence[Any]:
        if not isinstance(node, dict):
            raise TreeError(f"expected an object for each node, got {shown(node)}")
        found: list[Any] = []
        for key in self.keys:
            value: Any = node.get(key)
            members = children_in(value)
            one = isinstance(value, dict) and len(self.keys) == 1
            if one and all(isinstance(each, dict) for each in value.values()):
                members = None  # such as children by name
            if members is None and not is_missing(value):
                raise TreeError(f"expected a list of nodes under {key!r}, got {shown(value)}")
            found += members or ()
        return found

    def _types(self, lists: NodeLists) -> list[str | None]:
        """Return the key of each node in its parent, None at roots."""
        types: list[str | None] = []
        for start, stop in pairwise(lists.offsets):
            of_children: dict[int, list[str]] = {}
            for node in range(start, stop):
                up = lists.parent[node]
                if up >= 0 and up not in of_children:
                    parent = lists.objects[start + up]
                    of_children[up] = [
                        key for key in self.keys for _ in children_in(parent.get(key)) or ()
                    ]
                types.append(of_children[up][lists.pos[node]] if up >= 0 else None)
        return types
