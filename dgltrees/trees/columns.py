"""Kinds of the columns of custom trees: inferred from their values, or chosen by the user."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import ConfigError, RowError, TreeError, called
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dgltrees.trees.forest import Forest


@dataclass(frozen=True)
class Column:
    """An input column of a model.

    Attributes:
        name: its name in the data.
        kind: one of :data:`KINDS`.
        size: the number of entries of a vector, or of the vector that a pretrained encoder gives
            for a text; otherwise 1.
        trees: the number of training trees; of groups for a ranker.
        missing: how many of them have no value of it.
        alone: how many of them have a category that would be unknown without them.
        bounds: the smallest and the largest number of training.
        strings: whether the training data have strings in it, which further tables keep as text.
    """

    name: str
    kind: str
    size: int = 1
    trees: int = field(default=0, compare=False)
    missing: int = field(default=0, compare=False)
    alone: int = field(default=0, compare=False)
    bounds: tuple[float, float] | None = field(default=None, compare=False)
    strings: bool = field(default=False, compare=False)

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers or vectors."""
        return self.kind in ("number", "log", "vector")

    @property
    def named(self) -> bool:
        """Whether the column becomes ids: of categories or of words."""
        return self.kind == "category" or (self.kind == "text" and self.size == 1)


EXACT = 2**53
"""Integers up to this value are exact as floats."""


def name_of(value: Any) -> str | None:
    """Convert a value to the name of a category or class.

    Numbers keep all their digits, and those without a fraction are written as integers. Booleans
    are ``true`` and ``false``.
    """
    if value is None or type(value).__name__ == "NAType" or value != value:
        return None
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def column_names(names: Iterable[Any], error: Callable[[str], TreeError] = TreeError) -> list[str]:
    """Return the names of columns as strings; two equal ones, as 1 and ``"1"``, are an error."""
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise error(f"expected every column once, got {twice!r} twice; rename one of them")
    return texts


def names_of(values: NDArray[Any], column: str, error: RowError) -> list[str | None]:
    """Convert a column to the names of categories or classes, see :func:`name_of`."""
    if values.dtype.kind == "f":
        for row in np.flatnonzero(np.isfinite(values) & (abs(values) >= EXACT))[:1].tolist():
            raise error(
                f"expected names in column {column!r}, got {values[row]:.0f}, which may be a "
                "rounded integer, since other rows are empty or above 2^63; write such numbers as "
                f"strings, or name the column in {called('data.categorical_columns')}",
                row,
            )
    return [*map(name_of, values.tolist())]


def words_of(text: str) -> list[str]:
    """Return the words and punctuation of a string in lower case; names with parts are split."""
    return _WORD.findall(_CAMEL.sub(" ", text).lower())


Kind = Literal["category", "number", "log", "vector", "text", "none"]
"""Kinds of columns: one of several names; a number; a number that is used on a logarithmic scale; a
list of numbers; words. ``none`` leaves a column out."""
KINDS: tuple[str, ...] = get_args(Kind)


