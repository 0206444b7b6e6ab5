"""One column of people's own trees: what it holds, and its values as a model reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = [
    "SUBWORDS",
    "Column",
    "TextReader",
    "distinct_names",
    "ids_of_names",
    "name_of",
    "numbers_of",
    "subwords_of_texts",
    "vectors_of_texts",
    "words_of_texts",
]

SUBWORDS = "subwords"
"""The kind of a column of texts that a pretrained encoder reads while it is trained."""
TEXT_WORDS = 32
"""Words of a text that are read at most."""
TextReader = Callable[[Sequence[str]], NDArray[Any]]
"""Gives the ``(T, size)`` vectors of T texts; or ``(T, P)`` the ids of their sub-words."""

_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Column:
    """One input column.

    Attributes:
        name: its name in the data.
        kind: what it holds; a text whose encoder is trained too is :data:`SUBWORDS`.
        size: entries of a vector, or of a text's vector by a pretrained encoder; 1 otherwise.
    """

    name: str
    kind: str
    size: int = 1

    @property
    def numeric(self) -> bool:
        """Whether it is a number or a vector."""
        return self.kind in ("number", "log", "vector")

    @property
    def named(self) -> bool:
        """Whether it is read as ids of names: of categories, or of (sub-)words of texts."""
        return self.kind in ("category", SUBWORDS) or (self.kind == "text" and self.size == 1)


def distinct_names(forest: Forest, column: Column) -> tuple[list[str | None], NDArray[np.int64]]:
    """The different names in a column, None for a missing one, and ``(N,)`` which each node has.

    Raises:
        TreeError: the column holds numbers or vectors, and not names.
    """
    values = forest.columns.get(column.name)
    if values is None:
        return [None], np.zeros(forest.num_nodes, np.int64)
    values = np.asarray(values)
    if column.name in forest.vocabs:
        names = forest.vocabs[column.name].names
        used = np.bincount(values + 1).nonzero()[0]  # 0 are the missing ones
        place = np.empty(len(names) + 1, np.int64)
        place[used] = np.arange(len(used))
        return [names[i - 1] if i else None for i in used.tolist()], place[values + 1]
    if column.kind == "text" or values.ndim > 1:
        if _is_empty(forest, column.name):
            return [None], np.zeros(forest.num_nodes, np.int64)
        raise TreeError(
            f"expected column {column.name!r} to hold a {column.kind}, as in training, got "
            f"{'vectors' if values.ndim > 1 else 'numbers'}"
        )
    numbers, row = np.unique(values, return_inverse=True)
    return [name_of(each) for each in numbers.tolist()], row


def name_of(value: Any) -> str | None:
    """A value as the name of a category or class; None where it is missing (None or NaN).

    Numbers keep all their digits, whole ones without a point; truth values are true and false.
    """
    if value is None or value != value:
        return None
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _is_empty(forest: Forest, name: str) -> bool:
    """Whether a column has no value at all, and so could hold anything."""
    values = np.asarray(forest.columns[name])
    if name in forest.vocabs:
        return not (values >= 0).any()
    return values.dtype.kind == "f" and bool(np.isnan(values).all())


def ids_of_names(names: Sequence[str | None], vocab: Vocabulary, column: str) -> NDArray[np.int32]:
    """The id of each name, -1 for None.

    Raises:
        TreeError: a name is not in a frozen vocabulary without an unknown name.
    """
    try:
        return vocab.encode(names)
    except TreeError as error:
        raise TreeError(f"in column {column!r}: {error}") from None


def words_of_texts(
    texts: Sequence[str | None], vocab: Vocabulary, column: str
) -> NDArray[np.int32]:
    """``(len(texts), 32)`` the ids of each text's first words, -1 beyond its end.

    Raises:
        TreeError: see :func:`ids_of_names`.
    """
    table = np.full((len(texts), TEXT_WORDS), -1, np.int32)
    for row, text in enumerate(texts):
        words = _WORD.findall((text or "").lower())[:TEXT_WORDS]
        table[row, : len(words)] = ids_of_names(words, vocab, column)
    return table


def subwords_of_texts(
    texts: Sequence[str | None], column: Column, read_texts: TextReader | None
) -> NDArray[np.int32]:
    """``(len(texts), P)`` the ids of the sub-words of texts, -1 beyond their ends and for None.

    Raises:
        ConfigError: there is no encoder.
    """
    if read_texts is None:
        raise ConfigError(
            f"expected a pretrained encoder that reads column {column.name!r}, as in training, got "
            "none; name it with data.pretrained"
        )
    ids = read_texts([text for text in texts if text is not None])
    table = np.full((len(texts), ids.shape[1]), -1, np.int32)
    table[[text is not None for text in texts]] = ids
    return table


def vectors_of_texts(
    texts: Sequence[str | None], column: Column, read_texts: TextReader | None
) -> NDArray[np.float32]:
    """``(len(texts), size)`` the vectors of texts, zeros for None.

    Raises:
        ConfigError: there is no encoder, or one whose vectors have another size.
    """
    table = np.zeros((len(texts), column.size), np.float32)
    named = [text for text in texts if text is not None]
    vectors = None if read_texts is None else read_texts(named)
    if vectors is None or vectors.shape != (len(named), column.size):
        raise ConfigError(
            f"expected an encoder whose vectors of texts have size {column.size}, as in training, "
            f"got {'none' if vectors is None else f'one of size {vectors.shape[1]}'}; name it with "
            "data.pretrained"
        )
    table[[text is not None for text in texts]] = vectors
    return table


def numbers_of(forest: Forest, column: Column) -> NDArray[np.float64]:
    """``(N, size)`` the values of a number or vector, NaN where they are missing.

    Raises:
        TreeError: the column holds names, or vectors of another size.
    """
    values, nodes = forest.columns.get(column.name), forest.num_nodes
    if values is None:
        return np.full((nodes, column.size), np.nan)
    if column.name in forest.vocabs or values.dtype.kind in "USO":
        got = "to hold numbers, as in training, got names"
    else:
        matrix = np.asarray(values, np.float64).reshape(nodes, -1)
        if matrix.shape[1] == column.size:
            return matrix
        got = f"to have {column.size} numbers per node, as in training, got {matrix.shape[1]}"
    if _is_empty(forest, column.name):
        return np.full((nodes, column.size), np.nan)
    raise TreeError(f"expected column {column.name!r} {got}")
