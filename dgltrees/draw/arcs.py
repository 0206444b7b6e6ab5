"""``draw_arcs``: dependency trees as arcs over their sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dgltrees.draw.arcs_sentence import ArcSentence
from dgltrees.draw.arcs_svg import arcs_svg
from dgltrees.draw.arcs_text import arcs_text
from dgltrees.draw.inputs import select_trees
from dgltrees.draw.labels import decode_column
from dgltrees.draw.picture import Picture
from dgltrees.errors import TreeError
from dgltrees.trees.forest import Forest
from dgltrees.trees.roots import check_roots

__all__ = ["ArcDrawing", "draw_arcs"]


@dataclass(frozen=True, repr=False)
class ArcDrawing(Picture):
    """Sentences drawn by :func:`draw_arcs`: words under arcs, or as text one word per line."""

    sentences: list[ArcSentence]
    svg_limit: int

    @property
    def _size(self) -> int:
        return sum(len(sentence.words) for sentence in self.sentences)

    @property
    def _description(self) -> str:
        count = len(self.sentences)
        return f"{count} dependency tree{'s' * (count != 1)}, {self._size} nodes"

    def _svg(self) -> str:
        return arcs_svg(self.sentences, self._description)

    def _lines(self, ascii_only: bool) -> Iterator[str]:
        return arcs_text(self.sentences, ascii_only)


def draw_arcs(
    forest: Forest,
    tree: int | Sequence[int] | None = None,
    *,
    titles: Sequence[str] | None = None,
    svg_limit: int = 2000,
) -> ArcDrawing:
    """Draw dependency trees as arcs from heads to dependents, over the words in their order.

    Evaluate it in Jupyter for a picture, print it for text, ``save`` it to a file.

    Arguments:
        forest: dependency trees with a column ``word``; node 0 of each is ROOT. Arcs are labelled
            with the column ``deprel``; the ``upos`` of a word, or else its ``xpos``, is below it.
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
    selected, nodes, selected_titles = select_trees(forest, tree, titles)
    tag = "upos" if "upos" in forest.columns else "xpos"
    columns = [
        decode_column(forest, name, forest.columns[name][nodes])
        if name in forest.columns
        else [""] * len(nodes)
        for name in ("word", "deprel", tag)
    ]
    sentences = []
    for title, start, stop in zip(selected_titles, selected.offsets, selected.offsets[1:]):
        texts = [column[start:stop] for column in columns]
        sentences.append(ArcSentence(title, selected.parent[start:stop].tolist(), *texts))
    return ArcDrawing(sentences, svg_limit)
