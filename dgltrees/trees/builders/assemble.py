"""Forests of the items of a bracketed text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.trees.builders.scan import Brackets
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import starts
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["assemble", "check_children", "find_heads", "items_in"]


def assemble(
    is_node: NDArray[np.bool_],
    parent: NDArray[np.int64],
    pos: NDArray[np.int64],
    columns: Mapping[str, NDArray[Any]],
    vocabs: Mapping[str, Vocabulary],
) -> Forest:
    """A forest of those items that are nodes.

    Arguments:
        is_node: ``(M,)`` which items are nodes; the root of each tree comes first, and the other
            nodes of the tree follow it.
        parent: ``(M,)`` the item that is the parent of each node, -1 at roots.
        pos: ``(M,)`` the position of each node among its siblings.
        columns: node data of all items, each ``(M,)``.
        vocabs: the vocabularies of the columns.
    """
    index = starts(is_node)
    up = parent[is_node]
    is_root = up < 0
    offsets = np.append(np.flatnonzero(is_root), len(up))
    root = np.repeat(offsets[:-1], np.diff(offsets))
    return Forest(
        np.where(is_root, -1, index[up] - root).astype(np.int32),
        np.where(is_root, 0, pos[is_node]).astype(np.int32),
        offsets,
        {name: column[is_node] for name, column in columns.items()},
        dict(vocabs),
    )


def items_in(brackets: Brackets) -> NDArray[np.int64]:
    """``(M,)`` the number of items in each bracket; 0 at atoms."""
    up = brackets.parent
    return np.bincount(up[up >= 0], minlength=len(up))


def check_children(
    brackets: Brackets, children: NDArray[np.int64], max_children: int | None
) -> None:
    """Check that no bracket has more than ``max_children`` children.

    Arguments:
        brackets: the ``M`` items of the text.
        children: ``(M,)`` the number of children of each item.
        max_children: the largest number of children; None for any.

    Raises:
        TreeError: a bracket has more; with file and line.
    """
    if max_children is not None:
        brackets.refuse(
            children > max_children,
            lambda i: (
                f"expected at most {max_children} children, got {children[i]}; raise max_children"
            ),
        )


def find_heads(brackets: Brackets, what: str) -> NDArray[np.bool_]:
    """``(M,)`` whether each item is the head of a bracket: an atom that is its first item.

    Arguments:
        brackets: the ``M`` items of the text.
        what: what the head is, such as ``"a label"``, for the errors.

    Raises:
        TreeError: a bracket does not begin with an atom.
    """
    heads: NDArray[np.bool_] = ~brackets.is_open & (brackets.parent >= 0) & (brackets.place == 0)
    headless = brackets.is_open.copy()
    headless[brackets.parent[heads]] = False
    brackets.refuse(headless, lambda _: f"expected {what} at the beginning of a bracket, got none")
    return heads
