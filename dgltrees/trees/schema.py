"""What further data are read by, so that they are read like those of training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import TreeError, called
from dgltrees.trees.columns import (
    SUBWORDS,
    Column,
    TextReader,
    distinct_names,
    ids_of_names,
    numbers_of,
    subwords_of_texts,
    vectors_of_texts,
    words_of_texts,
)
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import locate
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["NUMBERS", "Schema"]

NUMBERS = "(numbers)"
"""The node column of a read forest that has all numbers and vectors side by side."""

_LARGEST = np.finfo(np.float64).max


class Schema(Mapping[str, Vocabulary]):
    """What further data are read by: vocabularies, by column, and the columns that a model reads.

    Arguments:
        vocabs: names behind ids; ``"target"`` are the classes.
        inputs: the columns that a model reads.
        targets: the columns that it predicts.
    """

    def __init__(
        self,
        vocabs: Mapping[str, Vocabulary],
        inputs: Sequence[Column] = (),
        targets: Sequence[str] = (),
    ) -> None:
        self.vocabs, self.inputs, self.targets = dict(vocabs), tuple(inputs), tuple(targets)

    def __getitem__(self, name: str) -> Vocabulary:
        return self.vocabs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.vocabs)

    def __len__(self) -> int:
        return len(self.vocabs)

    def __repr__(self) -> str:
        columns = ", ".join(f"{each.name}: {each.kind}" for each in self.inputs)
        return f"Schema({columns or ', '.join(self.vocabs)})"

    @property
    def numbers(self) -> tuple[Column, ...]:
        """The numbers and vectors, in the order of the column :data:`NUMBERS`."""
        return tuple(each for each in self.inputs if each.numeric)

    def to_dict(self) -> dict[str, Any]:
        """Inputs and targets as plain values, for a text file; vocabularies have files."""
        inputs = [{"name": c.name, "kind": c.kind, "size": c.size} for c in self.inputs]
        return {"inputs": inputs, "targets": list(self.targets)}

    @classmethod
    def from_dict(cls, vocabs: Mapping[str, Vocabulary], values: Mapping[str, Any]) -> Schema:
        """The schema of what :meth:`to_dict` gave, with its vocabularies."""
        inputs = [Column(str(c["name"]), str(c["kind"]), int(c["size"])) for c in values["inputs"]]
        return cls(vocabs, inputs, [str(name) for name in values["targets"]])

    def read(self, forest: Forest, read_texts: TextReader | None = None) -> Forest:
        """A forest with the columns of this schema alone, as a model reads them.

        A category has ids of this schema's vocabulary, -1 where it is missing. A text has
        ``(N, 32)`` ids of words, -1 beyond its end; or, if its column has a size, ``(N, size)``
        vectors, zeros where it is missing; or, if an encoder is trained on it, ``(N, P)`` ids of
        sub-words, -1 beyond its end. The numbers and vectors are the float64 matrix
        :data:`NUMBERS`, NaN where they are missing. A column that the forest does not have is
        missing everywhere.

        Arguments:
            forest: the trees.
            read_texts: gives the ``(T, size)`` vectors of T texts, or the ``(T, P)`` ids of their
                sub-words.

        Raises:
            TreeError: with tree and column: the forest has none of the columns, or one that holds
                something else; a number is infinite; a name is not in a frozen vocabulary without
                an unknown name.
        """
        names = [each.name for each in self.inputs]
        if not set(names) & set(forest.columns):
            raise TreeError(
                f"expected trees with the columns {', '.join(names)}, got trees with "
                f"{', '.join(forest.columns) or 'no columns'}; give trees like those of training"
            )
        columns: dict[str, NDArray[Any]] = {}
        vocabs: dict[str, Vocabulary] = {}
        for each in self.inputs:
            if each.numeric:
                continue
            distinct, row = distinct_names(forest, each)
            if not each.named:
                columns[each.name] = vectors_of_texts(distinct, each, read_texts)[row]
                continue
            vocabs[each.name] = self.vocabs[each.name]
            if each.kind == SUBWORDS:
                columns[each.name] = subwords_of_texts(distinct, each, read_texts)[row]
                continue
            encode = words_of_texts if each.kind == "text" else ids_of_names
            columns[each.name] = encode(distinct, vocabs[each.name], each.name)[row]
        if self.numbers:
            parts = [numbers_of(forest, each) for each in self.numbers]
            columns[NUMBERS] = np.concatenate(parts, 1)
            self._check_range(forest, columns[NUMBERS])
        return forest.with_columns(columns, vocabs)

    @cached_property
    def _least(self) -> NDArray[np.float64]:
        """``(K,)`` the least value of each number that is read."""
        least = [0.0 if each.kind == "log" else -_LARGEST for each in self.numbers]
        return np.repeat(least, [each.size for each in self.numbers])

    def _check_range(self, forest: Forest, numbers: NDArray[np.float64]) -> None:
        """Raise TreeError if one of the ``(N, K)`` numbers is infinite, or its logarithm is."""
        broken = (numbers < self._least) | (numbers > _LARGEST)
        if not broken.any():
            return
        number = int(broken.any(0).argmax())
        column = [each for each in self.numbers for _ in range(each.size)][number]
        row = int(broken[:, number].argmax())
        wanted, got = "finite numbers", "an infinite one"
        if np.isfinite(numbers[row, number]):
            wanted, got = "numbers of at least 0 (its kind is log)", "a negative one"
        tree, node = locate(forest.offsets, row)
        raise TreeError(
            f"expected {wanted} in column {column.name!r}, got {got}; correct it or leave the "
            f"column out with {called('data.columns')}",
            tree=tree,
            node=node,
        )
