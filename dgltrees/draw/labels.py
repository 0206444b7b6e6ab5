"""What stands on the nodes of a drawing: labels, targets, predictions, values."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

from dgltrees.draw.inputs import as_rows
from dgltrees.errors import TreeError
from dgltrees.trees.forest import Forest

__all__ = ["Marks", "format_number", "make_marks", "visible"]

# Columns of ids that are names even where their vocabulary is not at hand, in the order shown.
_NAMED = ("label", "op", "word", "value")
_LONGEST = 40


@dataclass(frozen=True)
class Marks:
    """The marks of ``n`` nodes.

    Arguments:
        labels: the parts of each node's label, which may be none.
        details: target, prediction and value of each node in one line, empty only where there is
            a label.
        right: whether each node's prediction is its target; None where one is missing.
        values: ``(n,)`` float, NaN where a node has none; None if no node has.
    """

    labels: list[tuple[str, ...]]
    details: list[str]
    right: list[Optional[bool]]
    values: Optional[NDArray[np.float64]]


def make_marks(
    forest: Forest,
    rows: NDArray[np.int64],
    *,
    labels: Optional[Union[str, Sequence[str]]] = None,
    targets: Optional[Any] = None,
    predictions: Optional[Any] = None,
    values: Optional[Any] = None,
) -> Marks:
    """The marks of the nodes ``rows`` of ``forest``.

    The other arguments are those of :func:`dgltrees.draw.draw`, for all nodes of the forest.
    """
    if targets is None:
        targets = forest.columns.get("target")
    wanted = _classes(forest, rows, "targets", targets)
    found = _classes(forest, rows, "predictions", predictions)
    right = [a == b if a and b else None for a, b in zip(found, wanted)]
    verdicts = map(_verdict, found, wanted, right)
    numbers = None if values is None else _per_node(forest, "values", values)[rows]
    if numbers is not None and numbers.dtype.kind not in "biuf":
        raise TreeError(f"expected values that are numbers, got {numbers.dtype}")
    written = [""] * len(rows) if numbers is None else [*map(format_number, numbers)]
    details = [" · ".join(filter(None, both)) for both in zip(verdicts, written)]
    names = _labels(forest, rows, labels)
    return Marks(
        [name if name or detail else ("·",) for name, detail in zip(names, details)],
        details,
        right,
        None if numbers is None else numbers.astype(np.float64),
    )


def visible(text: str, longest: int = _LONGEST) -> str:
    """The text with control characters and what XML forbids as escapes; shortened if long.

    A label can so neither break a line nor steer a terminal.
    """
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or unicodedata.category(char) == "Zs" else repr(char)[1:-1]
        for char in text
    )


def format_number(number: Any) -> str:
    """An integer as it is, any other number with three digits."""
    return str(number) if isinstance(number, (int, np.integer, np.bool_)) else f"{number:.3g}"


def _verdict(found: str, wanted: str, right: Optional[bool]) -> str:
    if right is None:
        return f"→ {found}" if found else f"= {wanted}" if wanted else ""
    return f"✓ {found}" if right else f"✗ {found} ({wanted})"


def _labels(
    forest: Forest, rows: NDArray[np.int64], labels: Optional[Union[str, Sequence[str]]]
) -> list[tuple[str, ...]]:
    """The parts of every label: from the columns that hold names, or as the caller wants."""
    if labels is not None and not isinstance(labels, str):
        return [(visible(str(label)),) for label in _per_node(forest, "labels", labels)[rows]]
    if labels is None:
        names = [name for name in _NAMED if name in forest.columns]
        others = [name for name in forest.columns if name not in (*names, "target")]
        names += [name for name in others if _holds_names(forest, name)]
    elif labels in forest.columns:
        names = [labels]
    else:
        raise TreeError(
            f"expected labels to be the name of a column, one of {list(forest.columns)}, or one "
            f"label a node, got {labels!r}"
        )
    if not names:
        return [(str(row - forest.offsets[forest.tree_of_node[row]]),) for row in rows]
    parts = zip(*(_texts(forest, rows, name) for name in names))
    return [tuple(filter(None, texts)) for texts in parts]


def _holds_names(forest: Forest, column: str) -> bool:
    return column in forest.vocabs or forest.columns[column].dtype.kind in "UO"


def _texts(forest: Forest, rows: NDArray[np.int64], name: str) -> list[str]:
    """A column as text, empty at nodes that have none."""
    column = forest.columns[name]
    if column.ndim != 1:
        raise TreeError(
            f"expected labels to have one entry a node, got column {name!r} of shape {column.shape}"
        )
    return _decoded(forest, name, column[rows], "" if name == "value" else f"{name} ")


def _decoded(forest: Forest, name: str, ids: NDArray[Any], before: str = "") -> list[str]:
    """Ids as names, or without a vocabulary as numbers after ``before``; below 0 as nothing."""
    if ids.dtype.kind == "f":
        return ["" if np.isnan(number) else format_number(number) for number in ids]
    if ids.dtype.kind not in "biu":
        return ["" if text is None else visible(str(text)) for text in ids.tolist()]
    vocab = forest.vocabs.get(name)
    if vocab is None:
        return [f"{before}{i}" if i >= 0 else "" for i in ids.tolist()]
    if len(ids) and ids.max() >= len(vocab):
        raise TreeError(
            f"expected ids of {name!r} below {len(vocab)}, the size of their vocabulary, "
            f"got {ids.max()}"
        )
    names = vocab.names
    return [visible(names[i]) if i >= 0 else "" for i in ids.tolist()]


def _per_node(forest: Forest, what: str, given: Any) -> NDArray[Any]:
    """``given`` with one entry a node, checked."""
    array = as_rows(given)
    if array.shape != (forest.num_nodes,):
        raise TreeError(
            f"expected {what} to have one entry for each of the {forest.num_nodes} nodes, got "
            f"shape {tuple(array.shape)}"
        )
    return array


def _classes(forest: Forest, rows: NDArray[np.int64], what: str, given: Optional[Any]) -> list[str]:
    """Classes, one a node or one a tree (then at its root), as text."""
    if given is None:
        return [""] * len(rows)
    array = as_rows(given)
    if array.shape == (forest.num_nodes,):
        return _decoded(forest, "target", array[rows])
    if array.shape != (len(forest),):
        raise TreeError(
            f"expected {what} to have one entry for each of the {forest.num_nodes} nodes or the "
            f"{len(forest)} trees, got shape {tuple(array.shape)}; of class scores take the argmax"
        )
    at_root = forest.parent[rows] < 0
    names = iter(_decoded(forest, "target", array[forest.tree_of_node[rows[at_root]]]))
    return [next(names) if root else "" for root in at_root]
