"""What estimators take: trees in any container, and their targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import PurePath
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats.format import RecordLayout
from dgltrees.formats.lines import gather
from dgltrees.formats.records import complete, is_records, listed, trees_of_records
from dgltrees.formats.values import of_user
from dgltrees.trees import Forest, LabeledTrees, TreePairs
from dgltrees.trees.builders.walk import cure_for
from dgltrees.trees.columns import Column, column_names, name_of

Trees = (
    Forest
    | LabeledTrees
    | TreePairs
    | Sequence[Forest]
    | Sequence[LabeledTrees]
    | Sequence[TreePairs]
    | Sequence[dict[str, Any]]
)
"""A forest, the trees that :func:`~dgltrees.read` returned, or pairs of trees; a sequence of these,
as scikit-learn's splits return; or a sequence of nested dictionaries, also as a Series of pandas or
as an array or table with one column."""


def inferred_layout(X: Trees, layout: RecordLayout) -> RecordLayout:
    """Complete the layout of nested dictionaries; return that of other trees unchanged."""
    trees = listed(X)
    return complete(layout, trees) if is_records(trees) else layout


def as_examples(
    X: Trees, layout: RecordLayout, share: Literal[False] | None, inputs: Sequence[Column] = ()
) -> LabeledTrees:
    """Return trees, or pairs of trees, as one data set without targets."""
    X = listed(X)
    if is_records(X):
        return _single(trees_of_records(cast(Any, X), layout, share, inputs)[0])
    if isinstance(X, (Forest, LabeledTrees, TreePairs)):
        parts = [X]
    elif isinstance(X, (list, tuple, np.ndarray)) and len(X):
        parts = list(X)
    else:
        got, cure = f"{type(X).__name__} {_line(X)}", cure_for(X)
        if isinstance(X, (list, tuple, np.ndarray)):
            got = f"an empty {type(X).__name__}"
            cure = "give at least one tree"
        elif isinstance(X, dict):
            got, cure = f"a single dictionary {X!r:.40}", "wrap it in a list: [tree]"
        elif isinstance(X, (str, PurePath)):
            is_json = str(X).lstrip().startswith(("[", "{"))
            cure = f"dgltrees.read({str(X)!r}) has the trees of a file"
            cure = "parse it with json.loads" if is_json else cure
        elif hasattr(X, "columns"):
            got = f"a {type(X).__name__} with the columns {', '.join(map(str, X.columns)):.200}"
            cure = "pass a list of nested dictionaries, or the column that has them"
            cure += " (of a row per node, dgltrees.trees.builders.from_table makes a Forest)"
        raise TreeError(f"expected trees as a Forest or nested dictionaries, got {got}; {cure}")
    wrong: list[Any] = [
        each for each in parts if not isinstance(each, (Forest, LabeledTrees, TreePairs))
    ]
    if wrong:
        text = "parse each with json.loads, or with a function of dgltrees.trees.builders"
        cure = text if isinstance(wrong[0], str) else cure_for(wrong[0])
        raise TreeError(
            f"expected trees as a Forest or nested dictionaries, got a {type(wrong[0]).__name__} "
            f"{_line(wrong[0])}; {cure}"
        )
    examples = gather(map(_single, parts))
    if not len(examples):
        raise TreeError("expected at least one tree, got none")
    return examples


def _line(value: Any) -> str:
    """Return the beginning of a value in one line, for an error."""
    return " ".join(repr(value).split())[:40]


def has_no_trees(X: Trees) -> bool:
    """Return whether trees are an empty container."""
    X = listed(X)
    kinds = (Forest, LabeledTrees, TreePairs, list, tuple, np.ndarray)
    return isinstance(X, kinds) and not len(X)


def no_trees(inputs: Sequence[Column], arity: int) -> LabeledTrees:
    """Return no trees, with the columns that a model reads."""
    columns = {each.name: np.zeros((0, each.size)[: 1 + each.numeric]) for each in inputs}
    return LabeledTrees(Forest.build([], offsets=[0], columns=columns), arity=arity)


def one_example(data: LabeledTrees) -> LabeledTrees:
    """Return an example of single nodes without values, with the columns of encoded examples."""

    def filled(columns: Mapping[str, NDArray[Any]], rows: int) -> dict[str, NDArray[Any]]:
        return {
            name: np.full((rows, *each.shape[1:]), -1 if each.dtype.kind == "i" else 0, each.dtype)
            for name, each in columns.items()
        }

    parent, offsets = [-1] * data.arity, range(data.arity + 1)
    columns, vocabs = filled(data.forest.columns, data.arity), data.forest.vocabs
    forest = Forest.build(parent, offsets=offsets, columns=columns, vocabs=vocabs)
    return replace(data, forest=forest, columns=filled(data.columns, 1))


def _single(trees: Forest | LabeledTrees | TreePairs) -> LabeledTrees:
    """Return trees without example columns."""
    if isinstance(trees, LabeledTrees):
        return replace(trees, columns={})
    return trees.examples() if isinstance(trees, TreePairs) else LabeledTrees(trees)


def target_columns(y: ArrayLike) -> dict[str, NDArray[Any]]:
    """Return targets by name, each ``(T,)``: by the columns of a table, or as ``target``."""
    names = column_names(getattr(y, "columns", []))
    if y is None:
        raise TreeError("missing targets y")
    values = _values(y)
    first = values.flat[0] if values.size else None
    if values.dtype.kind in "mM" or isinstance(first, timedelta):
        raise TreeError(
            f"expected numbers or classes as y, got times, {first!r}, whose unit is hidden; give "
            "seconds, such as y.dt.total_seconds() of a Series (of dates, since one of them), or "
            "the names of classes, such as y.astype(str)"
        )
    if values.ndim == 1:
        return {"target": values}
    if values.ndim != 2 or not values.shape[1]:
        raise TreeError(f"expected targets (T,) or (T, K), got the shape {values.shape}")
    names = names or [f"target_{k}" for k in range(values.shape[1])]
    return {name: values[:, k] for k, name in enumerate(names)}


def labels(classes: ArrayLike) -> NDArray[Any]:
    """Return classes as an array of strings, numbers or booleans; missing ones are None in it.

    Members of enumerations that are strings or integers are these.
    """
    values = _array(classes, object if isinstance(classes, (list, tuple)) else None)
    if values.dtype.kind in "biufUmM" or not values.ndim:
        return values
    plain = np.frompyfunc(_label, 1, 1)(values)
    known = [each for each in plain.ravel().tolist() if each is not None]
    kinds = {str if isinstance(each, str) else type(each) is bool: each for each in known}
    if len(kinds) > 1:
        one, other = list(kinds.values())[:2]
        raise TreeError(
            f"expected classes of one type, got {one!r} and {other!r}; write "
            "[str(each) for each in y]"
        )
    return np.asarray(plain if len(known) < plain.size else plain.tolist())


def _array(values: ArrayLike, dtype: type | None = None) -> NDArray[Any]:
    """Convert values to an array; the masked ones of a masked array are None, or NaN of floats."""
    array = np.asarray(values, dtype)
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        array = array.astype(array.dtype if array.dtype.kind == "f" else object)
        array[np.ma.getmaskarray(values)] = None
    return array


def _label(value: Any) -> Any:
    """Return a class without the type that it has in addition to that of a string or number."""
    if name_of(value) is None:
        return None
    value = value.item() if hasattr(value, "item") else value  # of NumPy or torch
    if type(value) in (bool, float):
        return value
    if isinstance(value, str) and value.endswith("\0"):
        raise TreeError(
            f"expected classes without the character NUL at the end, which NumPy drops, got "
            f"{value!r:.60}; rename them"
        )
    if isinstance(value, (str, int)):
        return str.__str__(value) if isinstance(value, str) else int(value)
    raise TreeError(
        f"expected classes as strings, numbers or booleans in y, got {value!r:.60}; write "
        "[str(each) for each in y]"
    )


def named_targets(
    targets: Mapping[str, NDArray[Any]], names: Sequence[str]
) -> Mapping[str, NDArray[Any]]:
    """Return targets under the names of training; those of other names are in the same order."""
    if set(targets) == set(names):
        return targets
    if len(targets) != len(names) or set(targets) & set(names):
        raise TreeError(
            f"expected the targets of training, {', '.join(names)}, got {', '.join(targets)}"
        )
    return dict(zip(names, targets.values()))


def _values(of_trees: ArrayLike) -> NDArray[Any]:
    """Return values of trees as an array, in which missing ones are None or NaN."""
    values = _array(of_trees)
    is_list = isinstance(of_trees, (list, tuple)) and values.ndim == 1
    if is_list and any(name_of(value) is None for value in cast(Any, of_trees)):
        return np.array(of_trees, object)  # NumPy turns NaN among strings into a string
    return values


def group_names(groups: ArrayLike, count: int) -> NDArray[Any]:
    """Return the group of each of ``count`` trees or pairs."""
    names = _values(groups)
    if names.shape != (count,):
        raise ConfigError(
            f"expected groups to be one per tree, ({count},), got the shape {names.shape}"
        )
    missing = [row for row, name in enumerate(names.tolist()) if name_of(name) is None]
    if missing:
        raise ConfigError(
            f"expected groups without missing values, got {len(missing)} of {count}, the first at "
            f"index {missing[0]}; add them, or leave these trees out"
        )
    return names


def with_targets(examples: LabeledTrees, targets: Mapping[str, NDArray[Any]]) -> LabeledTrees:
    """Return the examples with targets by name."""
    unit = "tree" if examples.arity == 1 else "pair"
    for values in targets.values():
        if len(values) != len(examples):
            raise TreeError(
                f"expected a target per {unit}, got {len(values)} targets for {len(examples)} "
                f"{unit}s"
            )
    return replace(examples, columns={of_user(name): values for name, values in targets.items()})
