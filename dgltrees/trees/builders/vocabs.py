"""Vocabularies of builders and readers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["check_vocabs", "encode_names", "vocabs_for"]


def check_vocabs(vocabs: Mapping[str, Vocabulary], columns: Iterable[str]) -> None:
    """Check that all vocabularies are for columns.

    Raises:
        ConfigError: one is for another.
    """
    other = vocabs.keys() - set(columns)
    if other:
        raise ConfigError(
            f"expected vocabularies for the columns {', '.join(columns)}, "
            f"got one for {', '.join(sorted(other))}"
        )


def vocabs_for(vocabs: Mapping[str, Vocabulary] | None, *columns: str) -> dict[str, Vocabulary]:
    """A vocabulary for each of ``columns``: that of ``vocabs``, or else a new one.

    Raises:
        ConfigError: ``vocabs`` has a vocabulary for another column.
    """
    vocabs = vocabs or {}
    check_vocabs(vocabs, columns)
    return {column: vocabs[column] if column in vocabs else Vocabulary() for column in columns}


def encode_names(
    names: Sequence[str | None], vocab: Vocabulary, error: Callable[[str, int], TreeError]
) -> NDArray[np.int32]:
    """The ids of names, -1 for None, of the shape ``(len(names),)``.

    Arguments:
        names: the names.
        vocab: their vocabulary.
        error: makes the error that is raised from its message and the index of a name.

    Raises:
        TreeError: a name is not in a frozen vocabulary.
    """
    try:
        return vocab.encode(names)
    except TreeError as cause:
        row = next(i for i, name in enumerate(names) if name is not None and name not in vocab)
        raise error(str(cause), row) from None
