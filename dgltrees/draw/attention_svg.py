"""Attention over a tree as SVG: a heat map a query, each node a cell over the words below it.

The root is the row on top, the words are at the bottom; a cell is as wide as the words it covers,
so that the cell of a node stands on those of its children.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Optional
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from dgltrees.draw.canvas import DETAIL, LINE, TITLE
from dgltrees.draw.colors import GREY, Scale
from dgltrees.draw.fonts import FONT, text_width
from dgltrees.draw.labels import format_number
from dgltrees.draw.trees_svg import legend_bar, words_at

__all__ = ["attention_svg"]

_MARGIN, _BETWEEN = 8.0, 24.0  # around the page, between maps
_ROW, _NARROWEST, _SIDES = 18.0, 16.0, 4.0  # a cell's height, least width, space beside a word
_WIDEST = 1100.0  # of a row of maps, if one is not wider alone
_LEGEND = 34.0


def attention_svg(
    words: Sequence[Optional[str]],
    spans: NDArray[np.int64],
    depth: NDArray[np.int64],
    weights: NDArray[np.float64],
    titles: Sequence[str],
    about: str,
) -> str:
    """The picture, with a group of class ``map`` a query and a rectangle of class ``cell`` a node.

    Arguments:
        words: ``(L,)`` the words at the leaves; None is a pad.
        spans: ``(N, 2)`` the first and the last leaf that each node covers.
        depth: ``(N,)`` edges between each node and the root.
        weights: ``(Q, N)``.
        titles: ``(Q,)``.
        about: what a screen reader says of the picture.
    """
    shown = ["–" if word is None else word for word in words]
    widths = [max(_NARROWEST, text_width(word, DETAIL) + 2 * _SIDES) for word in shown]
    edges = np.concatenate([[0.0], np.cumsum(widths)])
    scale = Scale(np.append(weights.ravel(), 0.0))
    height = LINE[TITLE] + _ROW * (int(depth.max()) + 1) + LINE[DETAIL]
    width = max(float(edges[-1]), *(text_width(title, TITLE) for title in titles))
    across = max(1, int((_WIDEST + _BETWEEN) / (width + _BETWEEN)))
    across = min(across, len(titles))
    body: list[str] = []
    for i, title in enumerate(titles):
        left = _MARGIN + (i % across) * (width + _BETWEEN)
        top = _MARGIN + (i // across) * (height + _BETWEEN)
        body.append(f'<g class="map" transform="translate({left:.1f} {top:.1f})">')
        body.append(words_at(title, 0, 0.6 * LINE[TITLE], TITLE, GREY, ' text-anchor="start"'))
        body += _cells(shown, edges, spans, depth, weights[i], scale)
        body.append("</g>")
    rows = -(-len(titles) // across)
    bottom = _MARGIN + rows * (height + _BETWEEN) - _BETWEEN
    page = max(2 * _MARGIN + across * (width + _BETWEEN) - _BETWEEN, 320.0)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{page:.0f}" '
        f'height="{bottom + _LEGEND:.0f}" viewBox="0 0 {page:.0f} {bottom + _LEGEND:.0f}" '
        f'role="img" aria-label={quoteattr(about)}>',
        f'<g font-family="{FONT}" text-anchor="middle">',
        *body,
        *legend_bar(scale, bottom),
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _cells(
    words: Sequence[str],
    edges: NDArray[np.float64],
    spans: NDArray[np.int64],
    depth: NDArray[np.int64],
    weights: NDArray[np.float64],
    scale: Scale,
) -> Iterator[str]:
    """The cells of one map, and the words below them; a leaf reaches down to its word."""
    top, bottom = LINE[TITLE], LINE[TITLE] + _ROW * (int(depth.max()) + 1)
    for (first, last), row, weight in zip(spans.tolist(), depth.tolist(), weights.tolist()):
        y = top + _ROW * row
        height = bottom - y if first == last else _ROW
        below = escape(f"{' '.join(words[first : last + 1])}: {format_number(weight)}")
        yield (
            f'<rect class="cell" x="{edges[first]:.1f}" y="{y:.1f}" '
            f'width="{edges[last + 1] - edges[first]:.1f}" height="{height:.1f}" '
            f'fill="{scale.paint(weight).fill}" stroke="{GREY}" stroke-width="0.6">'
            f"<title>{below}</title></rect>"
        )
    for word, left, right in zip(words, edges, edges[1:]):
        yield words_at(word, (left + right) / 2, bottom + 0.8 * LINE[DETAIL], DETAIL, GREY)
