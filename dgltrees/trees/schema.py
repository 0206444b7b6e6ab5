"""Schema of data: further data are encoded like the training data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import ConfigError, TreeError, called
from dgltrees.trees.columns import Column, has_value, names_of, words_of
from dgltrees.trees.forest import Forest
from dgltrees.trees.saved import in_parts, is_on_disk
from dgltrees.trees.segments import locate
from dgltrees.trees.vocabulary import Vocabulary

NUMBERS = "(numbers)"
"""The node column of an encoded forest that holds all numbers and vectors, concatenated."""

TextReader = Callable[[Sequence[str]], NDArray[Any]]
"""Function from T texts to their ``(T, size)`` vectors."""

_TEXT_WORDS = 32
"""The number of words after which a string is cut off."""
_HARDLY = 0.02
"""The probability of a warning of one tree by chance: it warns if there are 50 training trees."""
_LARGEST = 1e30
"""The largest number of an input, far below what float32 can hold."""


class Schema(Mapping[str, Vocabulary]):
    """Vocabularies, input columns and targets of a model; they encode further data.

    Arguments:
        vocabs: the vocabularies by column; ``"target"`` has the classes.
        inputs: the input columns of the model.
        targets: the names of the columns that it predicts.
        node_target: the name of the node column that it predicts in addition.
    """

    def __init__(
        self,
        vocabs: Mapping[str, Vocabulary],
        inputs: Sequence[Column] = (),
        targets: Sequence[str] = (),
        node_target: str | None = None,
    ) -> None:
        self.node_target = node_target
        self.vocabs, self.inputs, self.targets = dict(vocabs), tuple(inputs), tuple(targets)
        # what no warning names (again): absent columns, unknown names, numbers out of range
        self.reported = {"unknown", "range"}

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
        """The columns of numbers and vectors, in the order of the column :data:`NUMBERS`."""
        return tuple(each for each in self.inputs if each.numeric)

    def to_dict(self) -> dict[str, Any]:
        """Convert inputs and targets, but not the vocabularies, to plain values for a text file."""
        inputs = [asdict(each) for each in self.inputs]
        more = {} if self.node_target is None else {"node_target": self.node_target}
        return {"inputs": inputs, "targets": list(self.targets), **more}

    @classmethod
    def from_dict(cls, vocabs: Mapping[str, Vocabulary], values: Mapping[str, Any]) -> Schema:
        """Restore a schema from the values of :meth:`to_dict`."""
        inputs = [
            Column(
                str(c["name"]),
                str(c["kind"]),
                **{key: int(c[key]) for key in ("size", "trees", "missing", "alone")},
                bounds=c["bounds"] and (float(c["bounds"][0]), float(c["bounds"][1])),
                strings=bool(c["strings"]),
            )
            for c in values["inputs"]
        ]
        targets = [str(name) for name in values["targets"]]
        return cls(vocabs, inputs, targets, values.get("node_target"))

    def read(self, forest: Forest, read_texts: TextReader | None = None) -> Forest:
        """Encode the columns of a forest for a model; others are dropped.

        A category becomes ids of this schema's vocabulary, -1 where it is missing. A text column
        becomes ``(N, 32)`` ids of words, padded with -1. With a size it becomes ``(N, size)``
        vectors, zeros where it is missing. Numbers and vectors become one float64 matrix
        :data:`NUMBERS`, NaN where they are missing. A column that the forest does not have is
        missing everywhere.
        """
        names = [each.name for each in self.inputs]
        if not set(names) & set(forest.columns):
            raise TreeError(
                f"expected trees with the columns of the training data, {', '.join(names)}, got "
                f"trees with {', '.join(forest.columns) or 'no columns'}"
            )
        if is_on_disk(forest):  # the order of names does not depend on parts
            for each in self.inputs:
                if each.named and each.name in forest.vocabs:
                    known, counts = forest.vocabs[each.name].names, forest.name_counts(each.name)
                    self._encoded([known[i] for i in counts.nonzero()[0].tolist()], each, None)
        return in_parts(forest, lambda part: self._read(part, read_texts))

    def _read(self, forest: Forest, read_texts: TextReader | None) -> Forest:
        columns: dict[str, NDArray[Any]] = {}
        vocabs: dict[str, Vocabulary] = {}
        for each in self.inputs:
            if each.numeric:
                continue
            names_of_rows, row = _distinct_names(forest, each)
            if each.named:
                vocabs[each.name] = self.vocabs[each.name]
            columns[each.name] = self._encoded(names_of_rows, each, read_texts)[row]
        if self.numbers:
            parts = [_numbers(forest, each) for each in self.numbers]
            columns[NUMBERS] = np.concatenate(parts, 1)
            self._check_range(forest, columns[NUMBERS])
        return forest.with_columns(columns, vocabs)

    def absent(self, forest: Forest, units: NDArray[np.int64]) -> list[str]:
        """Return the columns without a value in a forest, which is not by chance."""
        m = int(units.max(initial=-1)) + 1
        return [
            each.name
            for each in self.inputs
            if (each.name not in forest.columns or not has_value(forest, each.name).any())
            and _hardly(m, m, each.missing, each.trees)
        ]

    def unknown_categories(self, forest: Forest, units: NDArray[np.int64]) -> list[str]:
        """Describe the categories of a forest that the model has not learned, by column.

        Columns whose unknown categories may be by chance are left out.
        """
        found = []
        of_node, m = units[forest.tree_of_node], int(units.max(initial=-1)) + 1
        for each in self.inputs:
            if each.kind != "category" or self.vocabs[each.name].unknown is None:
                continue
            names, row = _distinct_names(forest, each)
            counts = np.bincount(row, minlength=len(names))
            known = self.vocabs[each.name]
            new = [i for i, name in enumerate(names) if name is not None and name not in known]
            k = len(np.unique(of_node[np.isin(row, new)]))
            if k and _hardly(k, m, each.alone, each.trees):
                most = names[max(new, key=counts.__getitem__)]
                found.append(
                    f"{counts[new].sum():,} of {len(row):,} in column {each.name!r}, such as "
                    f"{most!r:.40}"
                )
        return found

    def out_of_range(self, forest: Forest, units: NDArray[np.int64]) -> list[str]:
        """Describe the numbers of a forest that are outside the range of training, by column.

        Columns that have them by chance are left out. Arguments and result are those of
        :meth:`unknown_categories`.
        """
        found = []
        of_node, m = units[forest.tree_of_node], int(units.max(initial=-1)) + 1
        for each in self.numbers:
            if each.bounds is None:
                continue
            low, high = each.bounds
            numbers = _numbers(forest, each)
            rows, places = np.nonzero((numbers < low) | (numbers > high))
            k = len(np.unique(of_node[rows]))
            if k and _hardly(k, m, 0, each.trees, tests=2 * len(self.numbers)):
                found.append(
                    f"{len(np.unique(rows)):,} of {len(numbers):,} in column {each.name!r}, such "
                    f"as {numbers[rows[0], places[0]]:g} (training: {low:g} to {high:g})"
                )
        return found

    def _encoded(
        self, texts: Sequence[str | None], column: Column, read_texts: TextReader | None
    ) -> NDArray[Any]:
        """Encode the texts of a column as rows, see :meth:`read`."""
        if not column.named:
            return _read_by_encoder(texts, column, read_texts)
        vocab = self.vocabs[column.name]
        try:
            if column.kind == "category":
                return vocab.encode(texts)
            table = np.full((len(texts), _TEXT_WORDS), -1, np.int32)
            for row, text in enumerate(texts):
                words = words_of(text or "")[:_TEXT_WORDS]
                table[row, : len(words)] = vocab.encode(words)
            return table
        except TreeError as error:
            raise TreeError(f"in column {column.name!r}: {error}") from None

    def _check_range(self, forest: Forest, numbers: NDArray[np.float64]) -> None:
        """Raise TreeError if one of the ``(N, K)`` numbers or its logarithm is too large."""
        columns = [each for each in self.numbers for _ in range(each.size)]
        least = [0.0 if each.kind == "log" else -_LARGEST for each in columns]
        broken = (numbers < least) | (numbers > _LARGEST)
        if not broken.any():
            return
        number = int(broken.any(0).argmax())
        row = int(broken[:, number].argmax())
        value = float(numbers[row, number])
        wanted, got = f"numbers between -{_LARGEST:g} and {_LARGEST:g}", f"{value:g}"
        if -_LARGEST <= value < 0:
            wanted, got = "numbers of at least 0 (because its kind is log)", "a negative one"
        tree, node = locate(forest.offsets, row)
        raise TreeError(
            f"expected {wanted} in column {columns[number].name!r}, got {got}; correct it or leave "
            f"the column out with {called('data.features')}",
            tree=tree,
            node=node,
        )


def counted(
    inputs: Sequence[Column], forest: Forest, units: NDArray[np.int64], least: int
) -> tuple[Column, ...]:
    """Return the columns with the counts of training trees, by which new trees are judged."""
    of_node, n = units[forest.tree_of_node], int(units.max(initial=-1)) + 1
    result = []
    for each in inputs:
        known = has_value(forest, each.name)
        owners, rare = of_node[known], 0
        if each.kind == "category":
            rare = _alone(_distinct_names(forest, each)[1][known], owners, least)
        missing = n - len(np.unique(owners))
        result.append(replace(each, trees=n, missing=missing, alone=rare))
    return tuple(result)


def bounded(inputs: Sequence[Column], numbers: NDArray[np.float64]) -> tuple[Column, ...]:
    """Return the columns with the range of the numbers ``(N, K)`` of training.

    A column with a range is one of a model whose training continues: both ranges count.
    """
    first, result = 0, []
    for each in inputs:
        if each.numeric:
            part = numbers[:, first : first + each.size]
            first += each.size
            ends = [float(end.reduce(part, axis=None)) for end in (np.fmin, np.fmax)]
            low, high = each.bounds or ends
            known = None if np.isnan(ends[0]) else (min(low, ends[0]), max(high, ends[1]))
            each = replace(each, bounds=known or each.bounds)
        result.append(each)
    return tuple(result)


def _alone(codes: NDArray[Any], units: NDArray[np.int64], least: int) -> int:
    """Return the number of units with a category that would be unknown without the unit.

    A category is known if ``least`` nodes have it; the nodes have categories and units.
    """
    pairs, inside = np.unique(np.stack([units, codes]), axis=1, return_counts=True)
    return len(np.unique(pairs[0, np.bincount(codes)[pairs[1]] - inside < least]))


def _hardly(k: int, m: int, r: int, n: int, *, tests: int = 1) -> bool:
    """Return whether k of m trees are hardly rare by chance, as r of n training trees are.

    The probability is that of Fisher's exact test. The more trees, the less often.
    """
    from scipy.stats import hypergeom

    return bool(hypergeom.sf(k - 1, n + m, k + r, m) < _HARDLY / max(m, 1) / tests)


def _distinct_names(
    forest: Forest, column: Column
) -> tuple[Sequence[str | None], NDArray[np.int64]]:
    """Return the different names in a column, and ``(N,)`` the index of each node's name.

    A missing name is None.
    """
    if column.name not in forest.columns:
        return [None], np.zeros(forest.num_nodes, np.int64)
    values = np.asarray(forest.columns[column.name])
    if column.name in forest.vocabs:
        names = forest.vocabs[column.name].names
        used = np.bincount(values + 1).nonzero()[0]  # 0 are the missing ones
        place = np.empty(len(names) + 1, np.int64)
        place[used] = np.arange(len(used))
        return [names[i - 1] if i else None for i in used.tolist()], place[values + 1]
    if values.ndim > 1:
        if not has_value(forest, column.name).any():
            return [None], np.zeros(forest.num_nodes, np.int64)
        raise _misfit(forest, column.name, f"to hold a {column.kind}", "vectors")
    numbers, row = np.unique(values, return_inverse=True)

    def error(message: str, number: int) -> TreeError:
        tree, node = locate(forest.offsets, int((row == number).argmax()))
        return TreeError(message, tree=tree, node=node)

    return names_of(numbers, column.name, error), row


def _read_by_encoder(
    texts: Sequence[str | None], column: Column, read_texts: TextReader | None
) -> NDArray[Any]:
    """Encode texts as vectors, zeros for None."""
    named = [text for text in texts if text is not None]
    rows = None if read_texts is None else read_texts(named)
    if rows is None or rows.shape != (len(named), column.size):
        raise ConfigError(
            f"expected an encoder with vectors of size {column.size}, as in training, got "
            f"{'none' if rows is None else f'size {rows.shape[1]}'}; name it with "
            f"{called('data.pretrained')}"
        )
    table = np.zeros((len(texts), column.size), np.float32)
    table[[text is not None for text in texts]] = rows
    return table


def _numbers(forest: Forest, column: Column) -> NDArray[np.float64]:
    """Return the ``(N, size)`` values of a number or vector, NaN where they are missing."""
    values, nodes = forest.columns.get(column.name), forest.num_nodes
    if values is None:
        return np.full((nodes, column.size), np.nan)
    if column.name in forest.vocabs:
        names = forest.vocabs[column.name].names
        used = forest.name_counts(column.name).nonzero()[0]
        with suppress(ValueError):
            table = np.full(len(names) + 1, np.nan)
            table[used] = [float(names[i]) for i in used.tolist()]
            values = table[values]
    if (column.name in forest.vocabs and values.dtype.kind != "f") or values.dtype.kind in "USO":
        wanted, got = "to hold numbers", "names"
    else:
        matrix = np.asarray(values, np.float64).reshape(nodes, *values.shape[1:] or (1,))
        if matrix.shape[1] == column.size:
            return matrix
        wanted, got = f"to have {column.size} numbers per node", f"{matrix.shape[1]}"
    if not has_value(forest, column.name).any():  # which fits any kind
        return np.full((nodes, column.size), np.nan)
    raise _misfit(forest, column.name, wanted, got)


def _misfit(forest: Forest, name: str, wanted: str, got: str) -> TreeError:
    """Return the error of a column of another kind than in training, with its first value."""
    row = int(has_value(forest, name).argmax())
    value = np.asarray(forest.columns[name])[row : row + 1].tolist()[0]
    if name in forest.vocabs:
        value = forest.vocabs[name].names[value]
    tree, node = locate(forest.offsets, row)
    return TreeError(
        f"expected column {name!r} {wanted}, as in training, got {got}, such as {value!r:.40}; "
        "correct it or leave it out",
        tree=tree,
        node=node,
    )
