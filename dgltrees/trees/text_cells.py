"""Cells of text: numbers, truth values, names, and the words that mean a missing value."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import RowError

MISSING = frozenset(("NA", "N/A", "NaN", "nan", "NULL", "null", "\\N"))
"""Words that mean a missing value among numbers and truth values of CSV and TSV files."""

_TRUTHS = {"True": "1", "true": "1", "TRUE": "1", "False": "0", "false": "0", "FALSE": "0"}
"""Truth values as pandas, JSON and R write them, and the numbers that they become."""
_CODE = re.compile(r"^\s*[+-]?0\d", re.MULTILINE)
"""A number with a leading zero, such as a postcode."""


def numbers_of(texts: Sequence[str | None]) -> NDArray[np.int64] | NDArray[np.float64] | None:
    """Convert texts to numbers, if every text is a number without leading zeros.

    None is a missing value. Integers become int64 if none is missing and all of them fit,
    otherwise the numbers are float64 with NaN. ``1_000`` and digits of other scripts are no
    numbers, and neither is ``nan``. The result is None if a string is no number or none is known.
    """
    known = [text for text in texts if text is not None]
    if not known or _float(known[0]) is None:
        return None
    joined = "\n".join(known)
    if not joined.isascii() or "_" in joined or _CODE.search(joined):
        return None
    if len(known) == len(texts):
        try:
            return np.array(list(map(int, known)), np.int64)
        except (ValueError, OverflowError):
            pass
    try:
        numbers = np.array(list(map(float, known)), np.float64)
    except ValueError:
        return None
    if np.isnan(numbers).any():
        return None
    if len(known) == len(texts):
        return numbers
    column = np.full(len(texts), np.nan)
    column[[text is not None for text in texts]] = numbers
    return column


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


class CellKind:
    """The kind of the cells of a column of a CSV or TSV file, which all of them decide.

    An empty cell is missing. If the known cells are all numbers, or all truth values, the column
    holds numbers, and the words :data:`MISSING` are missing; otherwise it holds names, and so are
    these words.

    Arguments:
        kind: ``"numbers"`` or ``"names"``, if it is known before; None if the cells decide.
        missing: further words that mean a missing value, also among names.
    """

    def __init__(self, kind: str | None = None, missing: Collection[str] = ()) -> None:
        self.empty = frozenset(("", *missing))
        self.kind, self.decided = kind, kind is not None
        self._words = self.empty | MISSING
        self._truths = True

    def add(self, cells: Sequence[str]) -> None:
        """Take further cells into account."""
        if self.decided or self.kind == "names":
            return
        known = [cell for cell in cells if cell not in self._words and not cell.isspace()]
        if not known:
            return
        self._truths = self._truths and known[0] in _TRUTHS and _TRUTHS.keys() >= set(known)
        numbers = self.kind != "truths" and not self._truths and numbers_of(known) is not None
        kind = "truths" if self._truths else "numbers" if numbers else "names"
        self.kind = kind if self.kind in (None, kind) else "names"

    def column(self, cells: Sequence[str], error: RowError) -> NDArray[Any] | None:
        """Convert cells to numbers, or to names as objects; None if no cell has a value.

        Names are None and numbers NaN where they are missing.
        """
        if self.kind is None:
            return None
        if self.kind == "names":
            return np.array([None if cell in self.empty else cell for cell in cells], object)
        texts = [
            None if cell in self._words or cell.isspace() else _TRUTHS.get(cell, cell)
            for cell in cells
        ]
        numbers = numbers_of(texts)
        if numbers is not None:
            return numbers
        for row, text in enumerate(texts):
            if text is not None and numbers_of([text]) is None:
                raise error(f"expected a number, got {cells[row]!r:.60}", row)
        return np.full(len(cells), np.nan)
