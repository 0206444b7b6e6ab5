"""Checks of the arrays of a forest; an error names file, line, tree and node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.order import depths
from dgltrees.trees.segments import Bools, Ints, cumcount, locate, owner
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dgltrees.trees.forest import Forest


def integers(values: ArrayLike, name: str, file: PathLike | None) -> Ints:
    """Convert values to an int64 array of one dimension."""
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise TreeError(f"expected a row of integers as {name}, got {error}", file=file) from None
    if array.ndim != 1 and not (array.ndim == 0 and name == "tree ids"):
        raise TreeError(
            f"expected a row of integers as {name}, got {array.ndim} dimensions", file=file
        )
    if array.size and array.dtype.kind not in "iu":
        raise TreeError(f"expected integers as {name}, got {array.dtype}", file=file)
    if array.size and array.dtype.kind == "u" and int(array.max()) > np.iinfo(np.int64).max:
        raise TreeError(f"expected {name} below 2^63, got {array.max()}", file=file)
    return array.astype(np.int64)


def chosen_ids(ids: ArrayLike, count: int, what: str = "tree") -> Ints:
    """Convert an index, indices or a mask to an array of ids; their range is not checked."""
    with suppress(ValueError, OverflowError):  # no array, which integers refuses
        mask = np.asarray(ids)
        if mask.dtype == bool:
            if mask.shape != (count,):
                raise IndexError(
                    f"expected a mask of {count} values, one per {what}, got shape {mask.shape}"
                )
            return np.flatnonzero(mask)
    return np.atleast_1d(integers(ids, "tree ids", None))


def check_rows(columns: Mapping[str, Any], num_nodes: int, file: PathLike | None = None) -> None:
    """Raise TreeError if a column does not have a row per node."""
    for name, column in columns.items():
        rows = len(column) if np.ndim(column) else 0
        if rows != num_nodes:
            raise TreeError(
                f"expected column {name!r} to have {num_nodes} rows, one per node, got {rows} rows",
                file=file,
            )


def checked_columns(
    columns: Mapping[str, ArrayLike],
    num_nodes: int,
    vocabs: Mapping[str, Vocabulary],
    file: PathLike | None,
) -> dict[str, NDArray[Any]]:
    """Convert each column to an array with a row per node of numbers, strings or valid ids."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, values in columns.items():

        def error(rule: str, name: str = name) -> TreeError:
            return TreeError(f"expected column {name!r} to {rule}", file=file)

        try:
            arrays[name] = column = np.asarray(values)
        except (ValueError, OverflowError) as cause:
            raise error(f"hold rows of one shape, got: {cause}") from None
        check_rows({name: column}, num_nodes, file)
        if column.dtype.kind not in "biufcUS":
            raise error(f"hold numbers or strings, got {column.dtype}")
        if name in vocabs and column.size:
            if column.dtype.kind not in "iu":
                raise error(f"hold integers, the ids of its vocabulary, got {column.dtype}")
            low, high = int(column.min()), int(column.max())
            if low < -1 or high >= len(vocabs[name]):
                raise error(
                    f"hold -1 or ids of the {len(vocabs[name])} names of its vocabulary, got "
                    f"{low if low < -1 else high}"
                )
    return arrays


def positions_by_order(parent: Ints, offsets: Ints) -> Ints:
    """Assign positions to the children of each node in node order."""
    up = parent + np.repeat(offsets[:-1], np.diff(offsets))
    pos = cumcount(np.where(parent < 0, -1, up))
    pos[parent < 0] = 0
    return pos


def check_offsets(
    offsets: Ints, num_nodes: int, file: PathLike | None, lines: Sequence[int] | None
) -> None:
    """Raise TreeError unless ``(T + 1,)`` offsets cut ``num_nodes`` into trees of at least one."""
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != num_nodes:
        got = f"{offsets[0]} to {offsets[-1]}" if len(offsets) else "none"
        raise TreeError(
            f"expected offsets from 0 to the number of nodes, {num_nodes}, got {got}", file=file
        )
    empty = np.diff(offsets) <= 0
    if empty.any():
        tree = int(np.argmax(empty))
        line = None if lines is None else int(lines[tree])
        raise TreeError(
            "expected at least one node, got an empty tree", file=file, line=line, tree=tree
        )


