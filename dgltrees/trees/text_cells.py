"""Numbers that are written as text, and the words that mean a missing value."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MISSING = frozenset(("NA", "N/A", "NaN", "nan", "NULL", "null", "\\N"))
"""Words that mean a missing value among numbers and truth values of a text table."""

_CODE = re.compile(r"^\s*[+-]?0\d", re.MULTILINE)
"""A number with a leading zero, such as a postcode."""


def numbers_of(texts: Sequence[str | None]) -> NDArray[np.int64] | NDArray[np.float64] | None:
    """Convert texts to numbers, if every text is a number without leading zeros.

    None is a missing value. Integers become int64 if none is missing and all of them fit,
    otherwise the numbers are float64 with NaN. ``1_000`` and digits of other scripts are no
    numbers, and neither is ``nan``. The result is None if a text is no number or none is known.
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
