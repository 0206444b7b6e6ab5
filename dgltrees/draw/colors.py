"""The colours of a drawing, which are legible on white and on black pages.

Edges and titles have a grey half-way between white and black; the text of a node is on the node's
fill.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CORRECT",
    "GREY",
    "INNER",
    "LEAF",
    "MISSING",
    "WRONG",
    "ColorScale",
    "Paint",
    "contrast",
]


@dataclass(frozen=True)
class Paint:
    """The colours of a node: its fill, its border, its text."""

    fill: str
    border: str
    text: str


GREY = "#757981"
INNER = Paint("#dfe9fb", "#5a86d4", "#14295a")
LEAF = Paint("#fbf0d9", "#b98a2f", "#4a3205")
MISSING = Paint("#e4e5e8", GREY, "#33363c")
CORRECT, WRONG = "#2f9152", "#d64541"

_SEQUENTIAL = ("#fff3d6", "#fbc98e", "#ef8f78", "#c65a85", "#83358a", "#3b1f66")
_DIVERGING = ("#2b5fa8", "#7fabdb", "#f3f3f3", "#ee9d84", "#b23a3a")


def _channels(color: str) -> list[int]:
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, 1 to 21 (Web Content Accessibility Guidelines 2.1)."""
    luminance = []
    for color in (one, other):
        rgb = [c / 255 for c in _channels(color)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
        luminance.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)
    return max(luminance) / min(luminance)


class ColorScale:
    """Colours for values: from light to dark, or from blue through white to red around 0.

    Arguments:
        values: ``(n,)``; NaN and infinity are drawn in the colours ``MISSING``.
    """

    def __init__(self, values: NDArray[np.float64]) -> None:
        finite = values[np.isfinite(values)]
        self.low = float(finite.min()) if len(finite) else 0.0
        self.high = float(finite.max()) if len(finite) else 0.0
        self._stops: tuple[str, ...] = _SEQUENTIAL
        if self.low < 0 < self.high:
            self._stops = _DIVERGING
            self.high = max(self.high, -self.low)
            self.low = -self.high

    def paint(self, value: float) -> Paint:
        """The colours of a node with this value."""
        if not np.isfinite(value):
            return MISSING
        span = self.high - self.low
        fill = self.color((value - self.low) / span if span else 0.0)
        text = max(("#ffffff", "#000000"), key=lambda color: contrast(color, fill))
        return Paint(fill, GREY, text)

    def color(self, fraction: float) -> str:
        """The colour at a fraction, 0 to 1, of the way from the lowest to the highest value."""
        place = fraction * (len(self._stops) - 1)
        i = min(int(place), len(self._stops) - 2)
        ends = zip(_channels(self._stops[i]), _channels(self._stops[i + 1]))
        mixed = [round(a + (b - a) * (place - i)) for a, b in ends]
        return "#{:02x}{:02x}{:02x}".format(*mixed)
