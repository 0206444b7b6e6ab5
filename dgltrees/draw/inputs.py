"""Conversion of arguments: values to numpy, a selection to tree ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.draw.strings import printable
from dgltrees.errors import TreeError
from dgltrees.trees.forest import Forest

__all__ = ["MAX_TITLE", "as_array", "select_trees"]

MAX_TITLE = 120  # characters of a title that are shown


def as_array(values: Any) -> NDArray[Any]:
    """A tensor on any device, an array or a sequence as a numpy array."""
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        values = values.float() if values.is_floating_point() else values
    return np.asarray(values)


def select_trees(
    forest: Forest,
    tree: int | Sequence[int] | None,
    titles: Sequence[str] | None,
) -> tuple[Forest, NDArray[np.int64], list[str | None]]:
    """The trees to draw, with their titles.

    Arguments:
        forest: ``T`` trees.
        tree: an id, several ids, or None for all trees.
        titles: ``T`` titles; if None, several trees are titled by their ids and one has no title.

    Returns:
        the selected trees without columns; ``(n,)`` the node of ``forest`` that each of their nodes
        is; and a title or None per selected tree.

    Raises:
        TreeError: there are not ``T`` titles.
        IndexError: there is no such tree.
    """
    if titles is not None and len(titles) != len(forest):
        raise TreeError(f"expected {len(forest)} titles, one per tree, got {len(titles)}")
    ids = np.arange(len(forest)) if tree is None else np.atleast_1d(np.asarray(tree, np.int64))
    columns = {"node": np.arange(forest.num_nodes)}
    selected = Forest(forest.parent, forest.pos, forest.offsets, columns).select(ids)
    selected_titles: list[str | None]
    if titles is None:
        selected_titles = [f"tree {i}" if len(ids) > 1 else None for i in ids.tolist()]
    else:
        selected_titles = [printable(titles[i], MAX_TITLE) for i in ids.tolist()]
    return selected, selected.columns["node"], selected_titles
