"""The font of the SVG pictures: its family, sizes, line heights and the width of a text.

No font is loaded: :func:`text_width` is an upper bound that holds for the usual sans-serif fonts.
All lengths are in pixels.
"""

from __future__ import annotations

import unicodedata

__all__ = ["BADGE", "DETAIL", "FAMILY", "LABEL", "LINE_HEIGHT", "TITLE", "text_width"]

FAMILY = "system-ui, 'Segoe UI', Roboto, Helvetica, Arial, 'DejaVu Sans', sans-serif"
LABEL, DETAIL, BADGE, TITLE = 13.0, 11.0, 9.0, 12.0
"""Font sizes of a node's label, the line below it, a child position, and the title of a tree."""
LINE_HEIGHT = {LABEL: 17.0, DETAIL: 14.0, TITLE: 24.0}

# Widths in ems, those of a wide font (DejaVu Sans bold) rounded up.
_CLASSES = {
    0.4: "ijlI|.,:;' ·",
    0.53: 'frtJ()[]/\\-"!`',
    0.73: "abcdeghknopqsuvxyz0123456789?$_*EFLSTZ{}",
    0.88: "ABCDGHKNOPQRUVXY+<>=~^#&→",
    1.12: "mwMW@%—…✓✗",
}
_EMS = {char: width for width, chars in _CLASSES.items() for char in chars}


def text_width(text: str, size: float) -> float:
    """An upper bound of the width of ``text`` in a font of ``size`` pixels."""
    return size * sum(_EMS.get(char) or _other_ems(char) for char in text)


def _other_ems(char: str) -> float:
    """The width in ems of a character outside the table; an accented letter has its base's."""
    if unicodedata.combining(char):
        return 0.0
    base = _EMS.get(unicodedata.normalize("NFD", char)[0])
    return base or (1.35 if unicodedata.east_asian_width(char) in "WF" else 1.12)
