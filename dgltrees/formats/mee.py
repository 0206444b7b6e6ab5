"""Math expressions as characters to read one by one, with their value.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018), section 3.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Callable

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.arithmetic import (
    CLOSE,
    LARGEST_VALUE,
    MEE_ALPHABET,
    MOST_OPERATORS,
    OPEN,
    SMALLEST_VALUE,
    evaluate,
)
from dgltrees.formats.lines import gather, line_chunks
from dgltrees.trees.builders.balance import check_utf8, line_ends
from dgltrees.trees.builders.chains import chains
from dgltrees.trees.examples import Examples
from dgltrees.trees.operations import OPERATIONS, Operation
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["MEE_ALPHABET", "read_mee", "stream_mee"]

_END, _UNKNOWN = len(MEE_ALPHABET), len(MEE_ALPHABET) + 1
_CODES = np.full(256, _UNKNOWN, np.int8)
_CODES[list(MEE_ALPHABET.encode())] = range(len(MEE_ALPHABET))
_OPERATIONS = np.full(len(MEE_ALPHABET), Operation.RECUR, np.int32)
_OPERATIONS[[OPEN, CLOSE]] = Operation.SPLIT, Operation.MERGE
_MOST_CHARACTERS = 4 * MOST_OPERATORS + 1  # digits, operators and brackets
_FORM = "a line of the form value TAB expression"


def read_mee(path: PathLike) -> Examples:
    """All expressions of a file; see :func:`stream_mee`."""
    return gather(stream_mee(path))


def stream_mee(path: PathLike, trees: int = 10_000) -> Iterator[Examples]:
    """The expressions of a file of math expressions, at most ``trees`` at a time.

    A line is ``value TAB expression``, the expression such as ``((9+(2+6))+(1*3))``: digits, the
    operators ``+ - * %`` (the remainder as Python has it), and a bracket around every operator and
    its two operands. Each expression is a chain with a node for every character.

    Node columns: ``word``, the character's place in :data:`MEE_ALPHABET`, and ``op``, the
    :class:`~dgltrees.trees.operations.Operation` it stands for: SPLIT at an opening bracket, MERGE
    at a closing one, RECUR elsewhere. Example columns: ``target``, the value, 10 to 99, and
    ``operators``, how many of them the expression has.

    Arguments:
        path: the file.
        trees: how many lines to read at a time.

    Raises:
        TreeError: with file and line: the file is empty or not UTF-8, a line is empty or has no
            TAB, a value is no number from 10 to 99, or not what the expression is worth; an
            expression has another character, is not made of brackets with one operator each, takes
            a remainder by zero, or has more than 18 operators, with which its value may leave
            64 bits.
    """
    for data, line in line_chunks(path, trees, blank=True):
        yield _parse(data, path, line)


def _parse(data: bytes, path: PathLike, first_line: int) -> Examples:
    lines = _split(data, path, first_line)
    target, code = _targets(lines), _codes(lines)
    _check_order(lines, code)
    _check_values(lines, code, _depths(lines, code), target)
    inside = code < _END
    word = code[inside]
    forest = chains(
        np.count_nonzero(inside, axis=1),
        {"word": word.astype(np.int32), "op": _OPERATIONS[word]},
        {"word": Vocabulary(MEE_ALPHABET, frozen=True), "op": OPERATIONS},
    )
    return Examples(
        forest,
        {"target": target, "operators": np.count_nonzero(code == OPEN, axis=1)},
        targets=Vocabulary(map(str, range(LARGEST_VALUE + 1)), frozen=True),
    )


@dataclass(frozen=True)
class _Lines:
    """``L`` lines of a file.

    Arguments:
        text: the lines, each with its end.
        starts, tabs, ends: ``(L,)`` where each begins, has its first TAB, and ends.
        file, first_line: where the text stands, for the errors.
    """

    text: bytes
    starts: NDArray[np.int64]
    tabs: NDArray[np.int64]
    ends: NDArray[np.int64]
    file: PathLike
    first_line: int

    def refuse(self, broken: NDArray[np.bool_], rule: Callable[[int], str]) -> None:
        """Raise ``rule(row)`` for the first of ``(L,)`` lines that is broken."""
        if broken.any():
            row = int(broken.argmax())
            raise TreeError(rule(row), file=self.file, line=self.first_line + row)

    def refuse_at(
        self, broken: NDArray[np.bool_], rule: Callable[[tuple[int, int], str], str]
    ) -> None:
        """Raise ``rule(place, what stands there)`` for the first of ``(L, W)`` characters."""

        def message(row: int) -> str:
            column = int(broken[row].argmax())
            text = self.text[self.tabs[row] + 1 : self.ends[row]].decode()
            found = repr(text[column]) if column < len(text) else "the end of the line"
            before = int(self.tabs[row] - self.starts[row]) + 1
            return rule((row, column), f"{found} in column {before + column + 1}")

        self.refuse(np.asarray(broken.any(axis=1)), message)


def _split(data: bytes, path: PathLike, first_line: int) -> _Lines:
    check_utf8(data, path, first_line)
    text = data.replace(b"\r\n", b"\n")
    text += b"" if text.endswith(b"\n") else b"\n"
    ends = line_ends(text)
    starts = np.append(0, ends[:-1] + 1)
    tabs = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\t"))
    tabs = np.append(tabs, len(text))[np.searchsorted(tabs, starts)]
    lines = _Lines(text, starts, tabs, ends, path, first_line)
    form = "a line of the form value TAB expression"
    lines.refuse(starts == ends, lambda _: f"expected {form}, got an empty line")
    lines.refuse(tabs > ends, lambda _: f"expected {form}, got a line without a TAB")
    return lines


def _targets(lines: _Lines) -> NDArray[np.int64]:
    """``(L,)`` the values before the TABs."""
    letters = np.frombuffer(lines.text, np.uint8).astype(np.int64)
    tens, ones = (letters[lines.starts + place] - ord("0") for place in (0, 1))
    is_number = (lines.tabs - lines.starts == 2) & (tens >= 0) & (tens < 10)
    is_number &= (ones >= 0) & (ones < 10)
    target = 10 * tens + ones
    lines.refuse(
        ~is_number | (target < SMALLEST_VALUE),
        lambda row: (
            f"expected a value from {SMALLEST_VALUE} to {LARGEST_VALUE} before the TAB, "
            f"got {lines.text[lines.starts[row] : lines.tabs[row]].decode()!r}"
        ),
    )
    return np.asarray(target)


def _codes(lines: _Lines) -> NDArray[np.int8]:
    """``(L, W)`` the characters behind the TABs as places in the alphabet, then ``_END``."""
    sizes = lines.ends - lines.tabs - 1
    lines.refuse(
        sizes > _MOST_CHARACTERS,
        lambda row: (
            f"expected an expression of at most {MOST_OPERATORS} operators, so of "
            f"{_MOST_CHARACTERS} characters, got {sizes[row]} characters"
        ),
    )
    places = np.arange(sizes.max() + 1)
    at = np.minimum(lines.tabs[:, None] + 1 + places, lines.ends[:, None])
    code = _CODES[np.frombuffer(lines.text, np.uint8)[at]]
    code[places >= sizes[:, None]] = _END
    lines.refuse_at(
        code == _UNKNOWN, lambda _, found: f"expected one of {MEE_ALPHABET}, got {found}"
    )
    return code


def _check_order(lines: _Lines, code: NDArray[np.int8]) -> None:
    """Operands and operators take turns."""
    begins = (code < 10) | (code == OPEN)  # an operand
    wanted = np.ones(code.shape, bool)
    wanted[:, 1:] = (code[:, :-1] >= 10) & (code[:, :-1] <= OPEN)  # after an operator or a bracket
    lines.refuse_at(
        begins != wanted,
        lambda place, found: (
            f"expected {'a digit or (' if wanted[place] else 'an operator or )'}, got {found}"
        ),
    )


def _depths(lines: _Lines, code: NDArray[np.int8]) -> NDArray[np.int8]:
    """``(L, W)`` how many brackets are open behind each character."""
    step = (code == OPEN).astype(np.int8) - (code == CLOSE)
    depth = np.cumsum(step, axis=1, dtype=np.int8)
    lines.refuse_at(
        depth < 0, lambda _, found: f"expected a ( for every ), got {found}, which closes nothing"
    )
    lines.refuse(
        depth[:, -1] > 0,
        lambda row: f"expected a ) for every (, got {depth[row, -1]} left open; is it cut off?",
    )
    return np.asarray(depth)


def _check_values(
    lines: _Lines, code: NDArray[np.int8], depth: NDArray[np.int8], target: NDArray[np.int64]
) -> None:
    """Every bracket has one operator, and every expression the value that its line says."""
    found = evaluate(code, depth)
    lines.refuse_at(
        found.misplaced,
        lambda _, found: (
            f"expected one operator in every bracket and none outside, as in (1+(2*3)), got {found}"
        ),
    )
    lines.refuse_at(
        found.undefined,
        lambda _, found: f"expected no remainder by zero, got one in the bracket closed by {found}",
    )
    lines.refuse(
        found.value != target,
        lambda row: f"expected the value of the expression, {found.value[row]}, got {target[row]}",
    )
