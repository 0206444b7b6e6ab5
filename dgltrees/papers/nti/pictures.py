"""Heat maps of attention over the nodes of a tree.

In SVG there is a map per query, with a cell per node above the words that the node covers. The root
is at the top, the words are at the bottom. A cell is as wide as its words, so the cell of a node is
directly above those of its children.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees.draw import svg
from dgltrees.draw.labels import MAX_TITLE, as_array
from dgltrees.draw.picture import Picture
from dgltrees.draw.strings import format_number, printable
from dgltrees.errors import TreeError
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.order import depths, over_subtrees

_MAP_GAP = 24.0
_CELL_HEIGHT, _MIN_CELL_WIDTH, _TEXT_MARGIN = 18.0, 16.0, 4.0
_MAX_WIDTH = 1100.0  # of a row of several maps
_TOP = 5  # nodes per query that text shows


@dataclass(frozen=True, repr=False)
class AttentionDrawing(Picture):
    """Heat maps drawn by :func:`draw_attention`; as text, the largest weights of every query.

    SVG has a group of class ``map`` per query, with a rectangle of class ``cell`` per node.
    """

    words: list[str | None]
    spans: NDArray[np.int64]
    depth: NDArray[np.int64]
    weights: NDArray[np.float64]
    titles: list[str]
    svg_limit: int

    _unit: ClassVar[str] = "cells"

    @property
    def _size(self) -> int:
        return self.weights.size

    @property
    def _description(self) -> str:
        return f"attention of {len(self.titles)} over a tree of {len(self.depth)} nodes"

    def _svg(self) -> str:
        texts = ["–" if word is None else word for word in self.words]
        widths = [
            max(_MIN_CELL_WIDTH, svg.text_width(text, svg.DETAIL) + 2 * _TEXT_MARGIN)
            for text in texts
        ]
        edges = np.concatenate([[0.0], np.cumsum(widths)])
        scale = svg.ColorScale(np.append(self.weights.ravel(), 0.0))
        bottom = svg.LINE_HEIGHT[svg.TITLE] + _CELL_HEIGHT * (int(self.depth.max()) + 1)
        row_height = bottom + svg.LINE_HEIGHT[svg.DETAIL] + _MAP_GAP
        title_widths = (svg.text_width(title, svg.TITLE) for title in self.titles)
        column_width = max(float(edges[-1]), *title_widths) + _MAP_GAP
        columns = max(1, int((_MAX_WIDTH + _MAP_GAP) / column_width))
        columns = min(columns, len(self.titles))
        maps = []
        for i, (title, weights) in enumerate(zip(self.titles, self.weights)):
            left = svg.MARGIN + (i % columns) * column_width
            top = svg.MARGIN + (i // columns) * row_height
            elements = [svg.title(title, 0, 0.6 * svg.LINE_HEIGHT[svg.TITLE])]
            elements += self._cells(texts, edges, weights, scale, bottom)
            place = f'class="map" transform="translate({left:.1f} {top:.1f})"'
            maps.append(svg.group(elements, place))
        rows = -(-len(self.titles) // columns)
        width = 2 * svg.MARGIN + columns * column_width - _MAP_GAP
        height = svg.MARGIN + rows * row_height - _MAP_GAP
        return svg.document(maps, width, height, self._description, scale=scale)

    def _cells(
        self,
        texts: Sequence[str],
        edges: NDArray[np.float64],
        weights: NDArray[np.float64],
        scale: svg.ColorScale,
        bottom: float,
    ) -> Iterator[str]:
        """Yield the cells of one map, and the words below them; a leaf reaches down to its word."""
        nodes = zip(self.spans.tolist(), self.depth.tolist(), weights.tolist())
        for (first, last), row, weight in nodes:
            y = svg.LINE_HEIGHT[svg.TITLE] + _CELL_HEIGHT * row
            height = bottom - y if first == last else _CELL_HEIGHT
            tooltip = escape(f"{' '.join(texts[first : last + 1])}: {format_number(weight)}")
            yield (
                f'<rect class="cell" x="{edges[first]:.1f}" y="{y:.1f}" '
                f'width="{edges[last + 1] - edges[first]:.1f}" height="{height:.1f}" '
                f'fill="{scale.paint(weight).fill}" stroke="{svg.GREY}" stroke-width="0.6">'
                f"<title>{tooltip}</title></rect>"
            )
        base_line = bottom + 0.8 * svg.LINE_HEIGHT[svg.DETAIL]
        for text, left, right in zip(texts, edges, edges[1:]):
            yield svg.text(text, (left + right) / 2, base_line, svg.DETAIL, svg.GREY)

    def _lines(self, ascii_only: bool) -> Iterator[str]:
        for title, weights in zip(self.titles, self.weights):
            yield title
            for node in np.argsort(-weights, kind="stable")[:_TOP].tolist():
                first, last = self.spans[node].tolist()
                phrase = " ".join(word or "-" for word in self.words[first : last + 1])
                yield f"  {format_number(weights[node]):>8}  {phrase}"


def draw_attention(
    words: Sequence[str | None],
    spans: ArrayLike,
    depth: ArrayLike,
    weights: Any,
    *,
    titles: Sequence[str] | None = None,
    svg_limit: int = 20_000,
) -> AttentionDrawing:
    """Draw attention over the nodes of one tree, one heat map per query.

    Figure 2 of Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017). The
    words are at the bottom; the cell of a node is above those of its children. All maps share one
    colour scale, from 0 to the largest weight.
    """
    weights = np.asarray(as_array(weights), dtype=np.float64)
    spans, depth = np.asarray(spans, dtype=np.int64), np.asarray(depth, dtype=np.int64)
    names = [str(i) for i in range(len(weights))] if titles is None else list(titles)
    num_nodes = len(depth)
    if (
        spans.shape != (num_nodes, 2)
        or weights.shape != (len(names), num_nodes)
        or not weights.size
    ):
        raise TreeError(
            f"expected spans of shape (N, 2), depths (N,) and weights (Q, N) for Q titles, got "
            f"{spans.shape}, {depth.shape} and {weights.shape} for {len(names)} titles"
        )
    if spans.min() < 0 or spans.max() >= len(words) or (spans[:, 0] > spans[:, 1]).any():
        raise TreeError(f"expected spans within {len(words)} leaves, got {spans.tolist()!r:.60}")
    order = np.lexsort((spans[:, 0], depth))
    same_depth = depth[order][1:] == depth[order][:-1]
    if (same_depth & (spans[order][1:, 0] <= spans[order][:-1, 1])).any():
        raise TreeError("expected nodes of one depth to cover different leaves, got overlaps")
    return AttentionDrawing(
        [None if word is None else printable(word) for word in words],
        spans,
        depth,
        weights,
        [printable(name, MAX_TITLE) for name in names],
        svg_limit,
    )


def tree_cells(batch: TreeBatch) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Compute the leaves, spans and depths of one tree, for :func:`draw_attention`.

    Leaves are numbered from left to right in the order of their node ids.
    """
    src, dst, num_nodes = batch.src.numpy(), batch.dst.numpy(), batch.num_nodes
    if len(src) != num_nodes - 1 or len(np.unique(src)) < len(src):
        raise TreeError("expected one tree to draw, got several, or sub-trees that overlap")
    parent = np.full(num_nodes, -1)
    parent[src] = dst
    leaves = np.flatnonzero(np.bincount(dst, minlength=num_nodes) == 0)
    leaf_rank = np.full(num_nodes, -1)
    leaf_rank[leaves] = np.arange(len(leaves))
    first = over_subtrees(np.minimum, np.where(leaf_rank < 0, len(leaves), leaf_rank), parent)
    last = over_subtrees(np.maximum, leaf_rank, parent)
    return leaves, np.stack([first, last], 1), depths(parent).astype(np.int64)
