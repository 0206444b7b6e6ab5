"""How wide a text is, without a font at hand: an upper bound for the usual sans-serif fonts."""

from __future__ import annotations

import unicodedata

__all__ = ["FONT", "text_width"]

FONT = "system-ui, 'Segoe UI', Roboto, Helvetica, Arial, 'DejaVu Sans', sans-serif"

# Widths in ems, those of a wide font (DejaVu Sans bold) rounded up.
_CLASSES = {
    0.4: "ijlI|.,:;' ·",
    0.53: 'frtJ()[]/\\-"!`',
    0.73: "abcdeghknopqsuvxyz0123456789?$_*EFLSTZ{}",
    0.88: "ABCDGHKNOPQRUVXY+<>=~^#&→",
    1.12: "mwMW@%—…✓✗",
}
_WIDTH = {char: width for width, chars in _CLASSES.items() for char in chars}


def text_width(text: str, size: float) -> float:
    """The width of ``text`` in a font of ``size`` pixels, at most."""
    return size * sum(_WIDTH.get(char) or _other(char) for char in text)


def _other(char: str) -> float:
    """Ems of a character outside the table: that of its base letter, if it is an accented one."""
    if unicodedata.combining(char):
        return 0.0
    base = _WIDTH.get(unicodedata.normalize("NFD", char)[0])
    return base or (1.35 if unicodedata.east_asian_width(char) in "WF" else 1.12)
