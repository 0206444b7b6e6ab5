"""``draw``: trees as boxes joined by curves, or as lines of text, one line per node.

::

    MAX  → 7
    ├─ 3
    ├─ MIN
    │  ├─ 9
    │  └─ 7
    └─ 2

The indentation of text shows depths up to ``MAX_INDENT``. A deeper node is not indented further and
shows its depth as a number instead, ``⋯17 MIN``: its parent is the last node above it whose depth
is one less. So a chain of n nodes takes n lines of bounded length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dgltrees.draw.inputs import Drawable, as_forest, select_trees
from dgltrees.draw.labels import Labels, tree_labels
from dgltrees.draw.layout import (
    PADDING,
    Box,
    Canvas,
    Layout,
    Positions,
    badge_width,
    shown_positions,
    text_lines,
)
from dgltrees.draw.picture import Picture
from dgltrees.draw.svg import (
    BADGE,
    CORRECT,
    GREY,
    INNER,
    LEAF,
    LEGEND_HEIGHT,
    LEGEND_WIDTH,
    LINE_HEIGHT,
    WRONG,
    ColorScale,
    Paint,
    box_element,
    group,
    legend,
    svg_document,
    text_element,
    text_group,
    title_element,
)
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["MAX_INDENT", "Drawing", "draw", "trees_svg", "trees_text"]


@dataclass(frozen=True, repr=False)
class Drawing(Picture):
    """Trees drawn by :func:`draw`: boxes joined by edges, or as text one node per line."""

    layout: Layout
    labels: Labels
    svg_limit: int

    @property
    def _size(self) -> int:
        return len(self.layout)

    @property
    def _description(self) -> str:
        trees, nodes = len(self.layout.roots), len(self.layout)
        return f"{trees} tree{'s' * (trees != 1)}, {nodes} node{'s' * (nodes != 1)}"

    def _svg(self) -> str:
        return trees_svg(self.layout, self.labels, self._description)

    def _lines(self, ascii_only: bool) -> Iterator[str]:
        return trees_text(self.layout, self.labels, ascii_only)


def draw(
    trees: Drawable,
    tree: int | Sequence[int] | None = None,
    *,
    labels: str | Sequence[str] | None = None,
    values: Any | None = None,
    predictions: Any | None = None,
    targets: Any | None = None,
    positions: Positions = "auto",
    titles: Sequence[str] | None = None,
    vocabs: Mapping[str, Vocabulary] | None = None,
    svg_limit: int = 2000,
) -> Drawing:
    """Draw trees: evaluate it in Jupyter for a picture, print it for text, ``save`` it to a file.

    All arguments per node (``N``) or per tree (``T``) are in the order of ``trees``, also when
    only some of the trees are drawn. They may be sequences, arrays, or tensors on any device.

    Arguments:
        trees: a forest, a batch, or a DGL graph of trees.
        tree: draw this tree only, or these trees; all by default.
        labels: ``N`` labels, or the name of the column to take them from. By default a label is
            made of the columns ``label``, ``op``, ``word``, ``value`` and all columns of text or
            with a vocabulary (ids below 0 are left out), or else is the node's number in its tree.
        values: ``(N,)`` numbers, shown on the nodes and as their colour: from light to dark, or
            around 0 in blue and red if there are both signs.
        predictions: ``(N,)`` or, for the roots, ``(T,)`` classes, shown as ``→ class``, or where
            the target is known as ``✓ class`` or ``✗ class (target)``.
        targets: ``(N,)`` or ``(T,)`` classes, shown as ``= class``; the column ``target`` by
            default. Ids of predictions and targets are named by the vocabulary ``target``; an id
            below 0 is shown as none.
        positions: whether edges show the child's position: ``"all"``, ``"none"``, or ``"auto"``,
            under those nodes only where a child is missing before another.
        titles: ``T`` lines, each above its tree. By default trees are numbered if several are
            drawn.
        vocabs: vocabularies by column, in place of the forest's own; a batch has none.
        svg_limit: the most nodes an SVG may have.

    Raises:
        TreeError: an argument has the wrong length, an id is outside its vocabulary, a column
            does not exist, or the edges do not form trees.
        IndexError: there is no such tree.
    """
    forest = as_forest(trees, vocabs)
    selected, nodes, selected_titles = select_trees(forest, tree, titles)
    layout = Layout.of(selected.global_parent, selected.pos)
    return Drawing(
        layout,
        tree_labels(
            forest,
            nodes,
            selected_titles,
            labels=labels,
            targets=targets,
            predictions=predictions,
            values=values,
            positions=shown_positions(layout, positions),
        ),
        svg_limit,
    )


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


MAX_INDENT = 16

_GUIDES = {False: ("├", "└", "─", "│", "⋯"), True: ("|", "`", "-", "|", "...")}


def trees_text(layout: Layout, labels: Labels, ascii_only: bool = False) -> Iterator[str]:
    """The lines of a drawing, without line ends.

    Arguments:
        layout: the trees.
        labels: what is written on them.
        ascii_only: whether guides are in ASCII; labels are as they are.
    """
    tee, corner, bar, pipe, dots = _GUIDES[ascii_only]
    last_children = {children[-1] for children in layout.children if children}
    indent = [""] * len(layout)  # of a node's children
    tree = -1
    for node in layout.preorder:
        parent, depth = layout.parent[node], layout.depth[node]
        position = "" if labels.positions[node] is None else f"{labels.positions[node]}{bar}"
        if parent < 0:
            tree += 1
            if tree:
                yield ""
            title = labels.titles[tree]
            if title:
                yield title
            guide = ""
        elif depth <= MAX_INDENT:
            is_last = node in last_children
            guide = f"{indent[parent]}{corner if is_last else tee}{bar}{position} "
            indent[node] = indent[parent] + ("   " if is_last else f"{pipe}  ")
        else:
            indent[node] = indent[parent]
            guide = f"{indent[node]}{dots}{depth}{bar * bool(position)}{position} "
        texts = (" ".join(labels.names[node]), labels.details[node])
        yield guide + "  ".join(filter(None, texts))
