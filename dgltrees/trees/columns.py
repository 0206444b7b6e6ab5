"""Kinds of the columns of custom trees: by their values, or as a user says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import ConfigError, TreeError, called
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dgltrees.trees.forest import Forest


SUBWORDS = "subwords"
"""The kind of a column of texts that a pretrained encoder reads while it is trained."""


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


Kind = Literal["category", "number", "log", "vector", "text", "none"]
"""What a column holds: one of many names; a number; a number whose logarithm counts; a list of
numbers; words. A column of kind ``none`` is not read."""
KINDS: tuple[str, ...] = get_args(Kind)


_HEAVY_TAIL = 100.0  # a largest value so many times the median calls for logarithms
_FEW_NAMES = 20  # with so few different values, names with spaces are categories still


def infer_columns(forest: Forest, without: Sequence[str] = ()) -> tuple[Column, ...]:
    """What each node column holds, by its values.

    Names are a category, or a text where they are many and most have several words. Numbers are
    ``log`` where none is negative and the largest is more than 100 times the median of those above
    zero; a matrix is a vector for each node.

    Arguments:
        forest: the trees.
        without: columns to leave out, such as targets.
    """
    return tuple(
        Column(name, infer_kind(values, forest.vocabs.get(name)), _size(values))
        for name, values in forest.columns.items()
        if name not in without
    )


def infer_kind(values: NDArray[Any], vocab: Vocabulary | None = None) -> str:
    """What a column holds, by the rules of :func:`infer_columns`.

    Arguments:
        values: its values, ids of names where there is a vocabulary.
        vocab: the names.
    """
    values = np.asarray(values)
    if vocab is not None:
        names = vocab.names
        several = sum(" " in each.strip() for each in names)
        return "text" if len(names) > _FEW_NAMES and 2 * several > len(names) else "category"
    if values.ndim > 1:
        return "vector"
    if values.dtype.kind in "US":
        return "category"
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    positive = finite[finite > 0]
    heavy = len(positive) and float(positive.max()) > _HEAVY_TAIL * float(np.median(positive))
    return "log" if heavy and (finite >= 0).all() else "number"


def choose_columns(
    forest: Forest,
    wanted: Sequence[str] | Mapping[str, str] | None,
    without: Sequence[str] = (),
) -> tuple[Column, ...]:
    """The input columns that a user asks for.

    Arguments:
        forest: the trees.
        wanted: the names of the columns; or kinds by name, where ``none`` leaves a column out and
            columns that are not named are as inferred; None for all as inferred.
        without: columns that are no inputs, such as targets and groups.

    Raises:
        TreeError: there is no such column, or no column at all, or it cannot be of that kind.
        ConfigError: there is no such kind.
    """
    inferred = {each.name: each for each in infer_columns(forest, without)}
    asked = [] if wanted is None else list(wanted)
    for name in asked:
        if name in without:
            raise ConfigError(f"expected input columns, got {name!r}, which is no input")
        if name not in inferred:
            raise TreeError(
                f"expected {called('data.columns')} to name columns of the trees "
                f"({', '.join(inferred)}), got {name!r}"
            )
    if isinstance(wanted, Mapping):
        chosen = [_of_kind(forest, each, wanted.get(each.name)) for each in inferred.values()]
        chosen = [each for each in chosen if each.kind != "none"]
    else:
        chosen = list(inferred.values()) if wanted is None else [inferred[name] for name in asked]
    if not chosen:
        raise TreeError(
            "expected trees with at least one input column beside the target, got none; "
            f"see {called('data.columns')}"
        )
    return tuple(chosen)


def _of_kind(forest: Forest, column: Column, kind: str | None) -> Column:
    if kind is None or kind == column.kind:
        return column
    if kind not in KINDS:
        raise ConfigError(
            f"expected data.columns.{column.name} to be one of {', '.join(KINDS)}, got {kind!r}"
        )
    named = column.name in forest.vocabs
    wrong = named and kind not in ("category", "text", "none")
    if wrong or ((column.kind == "vector") != (kind == "vector") and kind != "none"):
        holds = "names" if named else f"a {column.kind}"
        raise TreeError(
            f"expected column {column.name!r} to hold a {kind}, which {called('data.columns')} "
            f"says, got {holds}"
        )
    if kind == "text" and not named:
        raise TreeError(f"expected column {column.name!r} to hold texts, got numbers")
    return Column(column.name, kind, column.size)


def _size(values: NDArray[Any]) -> int:
    return int(values.shape[1]) if values.ndim > 1 else 1
