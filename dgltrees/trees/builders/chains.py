"""Forests of sequences, each a chain."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees.errors import TreeError
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import offsets_of, within
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["chains"]


def chains(
    sizes: ArrayLike,
    columns: Mapping[str, NDArray[np.generic]],
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """A forest of sentences: each word is the only child of the next one, the last is the root.

    A bottom-up traversal reads them from left to right.

    Arguments:
        sizes: ``(T,)`` the number of words of each sentence.
        columns: node data, each ``(N, ...)``, sentence after sentence.
        vocabs: the vocabularies of the columns that hold ids.

    Raises:
        TreeError: a sentence is empty, or a column has not ``N`` rows or an id that is not in its
            vocabulary.
    """
    lengths = np.asarray(sizes, dtype=np.int64)
    if len(lengths) and lengths.min() < 1:
        raise TreeError(
            "expected at least one word in a sentence, got none", tree=int(lengths.argmin())
        )
    offsets = offsets_of(lengths)
    parent = within(lengths) + 1
    parent[offsets[1:] - 1] = -1
    return Forest.build(parent, offsets=offsets, columns=columns, vocabs=vocabs)
