"""The SVG elements that all pictures share, and the document around them.

A picture is self-contained: it has no style sheet, no script and no embedded font.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from dgltrees.draw.colors import GREY, ColorScale, Paint
from dgltrees.draw.fonts import DETAIL, FAMILY, TITLE, text_width
from dgltrees.draw.strings import format_number

__all__ = [
    "LEGEND_HEIGHT",
    "LEGEND_WIDTH",
    "MARGIN",
    "box_element",
    "group",
    "legend",
    "svg_document",
    "text_element",
    "text_group",
    "title_element",
]

MARGIN = 8.0  # between a picture and the edge of its canvas
LEGEND_WIDTH, LEGEND_HEIGHT = 320.0, 34.0  # what a legend takes of the canvas, at most
_BAR_WIDTH, _BAR_HEIGHT, _BAR_STEPS = 160.0, 10.0, 40


def svg_document(elements: Iterable[str], width: float, height: float, description: str) -> str:
    """The text of an SVG file; ``description`` is for screen readers."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label={quoteattr(description)}>',
        *elements,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def text_group(elements: Iterable[str]) -> Iterator[str]:
    """The elements in a group that sets their font and centres their texts."""
    yield f'<g font-family="{FAMILY}" text-anchor="middle">'
    yield from elements
    yield "</g>"


def group(css_class: str, tooltip: str, elements: Iterable[str]) -> Iterator[str]:
    """The elements in a group with a CSS class and a tooltip."""
    yield f'<g class="{css_class}"><title>{escape(tooltip)}</title>'
    yield from elements
    yield "</g>"


def text_element(
    text: str, x: float, y: float, size: float, color: str, *, start: bool = False, more: str = ""
) -> str:
    """A line of text whose middle, or with ``start`` its left end, is at ``x``.

    Arguments:
        text: the text, which is escaped here.
        x, y: the anchor and the base line.
        size: the font size.
        color: the color of the text.
        start: whether ``x`` is the left end.
        more: additional attributes, each preceded by a space.
    """
    anchor = ' text-anchor="start"' if start else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.0f}" fill="{color}"{anchor}{more}>'
        f"{escape(text)}</text>"
    )


def title_element(title: str, x: float, y: float) -> str:
    """A title that starts at ``x``, with its base line at ``y``."""
    return text_element(title, x, y, TITLE, GREY, start=True)


def box_element(
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
    """A rectangle with rounded corners."""
    named = f'class="{css_class}" ' if css_class else ""
    return (
        f'<rect {named}x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'rx="{radius:.1f}" fill="{paint.fill}" stroke="{paint.border}" '
        f'stroke-width="{stroke_width:g}"/>'
    )


def legend(scale: ColorScale, top: float) -> Iterator[str]:
    """A bar with the colours of a scale between its lowest and its highest value."""
    low, high = format_number(scale.low), format_number(scale.high)
    left = round(2 * MARGIN + text_width(low, DETAIL))
    yield '<g class="legend">'
    yield text_element(low, MARGIN, top + 15, DETAIL, GREY, start=True)
    for i in range(_BAR_STEPS):
        yield (
            f'<rect x="{left + _BAR_WIDTH * i / _BAR_STEPS:.1f}" y="{top + 6:.1f}" '
            f'width="{_BAR_WIDTH / _BAR_STEPS:.1f}" height="{_BAR_HEIGHT:.1f}" '
            f'shape-rendering="crispEdges" fill="{scale.color(i / (_BAR_STEPS - 1))}"/>'
        )
    yield text_element(high, left + _BAR_WIDTH + MARGIN, top + 15, DETAIL, GREY, start=True)
    yield "</g>"
