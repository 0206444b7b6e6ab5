"""Parts of one data set with the same columns and vocabularies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import TreeError
from dgltrees.trees.examples import Examples
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["align"]

Column = NDArray[Any]
Kind = str | tuple[int, ...]
"""``"names"``, ``"texts"``, or the shape of a row of numbers."""


def align(parts: Sequence[Examples], names: Sequence[str] = ()) -> list[Examples]:
    """The same parts, which :meth:`Examples.concat` can then join.

    All get the columns of all: what a part has not is missing there, which is -1 for names, None
    for text and NaN for numbers and vectors. Names get ids of one vocabulary, in which those of
    earlier parts stand first.

    Arguments:
        parts: such as the chunks of a file, in which a key first occurs late.
        names: of the parts, such as those of their files, for the errors; numbers by default.

    Raises:
        TreeError: a column holds names in one part and numbers in another, or vectors of other
            sizes.
    """
    forests = [part.forest for part in parts]
    vocabs = _joint_vocabs(forests)
    node_columns = _columns([_kinds(f.columns, f.vocabs) for f in forests], names)
    example_columns = _columns([_kinds(part.columns, {}) for part in parts], names)
    return [
        replace(
            part,
            forest=_aligned(part.forest, node_columns, vocabs),
            columns={
                name: part.columns[name] if name in part.columns else _missing(kind, len(part))
                for name, kind in example_columns.items()
            },
        )
        for part in parts
    ]


def _aligned(forest: Forest, kinds: Mapping[str, Kind], vocabs: Mapping[str, Vocabulary]) -> Forest:
    columns = {}
    for name, kind in kinds.items():
        if name not in forest.columns:
            columns[name] = _missing(kind, forest.num_nodes)
        elif name in vocabs and forest.vocabs[name] != vocabs[name]:
            ids = vocabs[name].encode(forest.vocabs[name].names)
            columns[name] = np.append(ids, np.int32(-1))[forest.columns[name]]
        else:
            columns[name] = forest.columns[name]
    return forest.with_columns(columns, dict(vocabs))


def _kinds(columns: Mapping[str, Column], vocabs: Mapping[str, Vocabulary]) -> dict[str, Kind]:
    return {
        name: "names" if name in vocabs else "texts" if column.dtype == object else column.shape[1:]
        for name, column in columns.items()
    }


def _columns(parts: Sequence[Mapping[str, Kind]], names: Sequence[str]) -> dict[str, Kind]:
    """The columns of all parts by name, in the order in which they occur."""
    kinds: dict[str, Kind] = {}
    first: dict[str, int] = {}
    for number, part in enumerate(parts):
        for name, kind in part.items():
            if kinds.setdefault(name, kind) != kind:
                there, here = (names[i] if names else f"part {i}" for i in (first[name], number))
                raise TreeError(
                    f"expected column {name!r} to hold {_words(kinds[name])}, as in {there}, "
                    f"got {_words(kind)} in {here}"
                )
            first.setdefault(name, number)
    return kinds


def _words(kind: Kind) -> str:
    if isinstance(kind, str):
        return kind
    return f"vectors of {' x '.join(map(str, kind))} numbers" if kind else "numbers"


def _missing(kind: Kind, rows: int) -> Column:
    if kind == "names":
        return np.full(rows, -1, np.int32)
    if kind == "texts":
        return np.full(rows, None, object)
    return np.full((rows, *kind), np.nan, np.float32 if kind else np.float64)


def _joint_vocabs(forests: Sequence[Forest]) -> dict[str, Vocabulary]:
    """A vocabulary per column of names; that of the first part where all parts have the same."""
    first: dict[str, Vocabulary] = {}
    joint: dict[str, Vocabulary] = {}
    for forest in forests:
        for name, vocab in forest.vocabs.items():
            if first.setdefault(name, vocab) == vocab:
                continue
            if name not in joint:
                joint[name] = Vocabulary(first[name].names, unknown=first[name].unknown)
            joint[name].encode(vocab.names)
    return {**first, **joint}
