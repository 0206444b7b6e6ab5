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
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, Union

from dgltrees.draw import svg
from dgltrees.draw.labels import (
    Labels,
    class_texts,
    label_parts,
    number_texts,
    select_trees,
)
from dgltrees.draw.layout import Box, Canvas, Layout, Positions, badge_width, text_lines
from dgltrees.draw.picture import Picture
from dgltrees.draw.strings import printable
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.builders.graphs import from_dgl
from dgltrees.trees.forest import Forest, counted
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dgl import DGLGraph


Drawable = Union[Forest, TreeBatch, "DGLGraph"]

MAX_INDENT = 16
_SHOWN_NODES = 100  # of the first tree; a larger one is only counted

_RADIUS = 12.5


@dataclass(frozen=True, repr=False)
class Drawing(Picture):
    """A drawing of trees by :func:`draw`: boxes joined by edges, or text with one node per line.

    The SVG has a group of class ``node`` per node and a path of class ``edge`` per edge.
    """

    layout: Layout
    labels: Labels
    svg_limit: int

    @property
    def _size(self) -> int:
        return len(self.layout)

    @property
    def _description(self) -> str:
        trees, nodes = len(self.labels.titles), len(self.layout)
        return f"{trees} tree{'s' * (trees != 1)}, {nodes} node{'s' * (nodes != 1)}"

    def _svg(self) -> str:
        labels, canvas = self.labels, Canvas.of(self.layout, self.labels)
        scale = None if labels.values is None else svg.ColorScale(labels.values)
        edges = [
            _edge(canvas.boxes[parent], box)
            for parent, box in zip(self.layout.parent, canvas.boxes)
            if parent >= 0
        ]
        elements = [self._node(node, box, scale) for node, box in enumerate(canvas.boxes)]
        for position, box in zip(labels.positions, canvas.boxes):
            if position is not None:
                elements.append(_badge(box, position))
        for title, (x, y) in zip(labels.titles, canvas.titles):
            if title:
                elements.append(svg.title(title, x, y))
        lines = svg.group(edges, f'fill="none" stroke="{svg.GREY}" stroke-width="1.4"')
        return svg.document(
            elements,
            canvas.width,
            canvas.height,
            self._description,
            before=[lines],
            scale=scale,
        )

    def _node(self, node: int, box: Box, scale: svg.ColorScale | None) -> str:
        """Return a box with a node's label, one part per line, and its details."""
        labels = self.labels
        name, detail, correct = labels.names[node], labels.details[node], labels.correct[node]
        paint = svg.INNER if self.layout.children[node] else svg.LEAF
        if scale is not None and labels.values is not None:
            paint = scale.paint(labels.values[node])
        if correct is not None:
            paint = paint._replace(border=svg.CORRECT if correct else svg.WRONG)
        radius, stroke_width = min(box.height / 2, _RADIUS), 1.2 if correct is None else 2
        elements = [svg.box(*box, radius, paint, stroke_width=stroke_width)]
        y = box.y + svg.PADDING
        for i, (text, size) in enumerate(text_lines(name, detail)):
            base_line = y + 0.75 * svg.LINE_HEIGHT[size]
            bold = "" if i or not name else svg.BOLD
            elements.append(svg.text(text, box.middle, base_line, size, paint.text, bold))
            y += svg.LINE_HEIGHT[size]
        return svg.group(elements, 'class="node"', " ".join(filter(None, (*name, detail))))

    def _lines(self, ascii_only: bool) -> Iterator[str]:
        layout, labels = self.layout, self.labels
        tee, corner, bar, pipe, dots = "├└─│⋯"
        last_children = {children[-1] for children in layout.children if children}
        indent = [""] * len(layout)  # of a node's children
        titles = iter(labels.titles)
        for node, (parent, depth) in enumerate(zip(layout.parent, layout.depth)):
            position = "" if labels.positions[node] is None else f"{labels.positions[node]}{bar}"
            if parent < 0:
                if node:
                    yield ""
                title = next(titles)
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
    """Draw trees as a picture or as text.

    Jupyter shows the drawing as a picture, ``print`` as text, and its method ``save`` writes a
    file. All arguments per node (``N``) or per tree (``T``) are in the order of ``trees``, also if
    only some of the trees are drawn. They may be sequences, arrays, or tensors on any device.

    Arguments:
        trees: a forest, a batch, or a DGL graph of trees.
        tree: the index or indices of the trees to draw; default: all.
        labels: ``N`` labels, or the name of the column with the labels. By default a label consists
            of the columns ``label``, ``op``, ``word``, ``value`` and all columns of strings or with
            a vocabulary (ids below 0 are left out), or else is the node's number in its tree.
        values: ``(N,)`` numbers, shown on the nodes and as their colour: from light to dark, or
            blue to red around 0 if there are both signs.
        predictions: ``(N,)`` classes or, for the roots, ``(T,)``; shown as ``→ class``, or if the
            target is known as ``✓ class`` or ``✗ class (target)``.
        targets: ``(N,)`` or ``(T,)`` classes, shown as ``= class``; default: the column ``target``.
            The vocabulary ``target`` gives the names of predictions and targets; ids below 0 are
            not shown.
        positions: whether edges show the position of the child: ``"all"``, ``"none"``, or
            ``"auto"``, only below nodes that lack a child before another one.
        titles: ``T`` lines, each above its tree. By default trees are numbered if several are
            drawn.
        vocabs: vocabularies by column, instead of those of the forest; a batch has none.
        svg_limit: the largest number of nodes in an SVG.

    Returns:
        the drawing.

    Raises:
        TreeError: an argument has the wrong length, an id is outside its vocabulary, a column does
            not exist, or the edges do not form trees.
        IndexError: a tree does not exist.

    Example:
        >>> from dgltrees.trees.builders import from_brackets
        >>> print(draw(from_brackets("(MAX 3 (MIN 9 7) 2)"), predictions=[7]))
        MAX  → 7
        ├─ 3
        ├─ MIN
        │  ├─ 9
        │  └─ 7
        └─ 2
    """
    forest = trees if isinstance(trees, Forest) else from_dgl(trees, edge_columns=False)
    forest = replace(forest, vocabs={**forest.vocabs, **(vocabs or {})})
    selected, nodes, selected_titles = select_trees(forest, tree, titles)
    layout = Layout.of(selected)
    nodes = nodes[layout.nodes]
    if targets is None:
        targets = forest.columns.get("target")
    expected = class_texts(forest, nodes, "targets", targets)
    predicted = class_texts(forest, nodes, "predictions", predictions)
    correct = [p == e if p and e else None for p, e in zip(predicted, expected)]
    numbers, formatted = number_texts(forest, nodes, values)
    verdicts = map(_verdict, predicted, expected, correct)
    details = [" · ".join(filter(None, parts)) for parts in zip(verdicts, formatted)]
    parts = label_parts(forest, nodes, labels)
    names = [name if name or detail else ("·",) for name, detail in zip(parts, details)]
    shown = layout.positions(positions)
    texts = Labels(names, details, correct, numbers, shown, selected_titles)
    return Drawing(layout, texts, svg_limit)


