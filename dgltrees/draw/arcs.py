"""``draw_arcs``: dependency trees as arcs over their sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Optional, Union

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.draw.arcs_sentence import ArcSentence
from dgltrees.draw.arcs_svg import arcs_svg
from dgltrees.draw.arcs_text import arcs_lines
from dgltrees.draw.labels import visible
from dgltrees.draw.picture import check_size, save_picture
from dgltrees.errors import TreeError
from dgltrees.trees.dependencies.projective import check_roots
from dgltrees.trees.forest import Forest

__all__ = ["ArcDrawing", "draw_arcs"]


@dataclass(frozen=True)
class ArcDrawing:
    """Some sentences with their arcs, as SVG (what Jupyter shows) and as text (what print shows).

    Made by :func:`draw_arcs`. Both are written when they are first asked for.
    """

    sentences: list[ArcSentence]
    svg_limit: int

    @cached_property
    def svg(self) -> str:
        """The drawing as one self-contained SVG element, legible on light and dark pages.

        Raises:
            TreeError: there are more words than ``svg_limit``.
        """
        check_size(self._nodes, self.svg_limit)
        return arcs_svg(self.sentences, self._about)

    @cached_property
    def text(self) -> str:
        """The drawing as text, a word a line (:mod:`dgltrees.draw.arcs_text`)."""
        return "\n".join(self.lines())

    def lines(self, *, ascii_only: bool = False) -> Iterator[str]:
        """The lines of :attr:`text`, without line ends; ``ascii_only``: of ASCII characters."""
        return arcs_lines(self.sentences, ascii_only)

    def save(self, path: PathLike, *, ascii_only: bool = False) -> None:
        """Write a picture to a path that ends in ``.svg``, text to one that ends in ``.txt``.

        Raises:
            TreeError: another ending, or an SVG of too many words.
        """
        save_picture(self, path, ascii_only=ascii_only)

    @property
    def _nodes(self) -> int:
        return sum(len(sentence.words) for sentence in self.sentences)

    @property
    def _about(self) -> str:
        count = len(self.sentences)
        return f"{count} dependency tree{'s' * (count != 1)}, {self._nodes} nodes"

    def _repr_svg_(self) -> Optional[str]:
        """What Jupyter shows; nothing if there are too many words: then it shows the repr."""
        return self.svg if self._nodes <= self.svg_limit else None

    def __repr__(self) -> str:
        return (
            f"ArcDrawing({self._about}: print it for text, .svg for a picture of up to "
            f"{self.svg_limit} nodes)"
        )

    def __str__(self) -> str:
        return self.text


def draw_arcs(
    forest: Forest,
    tree: Optional[Union[int, Sequence[int]]] = None,
    *,
    titles: Optional[Sequence[str]] = None,
    svg_limit: int = 2000,
) -> ArcDrawing:
    """Draw dependency trees as arcs from heads to dependents, over the words in their order.

    Evaluate it in Jupyter for a picture, print it for text, ``save`` it to a file.

    Arguments:
        forest: dependency trees, node 0 ROOT. An arc is labelled with the column ``deprel``, a
            word stands over its ``upos``, or else its ``xpos``.
        tree: draw this tree only, or these trees; all by default.
        titles: ``T`` lines, each above its tree. By default trees are numbered if several are
            drawn.
        svg_limit: the most nodes an SVG may have.

    Raises:
        TreeError: node 0 of a tree is not its root, there is no column ``word``, or there are
            titles for another number of trees.
        IndexError: there is no such tree.
    """
    check_roots(forest)
    if "word" not in forest.columns:
        raise TreeError(f"expected a column 'word', got the columns {list(forest.columns)}")
    if titles is not None and len(titles) != len(forest):
        raise TreeError(f"expected {len(forest)} titles, one a tree, got {len(titles)}")
    ids = np.arange(len(forest)) if tree is None else np.atleast_1d(np.asarray(tree, np.int64))
    chosen = forest.select(ids)
    tag = "upos" if "upos" in forest.columns else "xpos"
    columns = [_names(chosen, name) for name in ("word", "deprel", tag)]
    sentences = []
    for i, (first, stop) in enumerate(zip(chosen.offsets, chosen.offsets[1:])):
        title = None if titles is None else visible(titles[ids[i]], 120)
        if title is None and len(ids) > 1:
            title = f"tree {ids[i]}"
        parts = [column[first:stop] for column in columns]
        sentences.append(ArcSentence(title, chosen.parent[first:stop].tolist(), *parts))
    return ArcDrawing(sentences, svg_limit)


def _names(forest: Forest, name: str) -> list[str]:
    """A column as text, empty where it has no name or there is no such column."""
    if name not in forest.columns:
        return [""] * forest.num_nodes
    ids: NDArray[np.generic] = forest.columns[name]
    if name not in forest.vocabs:
        return [visible(str(i)) for i in ids.tolist()]
    names = forest.vocabs[name].names
    return [visible(names[i]) if i >= 0 else "" for i in ids.tolist()]
