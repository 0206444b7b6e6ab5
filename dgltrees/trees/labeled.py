"""Data sets: trees and their targets, and pairs of trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dgltrees.errors import TreeError
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.check import chosen_ids
from dgltrees.trees.columns import Column
from dgltrees.trees.forest import Forest
from dgltrees.trees.schema import Schema
from dgltrees.trees.vocabulary import Vocabulary
from dgltrees.trees.words import UNKNOWN


@dataclass(frozen=True, repr=False)
class LabeledTrees:
    """A data set: ``E`` examples with one or several trees each, and their targets.

    Example ``i`` has the trees ``arity * i`` to ``arity * (i + 1) - 1`` of the forest.

    Arguments:
        forest: the trees, ``arity`` per example.
        columns: example data, each ``(E, ...)``; ``"target"`` is the class to predict.
        arity: the number of trees per example: 1, or 2 for pairs.
        targets: the names of the classes.
        inputs: the kinds of the node columns, if a schema defines them.
        target_names: the names of the columns from which ``"target"`` was read.
        node_target: the name of the node column from which node targets were read.
        reading: how a file was read: its format, layout and options.

    Raises:
        TreeError: the number of trees is not a multiple of the arity, or a column does not have
            ``E`` rows.

    Example:
        >>> forest = Forest.build([-1, 0, -1], offsets=[0, 2, 3])
        >>> data = LabeledTrees(forest, {"target": np.array([1.5, 2.0])})
        >>> len(data)
        2
        >>> data.select([1]).batch([0])
        (TreeBatch(1 trees, 1 nodes, ...), {'target': tensor([2.], dtype=torch.float64)})
    """

    forest: Forest
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    arity: int = 1
    targets: Vocabulary = field(default_factory=Vocabulary)
    inputs: tuple[Column, ...] = ()
    target_names: tuple[str, ...] = ()
    node_target: str | None = None
    reading: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if len(self.forest) % self.arity:
            raise TreeError(
                f"expected {self.arity} trees per example, got {len(self.forest)} trees"
            )
        for name, column in self.columns.items():
            if len(column) != len(self):
                raise TreeError(
                    f"expected column {name!r} to have {len(self)} rows, one per example, "
                    f"got {len(column)} rows"
                )

    def __len__(self) -> int:
        return len(self.forest) // self.arity

    def __getitem__(self, index: int | slice | ArrayLike) -> LabeledTrees:
        """Select examples, so that scikit-learn's splits work; see :meth:`Forest.__getitem__`."""
        return self.select(np.arange(len(self))[index] if isinstance(index, slice) else index)

    def __repr__(self) -> str:
        names = ", ".join(
            f"{name} ({'strings' if column.dtype.kind in 'OUS' else column.dtype})"
            for name, column in self.columns.items()
        )
        return f"LabeledTrees({self.forest}, columns: {names or 'none'})"

    def _trees(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the trees of the examples ``ids`` ``(B,)``, ``(B * arity,)``."""
        return np.asarray((ids[:, None] * self.arity + np.arange(self.arity)).ravel())

    @property
    def sizes(self) -> NDArray[np.int64]:
        """``(E,)`` the number of nodes of each example."""
        return np.asarray(self.forest.sizes.reshape(-1, self.arity).sum(1))

    @property
    def depths(self) -> NDArray[np.int32]:
        """``(E,)`` the depth of the deepest tree of each example."""
        return np.asarray(self.forest.depths.reshape(-1, self.arity).max(1))

    @property
    def schema(self) -> Schema:
        """The schema that encodes further examples; its vocabulary ``"target"`` has the classes."""
        vocabs = {**self.forest.vocabs, "target": self.targets}
        return Schema(vocabs, self.inputs, self.target_names, self.node_target)

    def select(self, ids: ArrayLike) -> LabeledTrees:
        """Select examples in a given order, see :meth:`Forest.select`.

        Arguments:
            ids: integers (negative: from the end), or a boolean mask ``(E,)``.

        Returns:
            a data set of the selected examples.
        """
        chosen = chosen_ids(ids, len(self), "example")
        columns = {name: column[chosen] for name, column in self.columns.items()}
        return replace(self, forest=self.forest.select(self._trees(chosen)), columns=columns)

    @staticmethod
    def concat(parts: Sequence[LabeledTrees]) -> LabeledTrees:
        """Join data sets into one.

        Arguments:
            parts: data sets with the same arity, columns and vocabularies.

        Returns:
            one data set of all examples.

        Raises:
            TreeError: ``parts`` is empty, or they differ in arity, columns or vocabularies.
        """
        if len(parts) == 1:
            return parts[0]
        forest = Forest.concat([part.forest for part in parts])
        first = parts[0]
        for other in parts[1:]:
            same = (other.arity, list(other.columns)) == (first.arity, list(first.columns))
            if not same or other.targets != first.targets:
                raise TreeError(
                    "expected parts with the same arity, columns and target names; "
                    "read them with shared vocabularies, read(path, like=data)"
                )
        columns = {c: np.concatenate([part.columns[c] for part in parts]) for c in first.columns}
        return replace(first, forest=forest, columns=columns)

    def batch(self, ids: ArrayLike) -> tuple[TreeBatch, dict[str, Tensor]]:
        """Make a batch of examples.

        Arguments:
            ids: the ``B`` examples, see :meth:`select`.

        Returns:
            the batch of their ``B * arity`` trees, and their columns as tensors ``(B, ...)``.
            Columns of strings are left out.
        """
        chosen = chosen_ids(ids, len(self), "example")
        columns = {
            name: torch.from_numpy(column[chosen])
            for name, column in self.columns.items()
            if column.dtype.kind not in "OUS"
        }
        return self.forest.batch(self._trees(chosen)), columns


def align(parts: Sequence[LabeledTrees], names: Sequence[str] = ()) -> list[LabeledTrees]:
    """Give parts of a data set the same columns and vocabularies, so that they can be joined.

    Each part gets the columns of all parts. A column that a part lacks is missing there: -1 for
    names, None for strings, NaN for numbers and vectors. Names get ids of one vocabulary, in which
    those of earlier parts come first.
    """
    forests = [part.forest for part in parts]
    vocabs = _joint_vocabs(forests)
    node_columns = _first_columns([(f.columns, f.vocabs) for f in forests], names)
    example_columns = _first_columns([(part.columns, {}) for part in parts], names)
    return [
        replace(
            part,
            forest=_aligned(part.forest, node_columns, vocabs),
            columns={
                name: part.columns[name] if name in part.columns else _missing(like, len(part))
                for name, like in example_columns.items()
            },
        )
        for part in parts
    ]


def encode_like(part: LabeledTrees, other: LabeledTrees, names: Sequence[str]) -> LabeledTrees:
    """Give a data set the columns, vocabularies and classes of another one.

    The vocabularies of the other one become complete: an unknown name is ``<unk>``. A column that
    the part lacks is missing there, as in :func:`align`; columns that the other lacks are left out.
    """
    if part.arity != other.arity:
        raise TreeError(f"expected {other.arity} trees per example, got {part.arity}")
    vocabs = {name: vocab.freeze(UNKNOWN) for name, vocab in other.forest.vocabs.items()}
    forests = [(each.forest.columns, each.forest.vocabs) for each in (other, part)]
    of_nodes = _first_columns(forests, names)
    of_examples = _first_columns([(each.columns, {}) for each in (other, part)], names)
    columns = {
        name: part.columns[name] if name in part.columns else _missing(like, len(part))
        for name, like in of_examples.items()
        if name in other.columns
    }
    if part.targets != other.targets and "target" in part.columns:
        new = [name for name in part.targets.names if name not in other.targets]
        if new:
            raise TreeError(f"expected a class of {names[0]}, got {new[0]!r} in {names[1]}")
        table = np.append(other.targets.encode(part.targets.names), np.int32(-1))
        columns["target"] = table[part.columns["target"]]
    of_other = {name: of_nodes[name] for name in other.forest.columns}
    return replace(other, forest=_aligned(part.forest, of_other, vocabs), columns=columns)


def _aligned(
    forest: Forest, first: Mapping[str, NDArray[Any]], vocabs: Mapping[str, Vocabulary]
) -> Forest:
    columns = {}
    for name, like in first.items():
        if name not in forest.columns:
            columns[name] = _missing(like, forest.num_nodes, are_ids=name in vocabs)
        elif name in vocabs and forest.vocabs[name] != vocabs[name]:
            ids = vocabs[name].encode(forest.vocabs[name].names)
            columns[name] = np.append(ids, np.int32(-1))[forest.columns[name]]
        else:
            columns[name] = forest.columns[name]
    return forest.with_columns(columns, dict(vocabs))


def _first_columns(
    parts: Sequence[tuple[Mapping[str, NDArray[Any]], Mapping[str, Vocabulary]]],
    names: Sequence[str],
) -> dict[str, NDArray[Any]]:
    """Return the first column of each name, in the order of the parts, if all hold the same."""
    first: dict[str, tuple[int, str, NDArray[Any]]] = {}
    for number, (columns, vocabs) in enumerate(parts):
        for name, column in columns.items():
            content = _content(column, name in vocabs)
            earlier, expected, _ = first.setdefault(name, (number, content, column))
            if content != expected:
                there, here = (names[i] if names else f"part {i}" for i in (earlier, number))
                raise TreeError(
                    f"expected column {name!r} to hold {expected}, as in {there}, got {content} in "
                    f"{here}"
                )
    return {name: column for name, (_, _, column) in first.items()}


def _content(column: NDArray[Any], are_ids: bool) -> str:
    """Describe as text what a column holds."""
    if are_ids:
        return "names"
    if column.dtype.kind in "OUS":
        return "texts"
    sizes = " x ".join(map(str, column.shape[1:]))
    return f"vectors of {sizes} numbers" if sizes else "numbers"


def _missing(like: NDArray[Any], rows: int, *, are_ids: bool = False) -> NDArray[Any]:
    """Return a column without any value, for rows like those of another column."""
    if are_ids:
        return np.full(rows, -1, np.int32)
    if like.dtype.kind in "OUS":
        return np.full(rows, None, object)
    shape = like.shape[1:]
    return np.full((rows, *shape), np.nan, np.float32 if shape else np.float64)


def _joint_vocabs(forests: Sequence[Forest]) -> dict[str, Vocabulary]:
    """Return a vocabulary per column of names: that of the first part if all parts share it."""
    joint: dict[str, Vocabulary] = {}
    for forest in forests:
        for name, vocab in forest.vocabs.items():
            earlier = joint.setdefault(name, vocab)
            if earlier != vocab:
                joint[name] = Vocabulary([*earlier.names, *vocab.names], unknown=earlier.unknown)
    return joint


@dataclass(frozen=True)
class TreePairs:
    """A sequence of pairs: tree ``i`` of one forest with tree ``i`` of another.

    Arguments:
        first, second: forests with the same number of trees.

    Raises:
        TreeError: they are no forests, or have different numbers of trees.

    Example:
        >>> forest = Forest.build([-1, -1, 0], offsets=[0, 1, 3])
        >>> pairs = TreePairs(forest, forest[::-1])
        >>> len(pairs), pairs[:1].second.sizes
        (2, array([2]))
    """

    first: Forest
    second: Forest

    def __post_init__(self) -> None:
        for trees in (self.first, self.second):
            if not isinstance(trees, Forest):
                raise TreeError(
                    f"expected forests, got a {type(trees).__name__}; Forest.from_objects makes one"
                )
        if len(self.first) != len(self.second):
            raise TreeError(
                f"expected {len(self.first)} second trees, one per first tree, got "
                f"{len(self.second)}"
            )

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, index: int | slice | ArrayLike) -> TreePairs:
        """Select pairs, see :meth:`Forest.__getitem__`; scikit-learn's splits work with this."""
        return TreePairs(self.first[index], self.second[index])

    def __iter__(self) -> Iterator[TreePairs]:
        """Iterate over the pairs."""
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"TreePairs({self.first}, {self.second})"

    def examples(self) -> LabeledTrees:
        """Convert the pairs to a data set with two trees per example and the columns of both.

        Returns:
            the data set.

        Raises:
            TreeError: a column holds names in one forest and numbers in the other.
        """
        parts = align([LabeledTrees(self.first), LabeledTrees(self.second)], ["first", "second"])
        forest = Forest.concat([part.forest for part in parts])
        return LabeledTrees(forest.select(np.arange(len(forest)).reshape(2, -1).T.ravel()), arity=2)
