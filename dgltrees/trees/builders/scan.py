"""The scanner of all bracket formats: bracketed text as arrays.

A table maps each byte to its class. The *items* of a string are its opening brackets and its atoms,
the words between brackets and white space. The depth of an item is a running count of brackets. The
bracket around an item is the last one before it of one depth less; one sort by depth finds it for
all items.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.segments import Bools, Ints, run_offsets, within
from dgltrees.trees.vocabulary import Vocabulary, encode_names


def check_utf8(data: bytes, file: PathLike | None, first_line: int) -> None:
    """Raise TreeError if ``data``, which begins at ``first_line`` of ``file``, is not UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TreeError(
            f"expected UTF-8 text, got the byte 0x{data[error.start]:02x}; "
            "convert the file to UTF-8",
            file=file,
            line=first_line + data.count(b"\n", 0, error.start),
        ) from None


def check_balance(
    at: Ints,
    depth: NDArray[np.int32],
    ends: Ints,
    pair: str,
    *,
    by_line: bool,
    file: PathLike | None,
    first_line: int,
) -> None:
    """Check that every bracket is closed, and that every closing bracket closes one."""
    last = np.searchsorted(at, ends) - 1  # the last bracket up to each line's end
    still_open = np.where(last < 0, 0, depth[last]) if len(at) else np.zeros(len(ends), np.int32)
    if not by_line:
        still_open[:-1] = np.minimum(still_open[:-1], 0)
    extra = at[np.argmax(depth < 0)] if len(at) and depth.min() < 0 else None
    unclosed = int(np.argmax(still_open != 0)) if still_open.any() else len(ends)
    if extra is not None and np.searchsorted(ends, extra) <= unclosed:
        line = first_line + int(np.searchsorted(ends, extra))
        raise TreeError(
            f"expected an opening {pair[0]!r} for every {pair[1]!r}, "
            f"got a {pair[1]!r} that closes nothing",
            file=file,
            line=line,
        )
    if unclosed < len(ends):
        opened = unclosed
        if not by_line:  # name the line where the unclosed tree begins
            outside = np.flatnonzero(depth == 0)
            begin = outside[-1] + 1 if len(outside) else 0
            opened = int(np.searchsorted(ends, at[begin]))
        raise TreeError(
            f"expected a {pair[1]!r} for every {pair[0]!r}, got {still_open[unclosed]} left open "
            f"at the end of the {'line' if by_line else 'text'}; is it cut off?",
            file=file,
            line=first_line + opened,
        )


