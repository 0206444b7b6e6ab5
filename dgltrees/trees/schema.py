"""The columns of people's own trees: what each holds, and how further data are read alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Callable, Literal, Optional, Union, get_args

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import locate
from dgltrees.trees.vocabulary import Vocabulary
from dgltrees.trees.words import UNKNOWN

__all__ = [
    "KINDS",
    "NUMBERS",
    "Column",
    "Kind",
    "Schema",
    "choose_columns",
    "infer_columns",
    "infer_kind",
    "name_of",
]

Kind = Literal["category", "number", "log", "vector", "text", "none"]
"""What a column holds: one of many names; a number; a number whose logarithm counts; a list of
numbers; words. A column of kind ``none`` is not read."""
KINDS: tuple[str, ...] = get_args(Kind)

NUMBERS = "(numbers)"
"""The node column of a read forest that has all numbers and vectors side by side."""
TEXT_WORDS = 32
"""Words of a text that are read at most."""
SUBWORDS = "subwords"
"""The kind of a column of texts that a pretrained encoder reads while it is trained."""
TextReader = Callable[[Sequence[str]], NDArray[Any]]
"""Gives the ``(T, size)`` vectors of T texts; or ``(T, P)`` the ids of their sub-words."""

_WORD = re.compile(r"\w+|[^\w\s]")
_HEAVY_TAIL = 100.0  # a largest value so many times the median calls for logarithms
_LARGEST = np.finfo(np.float64).max
_FEW_NAMES = 20  # with so few different values, names with spaces are categories still


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


class Schema(Mapping[str, Vocabulary]):
    """What further data are read by: vocabularies, by column, and the columns that a model reads.

    Arguments:
        vocabs: names behind ids; ``"target"`` are the classes.
        inputs: the columns that a model reads.
        targets: the columns that it predicts.
    """

    def __init__(
        self,
        vocabs: Mapping[str, Vocabulary],
        inputs: Sequence[Column] = (),
        targets: Sequence[str] = (),
    ) -> None:
        self.vocabs, self.inputs, self.targets = dict(vocabs), tuple(inputs), tuple(targets)

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
        """The numbers and vectors, in the order of the column :data:`NUMBERS`."""
        return tuple(each for each in self.inputs if each.numeric)

    def to_dict(self) -> dict[str, Any]:
        """Inputs and targets as plain values, for a text file; vocabularies have files."""
        inputs = [{"name": c.name, "kind": c.kind, "size": c.size} for c in self.inputs]
        return {"inputs": inputs, "targets": list(self.targets)}

    @classmethod
    def from_dict(cls, vocabs: Mapping[str, Vocabulary], values: Mapping[str, Any]) -> Schema:
        """The schema of what :meth:`to_dict` gave, with its vocabularies."""
        inputs = [Column(str(c["name"]), str(c["kind"]), int(c["size"])) for c in values["inputs"]]
        return cls(vocabs, inputs, [str(name) for name in values["targets"]])

    def read(self, forest: Forest, read_texts: Optional[TextReader] = None) -> Forest:
        """A forest with the columns of this schema alone, as a model reads them.

        A category has ids of this schema's vocabulary, -1 where it is missing. A text has
        ``(N, 32)`` ids of words, -1 beyond its end; or, if its column has a size, ``(N, size)``
        vectors, zeros where it is missing; or, if an encoder is trained on it, ``(N, P)`` ids of
        sub-words, -1 beyond its end. The numbers and vectors are the float64 matrix
        :data:`NUMBERS`, NaN where they are missing. A column that the forest does not have is
        missing everywhere.

        Arguments:
            forest: the trees.
            read_texts: gives the ``(T, size)`` vectors of T texts, or the ``(T, P)`` ids of their
                sub-words.

        Raises:
            TreeError: with tree and column: the forest has none of the columns, or one that holds
                something else; a number is infinite; a name is not in a frozen vocabulary without
                an unknown name.
        """
        names = [each.name for each in self.inputs]
        if not set(names) & set(forest.columns):
            raise TreeError(
                f"expected trees with the columns {', '.join(names)}, got trees with "
                f"{', '.join(forest.columns) or 'no columns'}; give trees like those of training"
            )
        columns: dict[str, NDArray[Any]] = {}
        vocabs: dict[str, Vocabulary] = {}
        for each in self.inputs:
            if each.numeric:
                continue
            distinct, row = _distinct(forest, each)
            if not each.named:
                columns[each.name] = _vectors(distinct, each, read_texts)[row]
                continue
            vocabs[each.name] = self.vocabs[each.name]
            if each.kind == SUBWORDS:
                columns[each.name] = _subwords(distinct, each, read_texts)[row]
                continue
            encode = _words if each.kind == "text" else _ids
            columns[each.name] = encode(distinct, vocabs[each.name], each.name)[row]
        if self.numbers:
            parts = [_numbers(forest, each) for each in self.numbers]
            columns[NUMBERS] = np.concatenate(parts, 1)
            self._check_range(forest, columns[NUMBERS])
        return forest.with_columns(columns, vocabs)

    @cached_property
    def _least(self) -> NDArray[np.float64]:
        """``(K,)`` the least value of each number that is read."""
        least = [0.0 if each.kind == "log" else -_LARGEST for each in self.numbers]
        return np.repeat(least, [each.size for each in self.numbers])

    def _check_range(self, forest: Forest, numbers: NDArray[np.float64]) -> None:
        """Raise TreeError if one of the ``(N, K)`` numbers is infinite, or its logarithm is."""
        broken = (numbers < self._least) | (numbers > _LARGEST)
        if not broken.any():
            return
        number = int(broken.any(0).argmax())
        column = [each for each in self.numbers for _ in range(each.size)][number]
        row = int(broken[:, number].argmax())
        wanted, got = "finite numbers", "an infinite one"
        if np.isfinite(numbers[row, number]):
            wanted, got = "numbers of at least 0 (its kind is log)", "a negative one"
        tree, node = locate(forest.offsets, row)
        raise TreeError(
            f"expected {wanted} in column {column.name!r}, got {got}; correct it or leave the "
            "column out with data.columns",
            tree=tree,
            node=node,
        )


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


def infer_kind(values: NDArray[Any], vocab: Optional[Vocabulary] = None) -> str:
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
    wanted: Union[Sequence[str], Mapping[str, str], None],
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
                f"expected data.columns to name columns of the trees ({', '.join(inferred)}), "
                f"got {name!r}"
            )
    if isinstance(wanted, Mapping):
        chosen = [_of_kind(forest, each, wanted.get(each.name)) for each in inferred.values()]
        chosen = [each for each in chosen if each.kind != "none"]
    else:
        chosen = list(inferred.values()) if wanted is None else [inferred[name] for name in asked]
    if not chosen:
        raise TreeError(
            "expected trees with at least one input column beside the target, got none; "
            "see data.columns"
        )
    return tuple(chosen)


def _of_kind(forest: Forest, column: Column, kind: Optional[str]) -> Column:
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
            f"expected column {column.name!r} to hold a {kind}, which data.columns says, got "
            f"{holds}"
        )
    if kind == "text" and not named:
        raise TreeError(f"expected column {column.name!r} to hold texts, got numbers")
    return Column(column.name, kind, column.size)


def _size(values: NDArray[Any]) -> int:
    return int(values.shape[1]) if values.ndim > 1 else 1


def _distinct(forest: Forest, column: Column) -> tuple[list[Optional[str]], NDArray[np.int64]]:
    """The different names in a column, None for a missing one, and ``(N,)`` which each node has."""
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


def name_of(value: Any) -> Optional[str]:
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


def _ids(names: Sequence[Optional[str]], vocab: Vocabulary, column: str) -> NDArray[np.int32]:
    """The id of each name, -1 for None."""
    try:
        return vocab.encode(names)
    except TreeError as error:
        raise TreeError(f"in column {column!r}: {error}") from None


def _words(texts: Sequence[Optional[str]], vocab: Vocabulary, column: str) -> NDArray[np.int32]:
    """``(len(texts), 32)`` the ids of each text's first words, -1 beyond its end."""
    table = np.full((len(texts), TEXT_WORDS), -1, np.int32)
    for row, text in enumerate(texts):
        words = _WORD.findall((text or "").lower())[:TEXT_WORDS]
        table[row, : len(words)] = _ids(words, vocab, column)
    return table


