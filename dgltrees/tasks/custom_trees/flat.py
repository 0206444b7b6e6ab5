"""Flat features: a row of numbers for each tree, from the columns of its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dgltrees.trees import Forest, LabeledTrees
from dgltrees.trees.schema import NUMBERS
from dgltrees.trees.segments import owner

_MOST_NAMES = 256  # counted per column; rarer ones are left out
_MOST_TYPES = 16  # of the first column of categories, for which numbers are summed apart

Part = tuple[Sequence[str], NDArray[np.float64]]
"""Names of features, and their columns, ``(R, features)``."""


def frequent_names(train: LabeledTrees) -> dict[str, NDArray[np.int64]]:
    """Return the ids of the 256 most frequent categories of each column in the training trees."""
    forest, frequent = train.forest, {}
    for name in forest.vocabs:
        frequent[name] = np.argsort(-forest.name_counts(name), kind="stable")[:_MOST_NAMES]
    return frequent


def flat_features(
    data: LabeledTrees, names: Mapping[str, NDArray[np.int64]], *, nodes: bool = False
) -> tuple[list[str], NDArray[np.float64]]:
    r"""Return features of the nodes of each tree, which ignore order and edges.

    They are

    - of each column of categories: the count of each name, and whether the root has it;
    - of each column of numbers: sum, mean and maximum, the signed logarithm of sum and maximum, and
      the number of the root and its signed logarithm; the logarithms also over the nodes of each
      frequent name of the first column of categories;
    - of each column of vectors of texts: the mean;
    - the numbers of nodes, levels and leaves, and the largest number of children.

    The signed logarithm of x is sign(x) log(1 + \|x\|). Missing numbers are left out; without any
    number a feature is 0. A pair of trees with features a and b has a, b, \|a - b\| and a * b, as
    the head of a model of pairs. A node has the features of its own columns, its depth and its
    number of children.
    """
    forest = data.forest
    row_of_node = np.arange(forest.num_nodes) if nodes else owner(forest.sizes)
    numbers = _of_numbers(data, names, row_of_node, by_type=not nodes)  # a node has one type
    parts = [*_of_categories(forest, names, row_of_node), *numbers]
    for column in data.inputs:
        if column.kind == "text" and not column.named:
            vectors = np.asarray(forest.columns[column.name], np.float64)
            total, count, _ = _totals(vectors, row_of_node, int(row_of_node[-1]) + 1)
            parts.append(([f"mean {column.name}[{k}]" for k in range(column.size)], total / count))
    if nodes:
        parts.append((["depth", "children"], np.stack([forest.depth, forest.degree], 1)))
    else:
        parts += [*_of_roots(data, names), _of_shapes(forest, row_of_node)]
    columns = [name for part, _ in parts for name in part]
    each = np.concatenate([values for _, values in parts], 1, dtype=np.float64)
    if data.arity == 1:
        return columns, each
    a, b = each[0::2], each[1::2]
    forms = ("{} of 1", "{} of 2", "difference of {}", "product of {}")
    columns = [form.format(name) for form in forms for name in columns]
    return columns, np.concatenate([a, b, np.abs(a - b), a * b], 1)


def _of_categories(
    forest: Forest, names: Mapping[str, NDArray[np.int64]], row_of_node: NDArray[np.int64]
) -> Iterator[Part]:
    rows = int(row_of_node[-1]) + 1
    for column in forest.vocabs:
        places = _places(forest, column, names).reshape(forest.num_nodes, -1)
        counts = np.zeros((rows, len(names[column])))
        node, slot = np.nonzero(places >= 0)
        np.add.at(counts, (row_of_node[node], places[node, slot]), 1)
        yield [f"{column}={name}" for name in _texts(forest, column, names)], counts


def _of_numbers(
    data: LabeledTrees,
    names: Mapping[str, NDArray[np.int64]],
    row_of_node: NDArray[np.int64],
    *,
    by_type: bool,
) -> Iterator[Part]:
    """Yield sums, means and maxima of numbers, over all nodes and over those of each type."""
    forest = data.forest
    if NUMBERS not in forest.columns:
        return
    values, columns = np.asarray(forest.columns[NUMBERS], np.float64), _number_names(data)
    total, count, largest = _totals(values, row_of_node, int(row_of_node[-1]) + 1)
    yield [f"sum {name}" for name in columns], total
    yield [f"mean {name}" for name in columns], total / np.maximum(count, 1)
    yield [f"max {name}" for name in columns], largest
    yield [f"log sum {name}" for name in columns], _signed_log(total)
    yield [f"log max {name}" for name in columns], _signed_log(largest)
    first = next((name for name in forest.vocabs if forest.columns[name].ndim == 1), None)
    if first is None or not by_type:
        return
    place, types = _places(forest, first, names), _texts(forest, first, names)[:_MOST_TYPES]
    there = (place >= 0) & (place < len(types))
    rows = row_of_node[there] * len(types) + place[there]
    total, _, largest = _totals(values[there], rows, len(total) * len(types))
    shape = (-1, len(types) * len(columns))
    for what, each in (("sum", total), ("max", largest)):
        yield (
            [f"log {what} {name} of {first}={kind}" for kind in types for name in columns],
            _signed_log(each.reshape(shape)),
        )


def _of_roots(data: LabeledTrees, names: Mapping[str, NDArray[np.int64]]) -> Iterator[Part]:
    forest = data.forest
    for column in forest.vocabs:
        if forest.columns[column].ndim == 1:
            place = _places(forest, column, names)[forest.roots]
            columns = [f"root {column}={name}" for name in _texts(forest, column, names)]
            yield columns, (place[:, None] == np.arange(len(columns))).astype(np.float64)
    if NUMBERS in forest.columns:
        values = np.asarray(forest.columns[NUMBERS], np.float64)[forest.roots]
        values = np.nan_to_num(values, nan=0.0)
        yield [f"root {name}" for name in _number_names(data)], values
        yield [f"log root {name}" for name in _number_names(data)], _signed_log(values)


def _of_shapes(forest: Forest, row_of_node: NDArray[np.int64]) -> Part:
    leaves = np.bincount(row_of_node, forest.degree == 0)
    widest = np.maximum.reduceat(forest.degree, forest.offsets[:-1])
    shapes = np.stack([forest.depths, forest.sizes, leaves, widest], 1)
    return ["depth", "nodes", "leaves", "most children"], shapes.astype(np.float64)


def _places(
    forest: Forest, column: str, names: Mapping[str, NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Return the place of the name of each node among the frequent ones, or -1."""
    place = np.full(len(forest.vocabs[column]) + 1, -1)  # the last is that of a missing name, -1
    place[names[column]] = np.arange(len(names[column]))
    return np.asarray(place[forest.columns[column]])


def _texts(forest: Forest, column: str, names: Mapping[str, NDArray[np.int64]]) -> list[str]:
    texts = forest.vocabs[column].names
    return [texts[each] for each in names[column].tolist()]


def _number_names(data: LabeledTrees) -> list[str]:
    """Return the names of the columns of :data:`NUMBERS`, those of vectors with an index."""
    numeric = [each for each in data.inputs if each.numeric]
    return [
        each.name if each.size == 1 else f"{each.name}[{k}]"
        for each in numeric
        for k in range(each.size)
    ]


def _totals(
    values: NDArray[np.float64], rows: NDArray[np.int64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return sums, numbers of values and maxima by row, each ``(count, K)``; 0 without a value."""
    present = ~np.isnan(values)
    total = np.zeros((count, values.shape[1]))
    known, largest = np.zeros_like(total), np.full_like(total, -np.inf)
    np.add.at(total, rows, np.where(present, values, 0.0))
    np.add.at(known, rows, present)
    np.maximum.at(largest, rows, np.where(present, values, -np.inf))
    return total, known, np.where(known > 0, largest, 0.0)


def _signed_log(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sign(values) * np.log1p(np.abs(values)))
