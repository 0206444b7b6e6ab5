"""Features of the spelling of words, which help with unknown ones: ending and shape."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from dgltrees.errors import TreeError
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["ending", "shape", "with_spelling"]


def ending(word: str) -> str:
    """The last three characters in lower case, or the whole word: ``ing``, ``'s``."""
    return word[-3:].lower()


def shape(word: str) -> str:
    """Runs of capitals as ``X``, of small letters as ``x``, of digits as ``d``: ``Xx``, ``d,d``."""
    kinds = (
        "X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in word
    )
    return re.sub(r"([Xxd])\1+", r"\1", "".join(kinds))


def with_spelling(forest: Forest, vocabs: Mapping[str, Vocabulary]) -> Forest:
    """Add the columns ``ending`` and ``shape`` of the words.

    Arguments:
        forest: a forest with a column ``word`` and a vocabulary of the original words.
        vocabs: the vocabularies of the two columns; a frozen one must have an unknown name.

    Raises:
        TreeError: there is no vocabulary of words, or a name is not in a frozen vocabulary.
    """
    if "word" not in forest.vocabs:
        raise TreeError(f"expected a vocabulary 'word', got {list(forest.vocabs)}")
    names, columns = forest.vocabs["word"].names, dict(forest.columns)
    ids = np.asarray(forest.columns["word"])
    for column, spell in (("ending", ending), ("shape", shape)):
        columns[column] = vocabs[column].encode([spell(name) for name in names])[ids]
    added = {column: vocabs[column] for column in ("ending", "shape")}
    return forest.with_columns(columns, {**forest.vocabs, **added})
