"""``draw``: trees as a picture and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dgltrees.draw.inputs import Drawable, as_forest, select_trees
from dgltrees.draw.labels import Labels, Positions, tree_labels
from dgltrees.draw.layout import Layout
from dgltrees.draw.picture import Picture
from dgltrees.draw.trees_svg import trees_svg
from dgltrees.draw.trees_text import trees_text
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["Drawing", "draw"]


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
            layout,
            selected_titles,
            labels=labels,
            targets=targets,
            predictions=predictions,
            values=values,
            positions=positions,
        ),
        svg_limit,
    )
