"""Math expression evaluation: expressions as chains of characters, with their values.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018), section 3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.format import Format
from dgltrees.formats.lines import line_chunks
from dgltrees.papers.rrnet.data.arithmetic import (
    CLOSE,
    LARGEST_VALUE,
    MEE_ALPHABET,
    MOST_OPERATORS,
    OPEN,
    SMALLEST_VALUE,
    evaluate,
)
from dgltrees.trees.builders.scan import check_utf8, line_ends
from dgltrees.trees.builders.sentences import chains
from dgltrees.trees.kinds import OPERATIONS, Operation
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.vocabulary import Vocabulary

_END, _UNKNOWN = len(MEE_ALPHABET), len(MEE_ALPHABET) + 1
_CODES = np.full(256, _UNKNOWN, np.int8)
_CODES[list(MEE_ALPHABET.encode())] = range(len(MEE_ALPHABET))
_OPERATIONS = np.full(len(MEE_ALPHABET), Operation.RECUR, np.int32)
_OPERATIONS[[OPEN, CLOSE]] = Operation.SPLIT, Operation.MERGE
_MOST_CHARACTERS = 4 * MOST_OPERATORS + 1  # digits, operators and brackets
_FORM = "a line of the form value TAB expression"


def stream_mee(
    path: PathLike, trees: int = 10_000, *, labeled: bool = True
) -> Iterator[LabeledTrees]:
    """Yield the expressions of a file of math expressions, ``trees`` lines at a time.

    A line is ``value TAB expression``. The expression, such as ``((9+(2+6))+(1*3))``, has digits,
    the operators ``+ - * %`` (the remainder as in Python), and a bracket around every operator and
    its two operands. An expression is a chain with a node per character.

    Node columns: ``word``, the character's row of :data:`MEE_ALPHABET`, and ``op``, the character's
    ``Operation``: SPLIT for an opening bracket, MERGE for a closing one, RECUR for all others.
    Example columns: ``target``, the value, 10 to 99, and ``operators``, the number of operators.
    """
    for data, line in line_chunks(path, trees, blank=True):
        yield _parse(data, path, line, labeled)


def _parse(data: bytes, path: PathLike, first_line: int, labeled: bool) -> LabeledTrees:
    lines = _split(data, path, first_line, labeled)
    target, code = _targets(lines, labeled), _codes(lines)
    _check_order(lines, code)
    value = _values(lines, code, _depths(lines, code))
    lines.refuse(
        (value != target) & labeled,
        lambda row: f"expected the value of the expression, {value[row]}, got {target[row]}",
    )
    inside = code < _END
    word = code[inside]
    forest = chains(
        np.count_nonzero(inside, axis=1),
        {"word": word.astype(np.int32), "op": _OPERATIONS[word]},
        {"word": Vocabulary(MEE_ALPHABET, frozen=True), "op": OPERATIONS},
    )
    return LabeledTrees(
        forest,
        {"target": target, "operators": np.count_nonzero(code == OPEN, axis=1)},
        targets=Vocabulary(map(str, range(LARGEST_VALUE + 1)), frozen=True),
    )


@dataclass(frozen=True)
class _Lines:
    """``L`` lines of a file.

    Arguments:
        text: the lines, each with its line end.
        starts, tabs, ends: ``(L,)`` the bytes of each line's beginning, first TAB and end; a line
            without a value has its TAB before its beginning.
        file: the file that holds the text, for the errors.
        first_line: the number of the text's first line in the file.
    """

    text: bytes
    starts: NDArray[np.int64]
    tabs: NDArray[np.int64]
    ends: NDArray[np.int64]
    file: PathLike
    first_line: int

    def refuse(self, wrong: NDArray[np.bool_], message: Callable[[int], str]) -> None:
        """Raise ``message(row)`` with its line for the first of ``(L,)`` rows that is wrong."""
        if wrong.any():
            row = int(wrong.argmax())
            raise TreeError(message(row), file=self.file, line=self.first_line + row)

    def refuse_at(
        self, wrong: NDArray[np.bool_], message: Callable[[tuple[int, int], str], str]
    ) -> None:
        """Raise ``message((row, column), character)`` for the first of ``(L, W)`` characters."""

        def of_row(row: int) -> str:
            column = int(wrong[row].argmax())
            text = self.text[self.tabs[row] + 1 : self.ends[row]].decode()
            character = repr(text[column]) if column < len(text) else "the end of the line"
            before = int(self.tabs[row] - self.starts[row]) + 1
            return message((row, column), f"{character} in column {before + column + 1}")

        self.refuse(np.asarray(wrong.any(axis=1)), of_row)


def _split(data: bytes, path: PathLike, first_line: int, labeled: bool) -> _Lines:
    check_utf8(data, path, first_line)
    text = data.replace(b"\r\n", b"\n")
    text += b"" if text.endswith(b"\n") else b"\n"
    ends = line_ends(text)
    starts = np.append(0, ends[:-1] + 1)
    tabs = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\t"))
    tabs = np.append(tabs, len(text))[np.searchsorted(tabs, starts)]
    no_tab = tabs > ends
    lines = _Lines(text, starts, np.where(no_tab, starts - 1, tabs), ends, path, first_line)
    lines.refuse(starts == ends, lambda _: f"expected {_FORM}, got an empty line")
    lines.refuse(
        no_tab & labeled,
        lambda _: (
            f"expected {_FORM}, got a line without a TAB; training and evaluation need the value"
        ),
    )
    return lines


def _targets(lines: _Lines, labeled: bool) -> NDArray[np.int64]:
    """Return the value before each TAB, ``(L,)``; -1 if there is none, or no such number."""
    letters = np.frombuffer(lines.text, np.uint8).astype(np.int64)
    tens, ones = (letters[lines.starts + column] - ord("0") for column in (0, 1))
    has_value = lines.tabs >= lines.starts
    is_number = (lines.tabs - lines.starts == 2) & (tens >= 0) & (tens < 10)
    is_number &= (ones >= 0) & (ones < 10)
    target = 10 * tens + ones
    is_value = has_value & is_number & (target >= SMALLEST_VALUE)
    lines.refuse(
        has_value & ~is_value & labeled,
        lambda row: (
            f"expected a value from {SMALLEST_VALUE} to {LARGEST_VALUE} before the TAB, "
            f"got {lines.text[lines.starts[row] : lines.tabs[row]].decode()!r}"
        ),
    )
    return np.where(is_value, target, -1)


def _codes(lines: _Lines) -> NDArray[np.int8]:
    """Return the characters after each TAB as rows of the alphabet, ``(L, W)``, padded."""
    sizes = lines.ends - lines.tabs - 1
    lines.refuse(
        sizes > _MOST_CHARACTERS,
        lambda row: (
            f"expected an expression of at most {MOST_OPERATORS} operators, so of "
            f"{_MOST_CHARACTERS} characters, got {sizes[row]} characters"
        ),
    )
    columns = np.arange(sizes.max() + 1)
    index = np.minimum(lines.tabs[:, None] + 1 + columns, lines.ends[:, None])
    code = _CODES[np.frombuffer(lines.text, np.uint8)[index]]
    code[columns >= sizes[:, None]] = _END
    lines.refuse_at(
        code == _UNKNOWN, lambda _, character: f"expected one of {MEE_ALPHABET}, got {character}"
    )
    return code


def _check_order(lines: _Lines, code: NDArray[np.int8]) -> None:
    """Check that operands and operators alternate."""
    begins_operand = (code < 10) | (code == OPEN)
    operand_expected = np.ones(code.shape, bool)
    operand_expected[:, 1:] = (code[:, :-1] >= 10) & (code[:, :-1] <= OPEN)  # after + - * % (
    lines.refuse_at(
        begins_operand != operand_expected,
        lambda at, character: (
            f"expected {'a digit or (' if operand_expected[at] else 'an operator or )'}, "
            f"got {character}"
        ),
    )


def _depths(lines: _Lines, code: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the number of open brackets after each character, ``(L, W)``."""
    step = (code == OPEN).astype(np.int8) - (code == CLOSE)
    depth = np.cumsum(step, axis=1, dtype=np.int8)
    lines.refuse_at(
        depth < 0,
        lambda _, character: f"expected a ( for every ), got {character}, which closes nothing",
    )
    lines.refuse(
        depth[:, -1] > 0,
        lambda row: f"expected a ) for every (, got {depth[row, -1]} left open; is it cut off?",
    )
    return np.asarray(depth)


def _values(lines: _Lines, code: NDArray[np.int8], depth: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the value of each expression, ``(L,)``; check that every bracket has one operator."""
    value, misplaced, undefined = evaluate(code, depth)
    lines.refuse_at(
        misplaced,
        lambda _, character: (
            "expected one operator in every bracket and none outside, as in (1+(2*3)), "
            f"got {character}"
        ),
    )
    lines.refuse_at(
        undefined,
        lambda _, character: (
            f"expected no remainder by zero, got one in the bracket closed by {character}"
        ),
    )
    return value


MEE = Format(
    "Math expressions as chains of characters, a line each: value TAB expression.",
    stream_mee,
    first_line=r"[1-9]\d\t[-\d+*/%()]+$",
)
