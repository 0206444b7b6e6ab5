"""Pairs of trees, as one sequence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dgltrees.errors import TreeError
from dgltrees.trees.align import align
from dgltrees.trees.examples import Examples
from dgltrees.trees.forest import Forest

__all__ = ["TreePairs"]


@dataclass(frozen=True)
class TreePairs:
    """A sequence of pairs: tree i of one forest with tree i of another.

    ``TreePairs(first, second)[10:20]`` has ten of them; scikit-learn's splits work on it.

    Arguments:
        first, second: forests of as many trees.

    Raises:
        TreeError: one has more trees than the other.
    """

    first: Forest
    second: Forest

    def __post_init__(self) -> None:
        if len(self.first) != len(self.second):
            raise TreeError(
                f"expected as many second trees as first ones, {len(self.first)}, got "
                f"{len(self.second)}"
            )

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, index: int | slice | ArrayLike) -> TreePairs:
        """Some of the pairs; see :meth:`Forest.__getitem__`.

        Arguments:
            index: a number, a slice, an array of numbers or a mask.
        """
        return TreePairs(self.first[index], self.second[index])

    def __iter__(self) -> Iterator[TreePairs]:
        """The pairs one by one."""
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"TreePairs({self.first}, {self.second})"

    def examples(self) -> Examples:
        """The pairs as examples of two trees each, with the columns of both forests.

        Raises:
            TreeError: a column holds names in one forest and numbers in the other.
        """
        parts = align([Examples(self.first), Examples(self.second)], ["first", "second"])
        forest = Forest.concat([part.forest for part in parts])
        return Examples(forest.select(np.arange(len(forest)).reshape(2, -1).T.ravel()), arity=2)