def forest_html(forest: Forest) -> str:
    """Return the counts of a forest, a table of its columns, and its first tree if it is small."""
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(kind)}</td></tr>"
        for name, kind in forest.column_types.items()
    )
    text = f"{counted(len(forest), 'tree')}, {counted(forest.num_nodes, 'node')}"
    html = f"<div><p>Forest of {text}</p>" + (f"<table>{rows}</table>" if rows else "")
    if len(forest) and forest.sizes[0] <= _SHOWN_NODES:
        html += draw(forest[0]).svg
    elif len(forest):
        html += (
            f"<p>The first tree has {forest.sizes[0]:,} nodes: draw(forest, tree=0) draws it.</p>"
        )
    return html + "</div>"


def _verdict(predicted: str, expected: str, correct: bool | None) -> str:
    predicted, expected = printable(predicted), printable(expected)
    if correct is None:
        return f"→ {predicted}" if predicted else f"= {expected}" if expected else ""
    return f"✓ {predicted}" if correct else f"✗ {predicted} ({expected})"


def _edge(parent: Box, child: Box) -> str:
    """Return a curve that leaves the parent downwards and enters the child from above."""
    top, bottom = parent.y + parent.height, child.y
    bend = (top + bottom) / 2
    return (
        f'<path class="edge" d="M{parent.middle:.1f} {top:.1f}C{parent.middle:.1f} {bend:.1f} '
        f'{child.middle:.1f} {bend:.1f} {child.middle:.1f} {bottom:.1f}"/>'
    )


def _badge(box: Box, position: int) -> str:
    """Return a child's position, on the edge just above the child."""
    width, middle = badge_width(position), box.y - 10
    return (
        f'<g class="position"><rect x="{box.middle - width / 2:.1f}" y="{middle - 6.5:.1f}" '
        f'width="{width:.1f}" height="13" rx="6.5" fill="{svg.GREY}"/>'
        + svg.text(str(position), box.middle, middle + 3.3, svg.BADGE, "#ffffff")
        + "</g>"
    )
