"""Attention over a tree as SVG: one heat map per query, a cell per node above the words it covers.

The top row is the root, the words are at the bottom; a cell is as wide as the words it covers, so
that the cell of a node is directly above those of its children.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from dgltrees.draw.colors import GREY, ColorScale
from dgltrees.draw.fonts import DETAIL, LINE_HEIGHT, TITLE, text_width
from dgltrees.draw.strings import format_number
from dgltrees.draw.svg import (
    LEGEND_HEIGHT,
    LEGEND_WIDTH,
    MARGIN,
    legend,
    svg_document,
    text_element,
    text_group,
    title_element,
)

__all__ = ["attention_svg"]

_MAP_GAP = 24.0
_CELL_HEIGHT, _MIN_CELL_WIDTH, _TEXT_MARGIN = 18.0, 16.0, 4.0
_MAX_WIDTH = 1100.0  # of a row of several maps


def attention_svg(
    words: Sequence[str | None],
    spans: NDArray[np.int64],
    depth: NDArray[np.int64],
    weights: NDArray[np.float64],
    titles: Sequence[str],
    description: str,
) -> str:
    """The picture, with a group of class ``map`` per query and a ``cell`` rectangle per node.

    Arguments:
        words: ``(L,)`` the words at the leaves; None is padding.
        spans: ``(N, 2)`` the first and the last leaf that each node covers.
        depth: ``(N,)`` number of edges between each node and the root.
        weights: ``(Q, N)`` attention weights of each query.
        titles: ``(Q,)`` a line above each map.
        description: the text for screen readers.
    """
    texts = ["–" if word is None else word for word in words]
    widths = [max(_MIN_CELL_WIDTH, text_width(text, DETAIL) + 2 * _TEXT_MARGIN) for text in texts]
    edges = np.concatenate([[0.0], np.cumsum(widths)])
    scale = ColorScale(np.append(weights.ravel(), 0.0))
    map_height = LINE_HEIGHT[TITLE] + _CELL_HEIGHT * (int(depth.max()) + 1) + LINE_HEIGHT[DETAIL]
    map_width = max(float(edges[-1]), *(text_width(title, TITLE) for title in titles))
    columns = max(1, int((_MAX_WIDTH + _MAP_GAP) / (map_width + _MAP_GAP)))
    columns = min(columns, len(titles))
    elements: list[str] = []
    for i, title in enumerate(titles):
        left = MARGIN + (i % columns) * (map_width + _MAP_GAP)
        top = MARGIN + (i // columns) * (map_height + _MAP_GAP)
        elements.append(f'<g class="map" transform="translate({left:.1f} {top:.1f})">')
        elements.append(title_element(title, 0, 0.6 * LINE_HEIGHT[TITLE]))
        elements += _cells(texts, edges, spans, depth, weights[i], scale)
        elements.append("</g>")
    rows = -(-len(titles) // columns)
    bottom = MARGIN + rows * (map_height + _MAP_GAP) - _MAP_GAP
    elements += legend(scale, bottom)
    width = max(2 * MARGIN + columns * (map_width + _MAP_GAP) - _MAP_GAP, LEGEND_WIDTH)
    return svg_document(text_group(elements), width, bottom + LEGEND_HEIGHT, description)


def _cells(
    words: Sequence[str],
    edges: NDArray[np.float64],
    spans: NDArray[np.int64],
    depth: NDArray[np.int64],
    weights: NDArray[np.float64],
    scale: ColorScale,
) -> Iterator[str]:
    """The cells of one map, and the words below them; a leaf reaches down to its word."""
    top = LINE_HEIGHT[TITLE]
    bottom = top + _CELL_HEIGHT * (int(depth.max()) + 1)
    for (first, last), row, weight in zip(spans.tolist(), depth.tolist(), weights.tolist()):
        y = top + _CELL_HEIGHT * row
        height = bottom - y if first == last else _CELL_HEIGHT
        tooltip = escape(f"{' '.join(words[first : last + 1])}: {format_number(weight)}")
        yield (
            f'<rect class="cell" x="{edges[first]:.1f}" y="{y:.1f}" '
            f'width="{edges[last + 1] - edges[first]:.1f}" height="{height:.1f}" '
            f'fill="{scale.paint(weight).fill}" stroke="{GREY}" stroke-width="0.6">'
            f"<title>{tooltip}</title></rect>"
        )
    base_line = bottom + 0.8 * LINE_HEIGHT[DETAIL]
    for word, left, right in zip(words, edges, edges[1:]):
        yield text_element(word, (left + right) / 2, base_line, DETAIL, GREY)
