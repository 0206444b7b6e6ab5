"""Texts of a drawing: printable, in ASCII, numbers in few digits."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np

_SIGNS = {"→": "->", "←": "<-", "✓": "ok", "✗": "wrong", "·": ".", "…": "...", "⋯": "..."}
_ASCII = str.maketrans({**_SIGNS, "├": "|", "└": "`", "─": "-", "│": "|"})


def printable(text: str, max_length: int = 40) -> str:
    """Cut text to ``max_length`` characters and escape control characters.

    The result has no line break, no terminal control sequence and no character that XML forbids.
    """
    if len(text) > max_length:
        text = text[: max_length - 1] + "…"
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or unicodedata.category(char) == "Zs" else repr(char)[1:-1]
        for char in text
    )


def to_ascii(text: str) -> str:
    """Convert text to ASCII: signs and lines are spelled out, other characters are escaped."""
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")


def format_number(number: Any) -> str:
    """Format an integer in full, any other number with three significant digits."""
    return str(number) if isinstance(number, (int, np.integer, np.bool_)) else f"{number:.3g}"