def line_ends(data: bytes) -> Ints:
    """Return the byte at which each line of ``data`` ends, ``(L,)``."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    return ends if data.endswith(b"\n") else np.append(ends, len(data))


_SPACE, _ATOM, _OPEN, _CLOSE = range(4)
_BLANKS = b" \t\n\r\x0b\x0c"  # where bytes.split() splits


@dataclass(frozen=True)
class Brackets:
    """The ``M`` items of a bracketed text in its order: opening brackets and atoms.

    Arguments:
        start: ``(M,)`` the first byte of each item.
        depth: ``(M,)`` the number of brackets around it.
        parent: ``(M,)`` the innermost of these brackets, an item; -1 without one.
        place: ``(M,)`` the number of items before it in the same bracket, or at depth 0.
        name: ``(M,)`` the index of an atom in ``names``, -1 at a bracket.
        names: the distinct atoms.
        ends: ``(L,)`` the byte at which each line ends.
        file: the file of the text, for the errors.
        first_line: the line of the file at which the text begins.
    """

    start: Ints
    depth: NDArray[np.int32]
    parent: Ints
    place: Ints
    name: Ints
    names: list[str]
    ends: Ints
    file: PathLike | None
    first_line: int

    @property
    def is_open(self) -> Bools:
        """``(M,)`` whether each item is a bracket."""
        return self.name < 0

    def line(self, items: Any) -> Any:
        """Return the line numbers of ``items`` in the file."""
        return self.first_line + np.searchsorted(self.ends, self.start[items])

    def text(self, item: int) -> str:
        """Return the text of an item, for the errors."""
        name = int(self.name[item])
        return "an opening bracket" if name < 0 else repr(self.names[name])

    def refuse(self, broken: Bools, rule: Callable[[int], str]) -> None:
        """Raise an error at the first item that is ``broken``, if any is."""
        if broken.any():
            item = int(np.argmax(broken))
            raise self._error(rule(item), item)

    def _error(self, message: str, item: int) -> TreeError:
        return TreeError(message, file=self.file, line=int(self.line(item)))

    def among(self, names: Container[str]) -> Bools:
        """Return which items are atoms with one of some names, ``(M,)``."""
        return np.array([*(name in names for name in self.names), False])[self.name]

    def look_up(
        self, items: Bools, table: Mapping[str, int], what: str, *, known: bool = True
    ) -> NDArray[np.int32]:
        """Return the numbers of atoms in a table."""
        missing = min(table.values(), default=0) - 1
        of_name = np.array([*(table.get(name, missing) for name in self.names), missing], np.int32)
        numbers = of_name[self.name]
        items = items & ((numbers != missing) | known)
        self.refuse(
            items & (numbers == missing),
            lambda i: f"expected {what}, one of {' '.join(table)}, got {self.text(i)}",
        )
        return np.where(items, numbers, -1).astype(np.int32)

    def encode(self, items: Bools, vocab: Vocabulary) -> NDArray[np.int32]:
        """Return the ids of atoms in a vocabulary, which grows in the order of the text."""
        rows = self.name[items]
        first = np.full(len(self.names), len(rows))
        first[rows[::-1]] = np.arange(len(rows))[::-1]  # the first use of each name is written last
        used = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(rows))]

        def error(message: str, word: int) -> TreeError:
            return self._error(message, int(np.flatnonzero(items)[first[used[word]]]))

        ids = np.full(len(self.names) + 1, -1, np.int32)
        ids[used] = encode_names([self.names[i] for i in used], vocab, error)
        return np.where(items, ids[self.name], -1).astype(np.int32)


def _table(pair: bytes, blank: bytes) -> NDArray[np.uint8]:
    """Return the class of each byte, ``(256,)``."""
    classes = np.full(256, _ATOM, np.uint8)
    classes[list(_BLANKS + blank)] = _SPACE
    classes[list(pair)] = _OPEN, _CLOSE
    return classes


def _enclosing(depth: NDArray[np.int32], is_open: Bools) -> tuple[Ints, Ints]:
    """Return the bracket around each item and the index of the item in it, ``(M,)`` each."""
    shallow = len(depth) == 0 or int(depth.max()) < 2**15
    order = np.argsort(depth.astype(np.int16) if shallow else depth, kind="stable")
    opens = order[is_open[order]]
    # Brackets are sorted by one key for depth and item, and each item searches for the last bracket
    # before it of one depth less.
    width = len(depth) + 1
    keys = depth[opens].astype(np.int64) * width + opens
    above = np.searchsorted(keys, (depth[order].astype(np.int64) - 1) * width + order) - 1
    inside = depth[order] > 0
    up = np.full(len(depth), -1)
    up[inside] = opens[above[inside]]  # in the order of depth
    parent, place = np.empty_like(order), np.empty_like(order)
    parent[order] = up
    place[order] = within(np.diff(run_offsets(up)))
    return parent, place


def scan(
    data: bytes,
    *,
    pair: bytes = b"()",
    blank: bytes = b"",
    by_line: bool = True,
    file: PathLike | None = None,
    first_line: int = 1,
) -> Brackets:
    """Split bracketed text into items."""
    check_utf8(data, file, first_line)
    table = _table(pair, blank)
    letters = np.frombuffer(data, np.uint8)
    classes = table[letters]
    ends = line_ends(data)
    atom = classes == _ATOM
    token = atom.copy()
    token[1:] &= ~atom[:-1]  # an atom counts at its first byte
    token |= classes >= _OPEN
    at = np.flatnonzero(token)
    kind = classes[at]
    step = np.array([0, 0, 1, -1], np.int8)[kind]
    after = np.cumsum(step, dtype=np.int32)
    check_balance(at, after, ends, pair.decode(), by_line=by_line, file=file, first_line=first_line)
    item = kind != _CLOSE
    is_open = kind[item] == _OPEN
    depth = after[item] - is_open
    parent, place = _enclosing(depth, is_open)
    atoms = data.translate(bytes(b if table[b] == _ATOM else 32 for b in range(256))).split()
    row = {name: i for i, name in enumerate(dict.fromkeys(atoms))}
    name = np.full(len(depth), -1)
    name[~is_open] = np.fromiter(map(row.__getitem__, atoms), np.int64, len(atoms))
    names = [text.decode("utf-8") for text in row]
    return Brackets(at[item], depth, parent, place, name, names, ends, file, first_line)
