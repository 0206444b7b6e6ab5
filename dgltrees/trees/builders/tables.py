"""Forests from tables with a row per node, which names the parent (in any order) or the depth."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import RowError, TreeError
from dgltrees.trees.columns import EXACT, column_names, name_of
from dgltrees.trees.columns_of import columns_of_values, is_missing
from dgltrees.trees.forest import Forest
from dgltrees.trees.order import cycle_of, depths, parents_of_depths
from dgltrees.trees.segments import Ints, cumcount, inverse, offsets_of, run_offsets
from dgltrees.trees.text_cells import numbers_of
from dgltrees.trees.vocabulary import Vocabulary


def parents_of_ids(
    tree: Ints, ids: Sequence[Hashable], parent_ids: Sequence[Hashable]
) -> tuple[Ints, Ints]:
    """Find the row of each row's parent, and the first row of each id."""
    codes = dict(zip(dict.fromkeys(ids), itertools.count()))
    code = np.fromiter(map(codes.__getitem__, ids), np.int64, len(ids))
    parent_code = np.fromiter(map(codes.get, parent_ids, itertools.repeat(-1)), np.int64, len(ids))
    keys = tree * len(codes) + code
    order = keys.argsort(kind="stable")
    keys = keys[order]
    runs = run_offsets(keys)
    first = np.empty_like(order)
    first[order] = order[runs[:-1]].repeat(np.diff(runs))
    wanted = tree * len(codes) + parent_code
    place = np.minimum(keys.searchsorted(wanted), len(keys) - 1)
    known = (parent_code >= 0) & (keys[place] == wanted)
    return np.where(known, order[place], -1), first


def roots_of_rows(parent: Ints, error: RowError) -> Ints:
    """Find the row of the root above each row."""
    cyclic = depths(parent) < 0
    if cyclic.any():
        cycle = cycle_of(np.flatnonzero(cyclic), parent[cyclic])
        names = ", ".join(map(str, cycle[:5])) + ", ..." * (len(cycle) > 5)
        raise error(
            f"expected parents that lead to a root, got a cycle at or above it ({names})",
            int(np.argmax(cyclic)),
        )
    root = np.where(parent < 0, np.arange(len(parent)), parent)
    while not np.array_equal(root, root[root]):
        root = root[root]  # twice as far up
    return root


