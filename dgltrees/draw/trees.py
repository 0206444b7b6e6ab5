"""``draw``: trees as a picture and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Optional, Union

import numpy as np

from dgltrees._files import PathLike
from dgltrees.draw.inputs import Drawable, as_forest
from dgltrees.draw.labels import Marks, make_marks, visible
from dgltrees.draw.layout import Skeleton
from dgltrees.draw.picture import check_size, save_picture
from dgltrees.draw.trees_svg import svg_text
from dgltrees.draw.trees_text import text_lines
from dgltrees.errors import TreeError
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["Drawing", "draw"]


@dataclass(frozen=True)
class Drawing:
    """Some trees with their marks, as SVG (what Jupyter shows) and as text (what print shows).

    Made by :func:`draw`. Both are written when they are first asked for.
    """

    skeleton: Skeleton
    marks: Marks
    numbered: list[bool]
    titles: list[Optional[str]]
    svg_limit: int

    @cached_property
    def svg(self) -> str:
        """The drawing as one self-contained SVG element, legible on light and dark pages.

        Raises:
            TreeError: there are more nodes than ``svg_limit``.
        """
        check_size(len(self.skeleton), self.svg_limit)
        return svg_text(self.skeleton, self.marks, self.numbered, self.titles, self._about)

    @cached_property
    def text(self) -> str:
        """The drawing as text, a node a line (:mod:`dgltrees.draw.trees_text`)."""
        return "\n".join(self.lines())

    def lines(self, *, ascii_only: bool = False) -> Iterator[str]:
        """The lines of :attr:`text`, without line ends; ``ascii_only``: of ASCII characters."""
        return text_lines(self.skeleton, self.marks, self.numbered, self.titles, ascii_only)

    def save(self, path: PathLike, *, ascii_only: bool = False) -> None:
        """Write a picture to a path that ends in ``.svg``, text to one that ends in ``.txt``.

        The file is written whole or not at all.

        Raises:
            TreeError: another ending, or an SVG of too many nodes.
        """
        save_picture(self, path, ascii_only=ascii_only)

    @property
    def _about(self) -> str:
        trees, nodes = len(self.skeleton.roots), len(self.skeleton)
        return f"{trees} tree{'s' * (trees != 1)}, {nodes} node{'s' * (nodes != 1)}"

    def _repr_svg_(self) -> Optional[str]:
        """What Jupyter shows; nothing if there are too many nodes: then it shows the repr."""
        return self.svg if len(self.skeleton) <= self.svg_limit else None

    def __repr__(self) -> str:
        return (
            f"Drawing({self._about}: print it for text, .svg for a picture of up to "
            f"{self.svg_limit} nodes)"
        )

    def __str__(self) -> str:
        return self.text


def draw(
    trees: Drawable,
    tree: Optional[Union[int, Sequence[int]]] = None,
    *,
    labels: Optional[Union[str, Sequence[str]]] = None,
    values: Optional[Any] = None,
    predictions: Optional[Any] = None,
    targets: Optional[Any] = None,
    positions: str = "auto",
    titles: Optional[Sequence[str]] = None,
    vocabs: Optional[Mapping[str, Vocabulary]] = None,
    svg_limit: int = 2000,
) -> Drawing:
    """Draw trees: evaluate it in Jupyter for a picture, print it for text, ``save`` it to a file.

    All rows below stand in the order of the nodes (``N``) or trees (``T``) of ``trees``, also when
    only some of the trees are drawn. They may be sequences, arrays, or tensors on any device.

    Arguments:
        trees: a forest, a batch, or a DGL graph of trees.
        tree: draw this tree only, or these trees; all by default.
        labels: ``N`` labels, or the name of the column to take them from. By default all columns
            of names make the label (``label``, ``op``, ``word``, ``value`` and every column with
            a vocabulary; ids below 0 are left out), or else the node's number in its tree.
        values: ``(N,)`` numbers, shown on the nodes and as their colour: from light to dark, or
            around 0 in blue and red if there are both signs.
        predictions: ``(N,)`` or, for the roots, ``(T,)`` classes, shown as ``→ class``, or where
            the target is known as ``✓ class`` or ``✗ class (target)``.
        targets: ``(N,)`` or ``(T,)`` classes, shown as ``= class``; the column ``target`` by
            default. Ids of predictions and targets are named by the vocabulary ``target``, and
            one below 0 is none.
        positions: whether edges show the child's position: ``"all"``, ``"none"``, or ``"auto"``,
            under those nodes only where a child is missing before another.
        titles: ``T`` lines, each above its tree. By default trees are numbered if several are
            drawn.
        vocabs: names behind ids, by column; a batch has none of its own.
        svg_limit: the most nodes an SVG may have.

    Raises:
        TreeError: rows of the wrong length, ids outside their vocabulary, an unknown column, or
            edges that do not make trees.
        IndexError: there is no such tree.
    """
    forest = as_forest(trees, vocabs)
    if positions not in ("all", "none", "auto"):
        raise TreeError(f"expected positions to be 'all', 'none' or 'auto', got {positions!r}")
    if titles is not None and len(titles) != len(forest):
        raise TreeError(f"expected {len(forest)} titles, one a tree, got {len(titles)}")
    ids = np.arange(len(forest)) if tree is None else np.atleast_1d(np.asarray(tree, np.int64))
    columns = {"row": np.arange(forest.num_nodes)}
    chosen = Forest(forest.parent, forest.pos, forest.offsets, columns).select(ids)
    marks = make_marks(
        forest,
        chosen.columns["row"],
        labels=labels,
        targets=targets,
        predictions=predictions,
        values=values,
    )
    skeleton = Skeleton.of(chosen.global_parent, chosen.pos)
    shown = [positions == "all" or skeleton.has_gaps(v) for v in range(len(skeleton))]
    numbered = [up >= 0 and positions != "none" and shown[up] for up in skeleton.parent]
    several = len(ids) > 1
    names = [f"tree {i}" if titles is None else visible(titles[i], 120) for i in ids.tolist()]
    return Drawing(
        skeleton,
        marks,
        numbered,
        [name if several or titles is not None else None for name in names],
        svg_limit,
    )
