"""``draw_attention``: what attends to which nodes of a tree, as heat maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees._files import PathLike
from dgltrees.draw.attention_svg import attention_svg
from dgltrees.draw.inputs import as_rows
from dgltrees.draw.labels import format_number, visible
from dgltrees.draw.picture import check_size, save_picture
from dgltrees.errors import TreeError
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.depth import depths
from dgltrees.trees.subtrees import over_subtrees

__all__ = ["AttentionDrawing", "draw_attention", "tree_cells"]

_MOST = 5  # nodes of a query that text shows


@dataclass(frozen=True)
class AttentionDrawing:
    """Heat maps over a tree, as SVG (what Jupyter shows) and as text (what print shows).

    Made by :func:`draw_attention`. Text has of every query the nodes with the largest weights.
    """

    words: list[Optional[str]]
    spans: NDArray[np.int64]
    depth: NDArray[np.int64]
    weights: NDArray[np.float64]
    titles: list[str]
    svg_limit: int

    @cached_property
    def svg(self) -> str:
        """The maps as one self-contained SVG element.

        Raises:
            TreeError: there are more cells than ``svg_limit``.
        """
        check_size(self.weights.size, self.svg_limit)
        return attention_svg(
            self.words, self.spans, self.depth, self.weights, self.titles, self._about
        )

    @cached_property
    def text(self) -> str:
        """Of every query the nodes it attends to most, one a line, the largest weight first."""
        return "\n".join(self.lines())

    def lines(self, *, ascii_only: bool = False) -> Iterator[str]:
        """The lines of :attr:`text`, without line ends; ``ascii_only``: of ASCII characters."""
        for title, weights in zip(self.titles, self.weights):
            found = [title]
            for node in np.argsort(-weights, kind="stable")[:_MOST].tolist():
                first, last = self.spans[node].tolist()
                below = " ".join(word or "-" for word in self.words[first : last + 1])
                found.append(f"  {format_number(weights[node]):>8}  {below}")
            for line in found:
                yield ascii(line)[1:-1] if ascii_only else line

    def save(self, path: PathLike, *, ascii_only: bool = False) -> None:
        """Write a picture to a path that ends in ``.svg``, text to one that ends in ``.txt``.

        Raises:
            TreeError: another ending, or an SVG of too many cells.
        """
        save_picture(self, path, ascii_only=ascii_only)

    @property
    def _about(self) -> str:
        return f"attention of {len(self.titles)} over a tree of {len(self.depth)} nodes"

    def _repr_svg_(self) -> Optional[str]:
        """What Jupyter shows; nothing if there are too many cells: then it shows the repr."""
        return self.svg if self.weights.size <= self.svg_limit else None

    def __repr__(self) -> str:
        return f"AttentionDrawing({self._about}: print it for text, .svg for a picture)"

    def __str__(self) -> str:
        return self.text


def draw_attention(
    words: Sequence[Optional[str]],
    spans: ArrayLike,
    depth: ArrayLike,
    weights: Any,
    *,
    titles: Optional[Sequence[str]] = None,
    svg_limit: int = 20_000,
) -> AttentionDrawing:
    """Draw attention over the nodes of one tree, a heat map a query.

    Figure 2 of Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017): the
    words stand along the bottom, cells that are next to each other are composed in the cell above.
    One scale of colours, from 0 to the largest weight, holds for all maps.

    Arguments:
        words: ``(L,)`` the words at the leaves; None is a pad.
        spans: ``(N, 2)`` the first and the last leaf that each node covers.
        depth: ``(N,)`` edges between each node and the root; :func:`tree_cells` finds both.
        weights: ``(Q, N)`` the weight that each query gives each node.
        titles: ``(Q,)`` what attends, such as the queries' phrases; numbers, if not given.
        svg_limit: the most cells an SVG may have.

    Raises:
        TreeError: the shapes do not fit each other, or nodes of one depth overlap.
    """
    given = np.asarray(as_rows(weights), dtype=np.float64)
    covered, row = np.asarray(spans, dtype=np.int64), np.asarray(depth, dtype=np.int64)
    names = [str(i) for i in range(len(given))] if titles is None else list(titles)
    nodes = len(row)
    if covered.shape != (nodes, 2) or given.shape != (len(names), nodes) or not given.size:
        raise TreeError(
            f"expected spans of shape (N, 2), depths (N,) and weights (Q, N) for Q titles, got "
            f"{covered.shape}, {row.shape} and {given.shape} for {len(names)} titles"
        )
    if covered.min() < 0 or covered.max() >= len(words) or (covered[:, 0] > covered[:, 1]).any():
        raise TreeError(f"expected spans within {len(words)} leaves, got {covered.tolist()!r:.60}")
    order = np.lexsort((covered[:, 0], row))
    same = row[order][1:] == row[order][:-1]
    if (same & (covered[order][1:, 0] <= covered[order][:-1, 1])).any():
        raise TreeError("expected nodes of one depth to cover leaves of their own, got overlaps")
    shown = [None if word is None else visible(word) for word in words]
    return AttentionDrawing(
        shown, covered, row, given, [visible(name, 120) for name in names], svg_limit
    )


def tree_cells(batch: TreeBatch) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Where the nodes of one tree stand in a heat map; its leaves are in the order of the nodes.

    Returns:
        ``(L,)`` the leaves; ``(N, 2)`` the first and the last leaf that each node covers; and
        ``(N,)`` edges between each node and the root.

    Raises:
        TreeError: it is more than one tree, or sub-trees overlap.
    """
    src, dst, nodes = batch.src.numpy(), batch.dst.numpy(), batch.num_nodes
    if len(src) != nodes - 1 or len(np.unique(src)) < len(src):
        raise TreeError("expected one tree to draw, got several, or sub-trees that overlap")
    parent = np.full(nodes, -1)
    parent[src] = dst
    leaves = np.flatnonzero(np.bincount(dst, minlength=nodes) == 0)
    place = np.full(nodes, -1)
    place[leaves] = np.arange(len(leaves))
    low = np.where(place < 0, len(leaves), place)
    spans = [over_subtrees(np.minimum, low, parent), over_subtrees(np.maximum, place, parent)]
    return leaves, np.stack(spans, 1), depths(parent).astype(np.int64)
