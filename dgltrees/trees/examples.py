"""Data sets: trees and their targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dgltrees.errors import TreeError
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.columns import Column
from dgltrees.trees.forest import Forest
from dgltrees.trees.schema import Schema
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["Examples"]


@dataclass(frozen=True)
class Examples:
    """A data set: trees and targets of ``E`` examples.

    Example ``i`` has the trees ``arity * i`` to ``arity * (i + 1) - 1`` of the forest.

    Arguments:
        forest: the trees, ``arity`` per example.
        columns: example data, each ``(E, ...)``; ``"target"`` is the class to predict.
        arity: the number of trees per example: 1, or 2 for pairs.
        targets: the names of the classes.
        inputs: what the node columns hold, where a schema says so.
        target_names: the columns that ``"target"`` was read from, where they have names.

    Raises:
        TreeError: the number of trees is not a multiple of the arity, or a column does not have
            ``E`` rows.
    """

    forest: Forest
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    arity: int = 1
    targets: Vocabulary = field(default_factory=Vocabulary)
    inputs: tuple[Column, ...] = ()
    target_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.forest) % self.arity:
            raise TreeError(
                f"expected {self.arity} trees per example, got {len(self.forest)} trees"
            )
        for name, column in self.columns.items():
            if len(column) != len(self):
                raise TreeError(
                    f"expected column {name!r} to have a row per example, {len(self)}, "
                    f"got {len(column)} rows"
                )

    def __len__(self) -> int:
        return len(self.forest) // self.arity

    def _trees(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """``(B * arity,)`` the trees of the examples ``ids`` ``(B,)``."""
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
        """What further examples are read by; of its vocabularies ``"target"`` are the classes."""
        vocabs = {**self.forest.vocabs, "target": self.targets}
        return Schema(vocabs, self.inputs, self.target_names)

    def select(self, ids: ArrayLike) -> Examples:
        """A data set of the examples ``ids``, in that order."""
        chosen = np.atleast_1d(np.asarray(ids, dtype=np.int64))
        columns = {name: column[chosen] for name, column in self.columns.items()}
        return replace(self, forest=self.forest.select(self._trees(chosen)), columns=columns)

    @staticmethod
    def concat(parts: Sequence[Examples]) -> Examples:
        """One data set of all examples of ``parts``.

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
                    "read them with shared vocabularies"
                )
        columns = {c: np.concatenate([part.columns[c] for part in parts]) for c in first.columns}
        return replace(first, forest=forest, columns=columns)

    def batch(self, ids: ArrayLike) -> tuple[TreeBatch, dict[str, Tensor]]:
        """The trees of the examples ``ids`` ``(B,)`` as one batch; their columns ``(B, ...)``.

        Columns of text are left out.
        """
        chosen = np.atleast_1d(np.asarray(ids, dtype=np.int64))
        columns = {
            name: torch.from_numpy(column[chosen])
            for name, column in self.columns.items()
            if column.dtype.kind not in "OUS"
        }
        return self.forest.batch(self._trees(chosen)), columns
