"""Vocabularies: mappings from names to integer ids."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike, replacing
from dgltrees.errors import ConfigError, TreeError

_HEADER = "dgltrees vocabulary 1"
_HALF = re.compile("[\ud800-\udfff]")


class Vocabulary:
    """A mapping from names to integer ids in the order of the names.

    A vocabulary assigns the next id to every new name that it encodes, until it is frozen.

    Arguments:
        names: the first names; a duplicate is ignored.
        unknown: the name, such as ``<unk>``, that replaces unknown names when a frozen vocabulary
            encodes them; it is added to the names. Default: an unknown name is an error.
        frozen: whether the vocabulary is complete, so that no name is added.

    Example:
        >>> vocab = Vocabulary(["join", "scan"], unknown="<unk>", frozen=True)
        >>> vocab.encode(["scan", "sort", None])
        array([ 1,  2, -1], dtype=int32)
        >>> vocab.decode([0, 2])
        ['join', '<unk>']
    """

    def __init__(
        self, names: Iterable[str] = (), *, unknown: str | None = None, frozen: bool = False
    ) -> None:
        self.names: list[str] = list(dict.fromkeys(names))
        if unknown is not None and unknown not in self.names:
            self.names.append(unknown)
        self._id: dict[str | None, int] = {None: -1}
        self._id.update((name, i) for i, name in enumerate(self.names))
        self.unknown = unknown
        self.frozen = frozen

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name is not None and name in self._id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.names == other.names and self.unknown == other.unknown

    __hash__ = None  # type: ignore[assignment]  # its names change

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:5]) + (", ..." if len(self) > 5 else "")
        return f"Vocabulary({len(self)} names: {shown})"

    def freeze(self, unknown: str | None = None) -> Vocabulary:
        """Add no more names from now on.

        Arguments:
            unknown: the name, such as ``<unk>``, that replaces unknown names from now on; it is
                added to the names. Default: that of the vocabulary.

        Returns:
            This vocabulary.
        """
        if unknown is not None and self.unknown is None:
            if unknown not in self._id:
                self._id[unknown] = len(self.names)
                self.names.append(unknown)
            self.unknown = unknown
        self.frozen = True
        return self

    def encode(self, names: Sequence[str | None]) -> NDArray[np.int32]:
        """Convert names to ids.

        Arguments:
            names: the names; None is a missing name.

        Returns:
            ``(len(names),)`` int32 ids; -1 for None.

        Raises:
            TreeError: a name is not in a frozen vocabulary that has no ``unknown``.
        """
        if not self.frozen:
            for name in dict.fromkeys(names):
                if name is not None and name not in self._id:
                    self._id[name] = len(self.names)
                    self.names.append(name)
        elif self.unknown is not None:
            unknown = self._id[self.unknown]
            return np.fromiter((self._id.get(n, unknown) for n in names), np.int32, len(names))
        try:
            return np.fromiter(map(self._id.__getitem__, names), np.int32, len(names))
        except KeyError as error:
            shown = ", ".join(map(repr, self.names[:10])) + (", ..." if len(self) > 10 else "")
            raise TreeError(
                f"expected one of the {len(self)} known names ({shown}), got {error.args[0]!r}; "
                "correct the data, or use a vocabulary that has this name or an unknown name, as "
                "read(path, like=data) does"
            ) from None

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Convert ids to names.

        Arguments:
            ids: the ids.

        Returns:
            the names.

        Raises:
            TreeError: an id is out of range, such as -1, the id of a missing name.
        """
        names = []
        for i in ids:
            if not 0 <= i < len(self.names):
                raise TreeError(f"expected ids from 0 to {len(self.names) - 1}, got {i}")
            names.append(self.names[i])
        return names

    def save(self, path: PathLike) -> None:
        """Write the vocabulary to a file, see :meth:`to_text`.

        Arguments:
            path: the file; it is replaced when the new one is complete.
        """
        with replacing(path) as file:
            file.write(self.to_text())

    def to_text(self) -> str:
        """Convert the vocabulary to text.

        Returns:
            a header line, then one JSON string per line.
        """
        lines = [f"{_HEADER} {json.dumps({'unknown': self.unknown})}", *map(_line, self.names)]
        return "\n".join(lines) + "\n"

    @classmethod
    def load(cls, path: PathLike) -> Vocabulary:
        """Load the vocabulary that :meth:`save` wrote.

        Arguments:
            path: the file.

        Returns:
            the vocabulary, frozen.

        Raises:
            TreeError: the file is not a vocabulary, a line is not a JSON string, or a name occurs
                twice; the error names file and line.
        """
        names: list[str] = []

        def error(message: str, line: int) -> TreeError:
            return TreeError(message, file=path, line=line)

        with open(path, encoding="utf-8") as file:
            header = file.readline()
            if not header.startswith(_HEADER + " "):
                raise error(
                    f"expected a vocabulary whose first line begins with {_HEADER!r}, "
                    f"got {header[:40]!r}",
                    1,
                )
            try:
                unknown = json.loads(header[len(_HEADER) :])["unknown"]
            except (ValueError, KeyError, TypeError, RecursionError):
                message = f"expected {_HEADER} and a JSON object with 'unknown', got "
                raise error(f"{message}{header[:60]!r}", 1) from None
            for number, line in enumerate(file, start=2):
                try:
                    name = json.loads(line)
                except (json.JSONDecodeError, RecursionError):
                    name = None
                if not isinstance(name, str):
                    raise error(f"expected a JSON string, got {line.rstrip()[:40]!r}", number)
                names.append(name)
        vocabulary = cls(names, unknown=unknown, frozen=True)
        if len(vocabulary) != len(names):
            raise TreeError("expected different names, got a name twice", file=path)
        return vocabulary


def _line(name: str) -> str:
    """Return a name as a JSON string that UTF-8 can write: halves of characters are escaped."""
    return json.dumps(name, ensure_ascii=_HALF.search(name) is not None)


def check_vocabs(vocabs: Mapping[str, Vocabulary], columns: Iterable[str]) -> None:
    """Raise ConfigError if a vocabulary belongs to no column."""
    other = vocabs.keys() - set(columns)
    if other:
        raise ConfigError(
            f"expected vocabularies for the columns {', '.join(columns)}, "
            f"got one for {', '.join(sorted(other))}"
        )


def freeze_new(vocabs: Mapping[str, Vocabulary], given: Mapping[str, Vocabulary] | None) -> None:
    """Freeze the vocabularies of finished trees, except those that a user gave."""
    for name, vocab in vocabs.items():
        if vocab is not (given or {}).get(name):
            vocab.freeze()


def vocabs_for(vocabs: Mapping[str, Vocabulary] | None, *columns: str) -> dict[str, Vocabulary]:
    """Return a vocabulary per column, from ``vocabs`` or new; ConfigError for another column."""
    vocabs = vocabs or {}
    check_vocabs(vocabs, columns)
    return {column: vocabs[column] if column in vocabs else Vocabulary() for column in columns}


def encode_names(
    names: Sequence[str | None], vocab: Vocabulary, error: Callable[[str, int], TreeError]
) -> NDArray[np.int32]:
    """Convert names to ids, with errors that locate the name."""
    try:
        return vocab.encode(names)
    except TreeError as cause:
        row = next(i for i, name in enumerate(names) if name is not None and name not in vocab)
        raise error(str(cause), row) from None
