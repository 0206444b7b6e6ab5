"""The SVG of all pictures: elements and documents, fonts and the widths of texts, colours.

A picture is self-contained: it has no style sheet, no script and no embedded font. All lengths are
in pixels. Colours are legible on white and on black pages: edges and titles have a grey halfway
between white and black, and the text of a node is on the node's fill.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from dgltrees.draw.strings import format_number


class Paint(NamedTuple):
    """The colours of a node: fill, border and text."""

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

MARGIN = 8.0  # between a picture and the edge of its canvas
PADDING, TEXT_MARGIN = 4.0, 9.0  # above and below, and left and right of the texts in a node's box
_LEGEND_WIDTH, _LEGEND_HEIGHT = 320.0, 34.0  # what a legend takes of the canvas, at most
_BAR_WIDTH, _BAR_HEIGHT, _BAR_STEPS = 160.0, 10.0, 40

_FAMILY = "system-ui, 'Segoe UI', Roboto, Helvetica, Arial, 'DejaVu Sans', sans-serif"
_TEXTS = f'font-family="{_FAMILY}" text-anchor="middle"'
START, BOLD = ' text-anchor="start"', ' font-weight="600"'  # attributes of a text
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
    """Return an upper bound of the width of ``text`` in a font of ``size`` pixels.

    No font is loaded: the bound holds for the usual sans-serif fonts.
    """
    return size * sum(_EMS.get(char) or _other_ems(char) for char in text)


def _other_ems(char: str) -> float:
    """Return the width in ems of a character outside the table; accents do not count."""
    if unicodedata.combining(char):
        return 0.0
    base = _EMS.get(unicodedata.normalize("NFD", char)[0])
    return base or (1.35 if unicodedata.east_asian_width(char) in "WF" else 1.12)


def _channels(color: str) -> list[int]:
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21 (WCAG 2.1)."""
    luminance = []
    for color in (one, other):
        rgb = [c / 255 for c in _channels(color)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
        luminance.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)
    return max(luminance) / min(luminance)


class ColorScale:
    """A colour scale: light to dark, or blue through white to red if values have both signs.

    Arguments:
        values: ``(n,)``; NaN and infinity have the colours ``MISSING``.
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
        """Return the colours of a node with this value."""
        if not np.isfinite(value):
            return MISSING
        span = self.high - self.low
        fill = self.color((value - self.low) / span if span else 0.0)
        text = max(("#ffffff", "#000000"), key=lambda color: contrast(color, fill))
        return Paint(fill, GREY, text)

    def color(self, fraction: float) -> str:
        """Return the colour at a fraction, 0 to 1, between the lowest and the highest value."""
        place = fraction * (len(self._stops) - 1)
        i = min(int(place), len(self._stops) - 2)
        ends = zip(_channels(self._stops[i]), _channels(self._stops[i + 1]))
        mixed = [round(a + (b - a) * (place - i)) for a, b in ends]
        return "#{:02x}{:02x}{:02x}".format(*mixed)


def document(
    elements: Iterable[str],
    width: float,
    height: float,
    description: str,
    *,
    before: Sequence[str] = (),
    scale: ColorScale | None = None,
) -> str:
    """Return the text of an SVG file."""
    elements = list(elements)
    if scale is not None:
        elements.append(_legend(scale, height))
        width, height = max(width, _LEGEND_WIDTH), height + _LEGEND_HEIGHT
    root = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label={quoteattr(description)}>'
    )
    return "\n".join([root, *before, group(elements, _TEXTS), "</svg>", ""])


def group(elements: Iterable[str], attributes: str, tooltip: str | None = None) -> str:
    """Return the elements, a line each, in a group with these attributes."""
    label = "" if tooltip is None else f"<title>{escape(tooltip)}</title>"
    return "\n".join([f"<g {attributes}>{label}", *elements, "</g>"])


def text(words: str, x: float, y: float, size: float, color: str, more: str = "") -> str:
    """Return a line of text, escaped here, with its middle at ``x`` and its base line at ``y``.

    ``more`` are attributes, each after a space; with ``START`` the left end is at ``x``.
    """
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.0f}" fill="{color}"{more}>'
        f"{escape(words)}</text>"
    )


def title(words: str, x: float, y: float) -> str:
    """Return a title that starts at ``x``, with its base line at ``y``."""
    return text(words, x, y, TITLE, GREY, START)


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    radius: float,
    paint: Paint,
    *,
    stroke_width: float = 1.2,
    css_class: str = "",
) -> str:
    """Return a rectangle with rounded corners."""
    named = f'class="{css_class}" ' if css_class else ""
    return (
        f'<rect {named}x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'rx="{radius:.1f}" fill="{paint.fill}" stroke="{paint.border}" '
        f'stroke-width="{stroke_width:g}"/>'
    )


def _legend(scale: ColorScale, top: float) -> str:
    """Return a bar with the colours of a scale between its lowest and its highest value."""
    low, high = format_number(scale.low), format_number(scale.high)
    left = round(2 * MARGIN + text_width(low, DETAIL))
    bar = [
        f'<rect x="{left + _BAR_WIDTH * i / _BAR_STEPS:.1f}" y="{top + 6:.1f}" '
        f'width="{_BAR_WIDTH / _BAR_STEPS:.1f}" height="{_BAR_HEIGHT:.1f}" '
        f'shape-rendering="crispEdges" fill="{scale.color(i / (_BAR_STEPS - 1))}"/>'
        for i in range(_BAR_STEPS)
    ]
    ends = ((low, MARGIN), (high, left + _BAR_WIDTH + MARGIN))
    first, last = (text(end, x, top + 15, DETAIL, GREY, START) for end, x in ends)
    return group([first, *bar, last], 'class="legend"')
