"""Trees as SVG: one self-contained picture, without style sheets, scripts or fonts of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Optional
from xml.sax.saxutils import escape, quoteattr

from dgltrees.draw.canvas import (
    BADGE,
    DETAIL,
    LINE,
    PADDING,
    TITLE,
    Box,
    Page,
    badge_width,
    lines_in,
)
from dgltrees.draw.colors import GREY, INNER, LEAF, RIGHT, WRONG, Paint, Scale
from dgltrees.draw.fonts import FONT, text_width
from dgltrees.draw.labels import Marks, format_number
from dgltrees.draw.layout import Skeleton

__all__ = ["legend_bar", "svg_text", "words_at"]

_LEGEND = 160.0, 10.0  # width and height of the bar
_CORNER = 12.5


def svg_text(
    skeleton: Skeleton,
    marks: Marks,
    numbered: Sequence[bool],
    titles: Sequence[Optional[str]],
    about: str,
) -> str:
    """The picture, with a group of class ``node`` a node and a path of class ``edge`` an edge.

    Arguments:
        skeleton: the trees.
        marks: what stands on their nodes.
        numbered: whether each node shows its position.
        titles: a line above each tree, or None.
        about: what a screen reader says of the picture.
    """
    page = Page.of(skeleton, marks, numbered, titles)
    scale = None if marks.values is None else Scale(marks.values)
    legend = [] if scale is None else [*legend_bar(scale, page.height)]
    width = max(page.width, _LEGEND[0] + 160 if legend else 0.0)
    height = page.height + (34 if legend else 0)
    edges = [v for v in skeleton.preorder if skeleton.parent[v] >= 0]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label={quoteattr(about)}>',
        f'<g fill="none" stroke="{GREY}" stroke-width="1.4">',
        *(_edge(page.boxes[skeleton.parent[v]], page.boxes[v]) for v in edges),
        "</g>",
        f'<g font-family="{FONT}" text-anchor="middle">',
        *(
            line
            for v in skeleton.preorder
            for line in _node(page.boxes[v], marks, v, _paint(skeleton, marks, scale, v))
        ),
        *(_badge(page.boxes[v], skeleton.pos[v]) for v in skeleton.preorder if numbered[v]),
        *(
            words_at(title, x, y, TITLE, GREY, ' text-anchor="start"')
            for title, (x, y) in zip(titles, page.titles)
            if title
        ),
        *legend,
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _edge(parent: Box, child: Box) -> str:
    """A curve that leaves the parent downwards and enters the child from above."""
    top, bottom = parent.y + parent.height, child.y
    bend = (top + bottom) / 2
    return (
        f'<path class="edge" d="M{parent.middle:.1f} {top:.1f}C{parent.middle:.1f} {bend:.1f} '
        f'{child.middle:.1f} {bend:.1f} {child.middle:.1f} {bottom:.1f}"/>'
    )


def _paint(skeleton: Skeleton, marks: Marks, scale: Optional[Scale], node: int) -> Paint:
    """The colours of a node: by its value if there are values; the border tells right and wrong."""
    if scale is not None and marks.values is not None:
        paint = scale.paint(marks.values[node])
    else:
        paint = INNER if skeleton.children[node] else LEAF
    right = marks.right[node]
    return paint if right is None else Paint(paint.fill, RIGHT if right else WRONG, paint.text)


def _node(box: Box, marks: Marks, node: int, paint: Paint) -> Iterator[str]:
    """A box with a node's label, a part a line, and its details."""
    label, detail, right = marks.labels[node], marks.details[node], marks.right[node]
    yield f'<g class="node"><title>{escape(" ".join(filter(None, (*label, detail))))}</title>'
    radius, line = min(box.height / 2, _CORNER), 1.2 if right is None else 2
    yield (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{radius:.1f}" fill="{paint.fill}" '
        f'stroke="{paint.border}" stroke-width="{line}"/>'
    )
    y = box.y + PADDING
    for i, (text, size) in enumerate(lines_in(label, detail)):
        bold = "" if i or not label else ' font-weight="600"'
        yield words_at(text, box.middle, y + 0.75 * LINE[size], size, paint.text, bold)
        y += LINE[size]
    yield "</g>"


def _badge(box: Box, position: int) -> str:
    """A child's position, on the edge just above the child."""
    width, middle = badge_width(position), box.y - 10
    return (
        f'<g class="position"><rect x="{box.middle - width / 2:.1f}" y="{middle - 6.5:.1f}" '
        f'width="{width:.1f}" height="13" rx="6.5" fill="{GREY}"/>'
        + words_at(str(position), box.middle, middle + 3.3, BADGE, "#ffffff")
        + "</g>"
    )


def legend_bar(scale: Scale, top: float) -> Iterator[str]:
    """A bar with the colours of the values between its two ends."""
    width, height = _LEGEND
    low, high = format_number(scale.low), format_number(scale.high)
    left = round(16 + text_width(low, DETAIL))
    yield '<g class="legend">'
    yield words_at(low, 8, top + 15, DETAIL, GREY, ' text-anchor="start"')
    steps = 40
    for i in range(steps):
        yield (
            f'<rect x="{left + width * i / steps:.1f}" y="{top + 6:.1f}" '
            f'width="{width / steps:.1f}" height="{height:.1f}" shape-rendering="crispEdges" '
            f'fill="{scale.color(i / (steps - 1))}"/>'
        )
    yield words_at(high, left + width + 8, top + 15, DETAIL, GREY, ' text-anchor="start"')
    yield "</g>"


def words_at(text: str, x: float, y: float, size: float, color: str, more: str = "") -> str:
    """A line of text, escaped; ``more`` are further attributes."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.0f}" fill="{color}"{more}>'
        f"{escape(text)}</text>"
    )