def forest_of_rows(
    parent: Ints,
    root: Ints,
    pos: Ints | None = None,
    *,
    columns: Mapping[str, NDArray[Any]],
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """Build a forest with a tree per root, in the order of their first rows; nodes in row order."""
    _, first, tree = np.unique(root, return_index=True, return_inverse=True)
    tree = inverse(np.argsort(first))[tree]
    order = np.argsort(tree, kind="stable")
    offsets = offsets_of(np.bincount(tree))
    local = inverse(order) - offsets[tree]
    if pos is None:
        pos = np.where(parent < 0, 0, cumcount(parent))
    return Forest.build(
        np.where(parent < 0, -1, local[parent])[order],
        pos=pos[order],
        offsets=offsets,
        columns={name: column[order] for name, column in columns.items()},
        vocabs=vocabs,
    )


def from_table(
    frame: Any,
    id: str = "id",  # noqa: A002
    parent: str = "parent",
    *,
    tree: str | None = None,
    depth: str | None = None,
    columns: Sequence[str] | None = None,
    vocabs: Mapping[str, Vocabulary] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Forest:
    """Build a forest from a table with a row per node: its id and that of its parent, or its depth.

    Rows may be in any order; the children of a node are in row order. There is a tree per root, in
    the order of their first rows, and its nodes are in row order. None and NaN are missing values.
    A missing parent makes a root, and so does -1 if it is not an id. Types are converted as in
    :func:`~dgltrees.trees.builders.objects.from_objects`.

    With ``depth``, ids and parents are ignored: the rows of a tree follow each other in preorder. A
    new tree begins where the value of ``tree`` changes; without ``tree``, at each row that is as
    deep as the first row.

    Arguments:
        frame: a pandas data frame, a dictionary of sequences of equal length, or any other object
            that iterates over its column names and returns a column by name. Names that are
            numbers become strings.
        id: the column of ids: numbers, strings, or any other hashable values.
        parent: the column of the ids of parents, missing at roots.
        tree: the column of the tree of each row. Ids are then unique within a tree; by default they
            are unique in the table.
        depth: the column of depths, integers, instead of ids and parents.
        columns: the columns to use as node columns; default: all others.
        vocabs: vocabularies of columns of strings to use.
        kinds: required kinds of columns, see
            :func:`~dgltrees.trees.builders.objects.from_objects`.

    Returns:
        the forest.

    Raises:
        TreeError: an id, a depth or a tree is missing, or an id occurs twice; a parent is not an id
            of the tree, there is a cycle, or a tree does not have exactly one root; a depth is not
            an integer, or more than one below the row before; there is no row, no such column or
            a second one; columns differ in length; the values of a column have several kinds; or
            ``frame`` is a path, a list or an Arrow table. The error names the row, from 0.

    Example:
        >>> from_table({"id": [1, 2, 3], "parent": [None, 1, 1], "cost": [3.0, 1.0, 2.0]})
        Forest(1 tree, 3 nodes, columns: cost (float64))
    """
    kind = type(frame)
    if isinstance(frame, (str, PathLike, list, tuple)) or kind.__module__.startswith("pyarrow"):
        got = f"a {kind.__name__} of pyarrow" if kind.__module__[0] == "p" else f"{frame!r:.40}"
        raise TreeError(
            f"expected a data frame or a mapping of columns, got {got}; dgltrees.read reads a "
            "file, pandas.DataFrame makes a table of a list of rows, and to_pandas one of Arrow's"
        )
    labels = dict(zip(column_names(frame), frame))
    names = (id, parent, None) if depth is None else (None, None, depth)
    used = NodeColumns(*(None if name is None else str(name) for name in (*names, tree)))
    places = [name for name in used if name is not None]
    others = [name for name in labels if name not in places]
    chosen = others if columns is None else [*map(str, columns)]
    for name in (*places, *chosen):
        if name not in labels:
            cure = "; for rows in preorder with their depths, give depth='depth'"
            cure = cure if depth is None and "depth" in labels else ""
            raise TreeError(f"expected a column {name!r}, got {', '.join(labels)}{cure}")
    table = {name: _values(frame[labels[name]]) for name in dict.fromkeys((*places, *chosen))}
    first = places[0]
    for name, values in table.items():
        if len(values) != len(table[first]):
            raise TreeError(
                f"expected columns of one length, got {len(table[first])} values of {first!r} and "
                f"{len(values)} of {name!r}"
            )
    if not table[first]:
        raise TreeError("expected at least one row, got an empty table")
    for name in places:
        _check_hashable(table, name)
    typed, vocabularies = columns_of_values(
        {name: table[name] for name in chosen},
        _error,
        vocabs,
        [name for name, kind in (kinds or {}).items() if kind == "name"],
    )
    return forest_of_nodes(used, table, typed, vocabularies, _error)[0]


class NodeColumns(NamedTuple):
    """The names of the columns that define the trees: ids and parents, or depths."""

    id: str | None
    parent: str | None
    depth: str | None
    tree: str | None


def forest_of_nodes(
    names: NodeColumns,
    table: Mapping[str, Sequence[Any]],
    columns: Mapping[str, NDArray[Any]],
    vocabs: Mapping[str, Vocabulary],
    error: RowError,
    *,
    place: Callable[[int], str] = "row {}".format,
    cure: str = "",
    no_parent: Collection[Hashable] = (-1,),
) -> tuple[Forest, Ints]:
    """Build a forest of a table with a row per node; return it and the first row of each tree.

    A missing value of the table is None. A parent that is one of ``no_parent`` and no id makes a
    root too. Errors name other rows by ``place``, and end with ``cure`` where ids do not fit.
    """
    for name in (names.tree, names.id, names.depth):
        if name is not None and None in table[name]:
            raise error(f"missing value in column {name!r}", table[name].index(None))
    trees = None if names.tree is None else table[names.tree]
    if names.id is None or names.parent is None:
        parents = _parents_by_depth(table[str(names.depth)], str(names.depth), trees, error)
    else:
        parents = _parents(names, table, error, place, cure, no_parent)
    roots = roots_of_rows(parents, error)
    if trees is not None:
        _check_one_root(trees, roots, error, place)
    first = np.unique(np.unique(roots, return_index=True)[1])
    return forest_of_rows(parents, roots, columns=columns, vocabs=vocabs), first


def _error(message: str, row: int) -> TreeError:
    return TreeError(f"row {row}: {message}")


def _values(column: Any) -> list[Any]:
    """Return the values of a column, None where one is missing."""
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    return [None if is_missing(value) else value for value in values]


def _check_hashable(table: Mapping[str, Sequence[Any]], name: str) -> None:
    unhashable = {each for each in set(map(type, table[name])) if each.__hash__ is None}
    for row, value in enumerate(table[name] if unhashable else ()):
        if type(value) in unhashable:
            raise _error(f"expected a hashable value as {name!r}, got {value!r}", row)


def _parents(
    names: NodeColumns,
    table: Mapping[str, Sequence[Any]],
    error: RowError,
    place: Callable[[int], str],
    cure: str,
    no_parent: Collection[Hashable],
) -> Ints:
    """Return the row of each row's parent, ``(N,)``; -1 at roots."""
    ids, parent_ids = table[str(names.id)], table[str(names.parent)]
    trees = [0] * len(ids) if names.tree is None else table[names.tree]
    for row, name in enumerate(parent_ids):
        if isinstance(name, (float, np.floating)) and abs(name) >= EXACT:
            raise error(
                f"expected {names.parent!r} to hold ids below 2^53 as floats, got {name!r}, which "
                "may be rounded; read the ids as text, or as Int64 of pandas",
                row,
            )
    if any(isinstance(each, str) for each in ids) != any(isinstance(p, str) for p in parent_ids):
        ids, parent_ids = ([*map(name_of, each)] for each in (ids, parent_ids))
    number = dict(zip(dict.fromkeys(trees), itertools.count()))
    parents, first = parents_of_ids(np.array([number[name] for name in trees]), ids, parent_ids)
    for row in np.flatnonzero(first != np.arange(len(first)))[:1].tolist():
        raise error(
            f"expected every {names.id!r} once, got {ids[row]!r} of {place(first[row])} again"
            f"{cure}",
            row,
        )
    for row in np.flatnonzero(parents < 0).tolist():
        if parent_ids[row] is not None and parent_ids[row] not in no_parent:
            within = "" if names.tree is None else f" in the tree {trees[row]!r}"
            raise error(
                f"expected a value of {names.id!r}{within} as {names.parent!r}, got "
                f"{parent_ids[row]!r}; leave it empty at roots",
                row,
            )
    return parents


def _parents_by_depth(
    values: Sequence[Any], name: str, trees: Sequence[Any] | None, error: RowError
) -> Ints:
    """Return the row of each row's parent, ``(N,)``; -1 at roots."""
    for row, value in enumerate(values):
        numbers = numbers_of([value]) if isinstance(value, str) else [value]  # next to a text
        if numbers is None or not _is_whole(numbers[0]):
            raise error(f"expected an integer as {name!r}, got {value!r}", row)
    depths = np.array(values).astype(np.int64)
    begins = depths == depths[0]
    if trees is not None:
        begins = np.array([True, *(a != b for a, b in itertools.pairwise(trees))])
    return parents_of_depths(depths, np.flatnonzero(begins), error)


def _is_whole(value: Any) -> bool:
    number = isinstance(value, (int, float, np.number))
    return number and abs(value) < EXACT and float(value).is_integer()


def _check_one_root(
    trees: Sequence[Any], roots: Ints, error: RowError, place: Callable[[int], str]
) -> None:
    root_of: dict[Any, int] = {}
    for row, (name, root) in enumerate(zip(trees, roots.tolist())):
        if root_of.setdefault(name, root) != root:
            others = f"{place(root_of[name])} and {place(root)}"
            raise error(f"expected one root in the tree {name!r}, got {others}", row)