def _subwords(
    texts: Sequence[Optional[str]], column: Column, read_texts: Optional[TextReader]
) -> NDArray[np.int32]:
    """``(len(texts), P)`` the ids of the sub-words of texts, -1 beyond their ends and for None."""
    if read_texts is None:
        raise ConfigError(
            f"expected a pretrained encoder that reads column {column.name!r}, as in training, got "
            "none; name it with data.pretrained"
        )
    ids = read_texts([text for text in texts if text is not None])
    table = np.full((len(texts), ids.shape[1]), -1, np.int32)
    table[[text is not None for text in texts]] = ids
    return table


def _vectors(
    texts: Sequence[Optional[str]], column: Column, read_texts: Optional[TextReader]
) -> NDArray[np.float32]:
    """``(len(texts), size)`` the vectors of texts, zeros for None."""
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


def _numbers(forest: Forest, column: Column) -> NDArray[np.float64]:
    """``(N, size)`` the values of a number or vector, NaN where they are missing."""
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


def new_vocabulary(unseen: str) -> Vocabulary:
    """A vocabulary for an input column.

    Arguments:
        unseen: ``"unknown"``, so that names that training did not have are unknown; or
            ``"refuse"``, so that they are an error.
    """
    return Vocabulary(unknown=UNKNOWN if unseen == "unknown" else None)