def check_trees(
    parent: NDArray[Any],
    pos: NDArray[Any],
    offsets: Ints,
    max_children: int | None,
    file: PathLike | None,
    lines: Sequence[int] | None,
) -> None:
    """Check that parents and positions form a tree in every segment; the offsets must be valid.

    The arguments are those of :meth:`Forest.build <dgltrees.trees.forest.Forest.build>`.
    """
    if len(pos) != len(parent):
        raise TreeError(f"expected {len(parent)} positions, got {len(pos)}", file=file)
    sizes = np.diff(offsets)
    tree_of = owner(sizes)

    def fail(message: str, tree: int, node: int | None = None) -> TreeError:
        line = None if lines is None else int(lines[tree])
        return TreeError(message, file=file, line=line, tree=tree, node=node)

    def refuse(broken: Bools, rule: Callable[[int], str]) -> None:
        if broken.any():
            row = int(broken.argmax())
            raise fail(rule(row), *locate(offsets, row))

    refuse(
        (parent < -1) | (parent >= sizes[tree_of]),
        lambda row: (
            f"expected a parent between 0 and {sizes[tree_of[row]] - 1}, or -1 at the root, "
            f"got {parent[row]}"
        ),
    )
    is_root = parent < 0
    roots = np.bincount(tree_of[is_root], minlength=len(sizes))
    if (roots != 1).any():
        tree = int(np.argmax(roots != 1))
        nodes = np.flatnonzero(is_root & (tree_of == tree))[:2] - offsets[tree]
        at = f" (nodes {nodes[0]} and {nodes[1]})" if roots[tree] else " (a cycle)"
        raise fail(f"expected exactly one root, got {roots[tree]}{at}", tree)
    up = np.where(is_root, -1, parent + offsets[tree_of])
    if (up >= np.arange(len(up))).any():
        rule = "expected every node below the root, got a cycle at or above it"
        refuse(depths(up) < 0, lambda _: rule)
    refuse(is_root & (pos != 0), lambda row: f"expected position 0 at the root, got {pos[row]}")
    limit = np.iinfo(np.int32).max if max_children is None else max_children
    refuse(
        (pos < 0) | (pos >= limit),
        lambda row: (
            "expected a child position from 0"
            + ("" if max_children is None else f" to {max_children - 1}")
            + f", got {pos[row]}"
            + ("" if pos[row] < 0 else f": its parent has more children than {limit}")
        ),
    )
    order = np.lexsort((pos, up))
    same = (np.diff(up[order]) == 0) & (np.diff(pos[order]) == 0) & (up[order][1:] >= 0)
    if same.any():
        row = int(order[int(np.argmax(same)) + 1])
        raise fail(
            f"expected each child position once, got {pos[row]} twice under node {parent[row]}",
            *locate(offsets, row),
        )


def check_depths(
    parent: NDArray[Any], depth: NDArray[Any], offsets: Ints, file: PathLike | None
) -> None:
    """Check that each node is one deeper than its parent, and each root has depth 0."""
    up = parent + np.repeat(offsets[:-1], np.diff(offsets))
    wanted = np.where(parent < 0, 0, depth[up] + 1) if len(depth) == len(parent) else depth
    if len(depth) != len(parent) or (wanted != depth).any():
        raise TreeError("expected the depths of the nodes, got others", file=file)


def check_roots(forest: Forest) -> None:
    """Raise TreeError if node 0 of a tree is not its root."""
    wrong = forest.parent[forest.offsets[:-1]] >= 0
    if wrong.any():
        raise TreeError(
            "expected a dependency tree, whose node 0 is ROOT, got another root; "
            "read it with a reader of dependencies, or build it with from_heads",
            tree=int(np.argmax(wrong)),
        )