_WIDE = 100.0  # positive values over such a range call for logarithms
_FEW_NAMES = 20  # up to this many different values, names of several words are still categories
_NEW_NAMES = 0.2  # share of names that occur once, above which other trees have many new ones
_WORD = re.compile(r"[^\W_]+|[^\w\s]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def infer_columns(forest: Forest, without: Sequence[str] = ()) -> tuple[Column, ...]:
    """Infer the kind of each node column from its values.

    Strings are categories. They are texts if they have more than 20 different values, and most of
    these contain several words, or several parts such as ``getUserName`` while a fifth of the
    values occur only once: names of node types are few, and occur often. Numbers have kind ``log``
    if none is negative and the positive ones span orders of magnitude: their 95 % quantile is more
    than 100 times their 5 % quantile, or the largest is more than 100 times their median. A matrix
    has a vector for each node.
    """
    return tuple(
        Column(
            name,
            infer_kind(values, forest.vocabs.get(name)),
            values.shape[1] if values.ndim > 1 else 1,
            strings=name in forest.vocabs,
        )
        for name, values in forest.columns.items()
        if name not in without
    )


def infer_kind(values: NDArray[Any], vocab: Vocabulary | None = None) -> str:
    """Infer the kind of a column, by the rules of :func:`infer_columns`."""
    values = np.asarray(values)
    if vocab is not None:
        return _kind_of_names(vocab.names, np.bincount(values[values >= 0], minlength=len(vocab)))
    if values.ndim > 1:
        return "vector"
    if values.dtype.kind == "b":
        return "number"
    if values.dtype.kind in "US":
        return "category"
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    positive = finite[finite > 0]
    if not len(positive) or (finite < 0).any():
        return "number"
    low, median, high, largest = np.quantile(positive, [0.05, 0.5, 0.95, 1.0])
    return "log" if high > _WIDE * low or largest > _WIDE * median else "number"


def _kind_of_names(names: Sequence[str], counts: NDArray[np.int64]) -> str:
    """Return whether names that occur so often are categories, or texts."""
    used = [names[row] for row in np.flatnonzero(counts).tolist()]
    if len(used) <= _FEW_NAMES:
        return "category"
    several = sum(" " in each.strip() for each in used)
    if (counts == 1).sum() > _NEW_NAMES * len(used):
        several = sum(len(words_of(each)) > 1 for each in used)
    return "text" if several > len(used) / 2 else "category"


def choose_columns(
    forest: Forest, wanted: Sequence[str] | Mapping[str, str] | None, without: Sequence[str] = ()
) -> tuple[Column, ...]:
    """Choose the input columns and their kinds."""
    inferred = {each.name: each for each in infer_columns(forest, without)}
    asked = [] if wanted is None else list(wanted)
    for name in asked:
        if name in without:
            raise ConfigError(
                f"expected {called('data.features')} to name inputs, got {name!r}, a target "
                "(of trees or nodes) or group; leave it out"
            )
        if name not in inferred:
            raise TreeError(
                f"expected {called('data.features')} to name columns of the trees "
                f"({', '.join(inferred)}), got {name!r}"
            )
    if isinstance(wanted, Mapping):
        chosen = [_of_kind(forest, each, wanted.get(each.name)) for each in inferred.values()]
        chosen = [each for each in chosen if each.kind != "none"]
    else:
        chosen = list(inferred.values()) if wanted is None else [inferred[name] for name in asked]
    if not chosen:
        raise TreeError(
            "expected trees with at least one input column in addition to the target, got none; "
            f"see {called('data.features')}"
        )
    return tuple(chosen)


def _of_kind(forest: Forest, column: Column, kind: str | None) -> Column:
    if kind is None or kind == column.kind:
        return column
    if kind not in KINDS:
        raise ConfigError(
            f"expected data.features.{column.name} to be one of {', '.join(KINDS)}, got {kind!r}"
        )
    named = column.name in forest.vocabs
    wrong = named and kind not in ("category", "text", "none")
    if wrong or ((column.kind == "vector") != (kind == "vector") and kind != "none"):
        holds = "names" if named else f"a {column.kind}"
        raise TreeError(
            f"expected column {column.name!r} to hold a {kind}, as {called('data.features')} says, "
            f"got {holds}"
        )
    if kind == "text" and not named:
        raise TreeError(f"expected column {column.name!r} to hold strings, got numbers")
    return replace(column, kind=kind)


def has_value(forest: Forest, name: str) -> NDArray[np.bool_]:
    """Return whether each node has a value of a column, ``(N,)``."""
    values = np.asarray(forest.columns[name])
    if name in forest.vocabs:
        return values >= 0
    if values.dtype.kind == "f":
        return np.asarray(~np.isnan(values).all(tuple(range(1, values.ndim))))
    return np.ones(len(values), np.bool_)
