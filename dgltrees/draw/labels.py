"""Conversion of arguments to the selected trees and the texts on them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.draw.strings import format_number, printable
from dgltrees.errors import TreeError
from dgltrees.trees.columns import name_of
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import Ints

MAX_TITLE = 120  # characters of a title that are shown

# Columns that make the label even where they have no vocabulary, in this order.
_LABEL_COLUMNS = ("label", "op", "word", "value")


@dataclass(frozen=True)
class Labels:
    """The texts on ``n`` nodes of ``T`` trees.

    Arguments:
        names: the parts of each node's label; none at a node without a label.
        details: target, prediction and value of each node in one line; empty at a node without any,
            which then has a label.
        correct: whether each node's prediction equals its target; None where one is missing.
        values: ``(n,)`` float, NaN where a node has none; None if no node has one.
        positions: the child position to show on the edge above each node, or None.
        titles: a line above each tree, or None.
    """

    names: list[tuple[str, ...]]
    details: list[str]
    correct: list[bool | None]
    values: NDArray[np.float64] | None
    positions: list[int | None]
    titles: list[str | None]


def as_array(values: Any) -> NDArray[Any]:
    """Convert a tensor on any device, an array or a sequence to a numpy array."""
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        values = values.float() if values.is_floating_point() else values
    return np.asarray(values)


def select_trees(
    forest: Forest, tree: int | Sequence[int] | None, titles: Sequence[str] | None
) -> tuple[Forest, Ints, list[str | None]]:
    """Select the trees to draw, with their titles."""
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


def decode_column(
    forest: Forest,
    column: str,
    ids: NDArray[Any],
    number_prefix: str = "",
    max_length: int = 40,
) -> list[str]:
    """Convert entries of a column to text."""
    if ids.dtype.kind == "f":
        return ["" if np.isnan(number) else format_number(number) for number in ids]
    if ids.dtype.kind not in "biu":
        return ["" if text is None else printable(str(text), max_length) for text in ids.tolist()]
    vocab = forest.vocabs.get(column)
    if vocab is None:
        return [f"{number_prefix}{i}" if i != -1 else "" for i in ids.tolist()]
    if len(ids) and ids.max() >= len(vocab):
        raise TreeError(
            f"expected ids of {column!r} below {len(vocab)}, the size of their vocabulary, "
            f"got {ids.max()}"
        )
    names = vocab.names
    return [printable(names[i], max_length) if i >= 0 else "" for i in ids.tolist()]


def label_parts(
    forest: Forest, nodes: Ints, labels: str | Sequence[str] | None
) -> list[tuple[str, ...]]:
    """Return the parts of every label: the strings in ``labels``, or the entries of columns."""
    if labels is not None and not isinstance(labels, str):
        return [(printable(str(label)),) for label in _per_node(forest, "labels", labels)[nodes]]
    if labels is None:
        columns = [name for name in _LABEL_COLUMNS if name in forest.columns]
        for name, column in forest.columns.items():
            is_categorical = name in forest.vocabs or column.dtype.kind in "UO"
            if is_categorical and name not in (*columns, "target"):
                columns.append(name)
    elif labels in forest.columns:
        columns = [labels]
    else:
        raise TreeError(
            f"expected labels to be the name of a column, one of {list(forest.columns)}, or one "
            f"label per node, got {labels!r}"
        )
    if not columns:
        return [(str(node - forest.offsets[forest.tree_of_node[node]]),) for node in nodes]
    texts = {}
    for name in columns:
        entries = forest.columns[name]
        if entries.ndim != 1:
            raise TreeError(
                f"expected labels to have one entry per node, got column {name!r} of shape "
                f"{entries.shape}"
            )
        prefix = "" if name == "value" else f"{name} "
        texts[name] = decode_column(forest, name, entries[nodes], prefix)
    if any(name != "etype" and _equal(texts.get("etype"), texts[name]) for name in columns):
        del texts["etype"]  # heterograph(etype="deprel") has named the edges by this column
    return [tuple(filter(None, parts)) for parts in zip(*texts.values())]


def _equal(types: list[str] | None, names: list[str]) -> bool:
    """Return whether names are those of edge types, which roots lack."""
    return types is not None and all(kind in ("", name) for kind, name in zip(types, names))


def number_texts(
    forest: Forest, nodes: Ints, values: Any | None
) -> tuple[NDArray[np.float64] | None, list[str]]:
    """Return the argument ``values`` at some nodes, as numbers and as text."""
    if values is None:
        return None, [""] * len(nodes)
    numbers = _per_node(forest, "values", values)[nodes]
    if numbers.dtype.kind not in "biuf":
        raise TreeError(f"expected values that are numbers, got {numbers.dtype}")
    return numbers.astype(np.float64), [format_number(number) for number in numbers]


def _per_node(forest: Forest, name: str, values: Any) -> NDArray[Any]:
    """Convert the argument ``name`` to an array and check that it has one entry per node."""
    array = as_array(values)
    if array.shape != (forest.num_nodes,):
        raise TreeError(
            f"expected {name} to have one entry for each of the {forest.num_nodes} nodes, got "
            f"shape {tuple(array.shape)}"
        )
    return array


def class_texts(forest: Forest, nodes: Ints, name: str, classes: Any | None) -> list[str]:
    """Return the argument ``name``, classes per node or per tree (then at its root), as text.

    Texts are whole, so that different classes are different.
    """
    if classes is None:
        return [""] * len(nodes)
    array = as_array(classes)
    if array.dtype.kind == "f" and array.ndim == 1:
        array = np.array([name_of(number) for number in array.tolist()], object)
    if array.shape == (forest.num_nodes,):
        return decode_column(forest, "target", array[nodes], max_length=sys.maxsize)
    if array.shape != (len(forest),):
        raise TreeError(
            f"expected {name} to have one entry for each of the {forest.num_nodes} nodes or the "
            f"{len(forest)} trees, got shape {tuple(array.shape)}; for class scores pass the argmax"
        )
    classes = array[forest.tree_of_node[nodes]]
    texts = decode_column(forest, "target", classes, max_length=sys.maxsize)
    return [text if root else "" for text, root in zip(texts, forest.parent[nodes] < 0)]
