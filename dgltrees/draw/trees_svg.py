"""Trees as SVG: a box per node, a curve per edge."""

from __future__ import annotations

from collections.abc import Iterator

from dgltrees.draw.canvas import PADDING, Box, Canvas, badge_width, text_lines
from dgltrees.draw.colors import CORRECT, GREY, INNER, LEAF, WRONG, ColorScale, Paint
from dgltrees.draw.fonts import BADGE, LINE_HEIGHT
from dgltrees.draw.labels import Labels
from dgltrees.draw.layout import Layout
from dgltrees.draw.svg import (
    LEGEND_HEIGHT,
    LEGEND_WIDTH,
    box_element,
    group,
    legend,
    svg_document,
    text_element,
    text_group,
    title_element,
)

__all__ = ["trees_svg"]

_RADIUS = 12.5


def trees_svg(layout: Layout, labels: Labels, description: str) -> str:
    """The picture, with a group of class ``node`` per node and a path of class ``edge`` per edge.

    Arguments:
        layout: the trees.
        labels: what is written on them.
        description: the text for screen readers.
    """
    canvas = Canvas.of(layout, labels)
    scale = None if labels.values is None else ColorScale(labels.values)
    width = canvas.width if scale is None else max(canvas.width, LEGEND_WIDTH)
    height = canvas.height if scale is None else canvas.height + LEGEND_HEIGHT
    elements = [
        f'<g fill="none" stroke="{GREY}" stroke-width="1.4">',
        *(
            _edge(canvas.boxes[layout.parent[v]], canvas.boxes[v])
            for v in layout.preorder
            if layout.parent[v] >= 0
        ),
        "</g>",
        *text_group(_node_and_text_elements(layout, labels, canvas, scale)),
    ]
    return svg_document(elements, width, height, description)


def _node_and_text_elements(
    layout: Layout, labels: Labels, canvas: Canvas, scale: ColorScale | None
) -> Iterator[str]:
    for v in layout.preorder:
        yield from _node(canvas.boxes[v], labels, v, _paint(layout, labels, scale, v))
    for v in layout.preorder:
        position = labels.positions[v]
        if position is not None:
            yield _badge(canvas.boxes[v], position)
    for title, (x, y) in zip(labels.titles, canvas.titles):
        if title:
            yield title_element(title, x, y)
    if scale is not None:
        yield from legend(scale, canvas.height)


def _edge(parent: Box, child: Box) -> str:
    """A curve that leaves the parent downwards and enters the child from above."""
    top, bottom = parent.y + parent.height, child.y
    bend = (top + bottom) / 2
    return (
        f'<path class="edge" d="M{parent.middle:.1f} {top:.1f}C{parent.middle:.1f} {bend:.1f} '
        f'{child.middle:.1f} {bend:.1f} {child.middle:.1f} {bottom:.1f}"/>'
    )


def _paint(layout: Layout, labels: Labels, scale: ColorScale | None, node: int) -> Paint:
    """The colours of a node: the fill shows its value, the border a correct or wrong prediction."""
    if scale is not None and labels.values is not None:
        paint = scale.paint(labels.values[node])
    else:
        paint = INNER if layout.children[node] else LEAF
    correct = labels.correct[node]
    return (
        paint if correct is None else Paint(paint.fill, CORRECT if correct else WRONG, paint.text)
    )


def _node(box: Box, labels: Labels, node: int, paint: Paint) -> Iterator[str]:
    """A box with a node's label, one part per line, and its details."""
    name, detail = labels.names[node], labels.details[node]
    elements = [
        box_element(
            box.x,
            box.y,
            box.width,
            box.height,
            min(box.height / 2, _RADIUS),
            paint,
            stroke_width=1.2 if labels.correct[node] is None else 2,
        )
    ]
    y = box.y + PADDING
    for i, (text, size) in enumerate(text_lines(name, detail)):
        bold = "" if i or not name else ' font-weight="600"'
        base_line = y + 0.75 * LINE_HEIGHT[size]
        elements.append(text_element(text, box.middle, base_line, size, paint.text, more=bold))
        y += LINE_HEIGHT[size]
    return group("node", " ".join(filter(None, (*name, detail))), elements)


def _badge(box: Box, position: int) -> str:
    """A child's position, on the edge just above the child."""
    width, middle = badge_width(position), box.y - 10
    return (
        f'<g class="position"><rect x="{box.middle - width / 2:.1f}" y="{middle - 6.5:.1f}" '
        f'width="{width:.1f}" height="13" rx="6.5" fill="{GREY}"/>'
        + text_element(str(position), box.middle, middle + 3.3, BADGE, "#ffffff")
        + "</g>"
    )
