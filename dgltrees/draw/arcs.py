"""``draw_arcs``: dependency trees as arcs over the words of their sentences.

In SVG the words are in a row. The arcs of a word end next to each other above it, longer arcs
nearer to its centre, so the arcs of a projective tree never cross. Words are spaced so that every
label fits between the ends of its arc.

Text has one word per line, with the arcs at their left::

    ┌─  0 <root>
    │┌► 1 Ada     nsubj ← 2
    └┴► 2 counts  root ← 0

Every line ends in the label of the word's arc and the number of its head. Only the arcs of the
lowest ``MAX_LEVELS`` levels are drawn, so lines are short in a sentence of any length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dgltrees.draw import svg
from dgltrees.draw.labels import decode_column, select_trees
from dgltrees.draw.picture import Picture
from dgltrees.errors import TreeError
from dgltrees.trees.check import check_roots
from dgltrees.trees.forest import Forest

MAX_LEVELS = 12

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8  # the directions in which a line leaves a character
_CHARACTERS = {False: " ??│?┘┐┤?└┌├─┴┬┼", True: " ??|?+++?+++-+++"}  # by the sum of directions
_NONE, _STROKE, _ARROW = 0, 1, 2  # how the arcs of a line end at its word
_ENDS = {False: " ─►", True: " ->"}

_SENTENCE_GAP, _WORD_GAP = 28.0, 14.0
_ARC_GAP = 7.0  # between the ends of two arcs at one word
_LEVEL_HEIGHT, _FIRST_LEVEL = 20.0, 24.0  # from one level of arcs to the next, up to the first
_RADIUS = 6.0
_TIP = 4.0  # half the width of an arrow's tip


@dataclass(frozen=True)
class ArcSentence:
    """The ``n`` nodes of a dependency tree, ROOT and then the words in their order.

    Arguments:
        title: the line above, if any.
        heads: ``n`` heads, -1 at ROOT.
        words: ``n`` strings.
        labels: ``n`` labels of the arcs into the nodes, such as dependency relations.
        tags: ``n`` strings below the words, such as parts of speech.
    """

    title: str | None
    heads: list[int]
    words: list[str]
    labels: list[str]
    tags: list[str]

    @property
    def arcs(self) -> Iterator[tuple[int, int]]:
        """The nodes except ROOT, each with its head."""
        return ((node, head) for node, head in enumerate(self.heads) if head >= 0)

    @cached_property
    def levels(self) -> list[int]:
        """``n`` heights of the arcs into the nodes, from 1; 0 at ROOT.

        From short arcs to long ones, each arc is above all earlier arcs that it overlaps.
        """
        levels = [0] * len(self.heads)
        heights = np.zeros(len(self.heads), np.int32)  # of the highest arc so far over each gap
        spans = [(abs(head - node), min(head, node), node) for node, head in self.arcs]
        for length, start, node in sorted(spans):
            gaps = heights[start : start + length]
            levels[node] = int(gaps.max()) + 1
            gaps[:] = levels[node]
        return levels


@dataclass(frozen=True, repr=False)
class ArcDrawing(Picture):
    """A drawing of sentences by :func:`draw_arcs`: words under arcs, or one word per line of text.

    The SVG has a group of class ``node`` per word and a path of class ``edge`` per arc.
    """

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
        elements: list[str] = []
        top, width = svg.MARGIN, 0.0
        for sentence in self.sentences:
            if sentence.title:
                elements.append(svg.title(sentence.title, svg.MARGIN, top + svg.TITLE))
                top += svg.LINE_HEIGHT[svg.TITLE]
                width = max(width, svg.MARGIN + svg.text_width(sentence.title, svg.TITLE))
            row = _Row(sentence)
            base = top + _FIRST_LEVEL + _LEVEL_HEIGHT * max(sentence.levels)
            elements += row.elements(base)
            top = base + row.height + _SENTENCE_GAP
            width = max(width, row.width)
        height = top - _SENTENCE_GAP + svg.MARGIN
        return svg.document(elements, width + svg.MARGIN, height, self._description)

    def _lines(self, ascii_only: bool) -> Iterator[str]:
        characters, arrows = _CHARACTERS[ascii_only], _ENDS[ascii_only]
        for i, sentence in enumerate(self.sentences):
            if i:
                yield ""
            if sentence.title:
                yield sentence.title
            directions, ends = _arc_characters(sentence)
            digits = len(str(len(sentence.words) - 1))
            width = max(map(len, sentence.words))
            rows = zip(directions.tolist(), ends, sentence.words, sentence.labels, sentence.heads)
            for number, (row, end, word, label, head) in enumerate(rows):
                arcs = "".join([characters[cell] for cell in row]) + arrows[end]
                arc_name = " ".join(filter(None, (label, f"← {head}"))) if head >= 0 else ""
                yield f"{arcs} {number:>{digits}} {word:<{width}}  {arc_name}".rstrip()


def draw_arcs(
    forest: Forest,
    tree: int | Sequence[int] | None = None,
    *,
    titles: Sequence[str] | None = None,
    svg_limit: int = 2000,
) -> ArcDrawing:
    """Draw dependency trees as arcs from heads to dependents, over the words in their order.

    Jupyter shows the drawing as a picture, ``print`` as text, and its method ``save`` writes a
    file.

    Arguments:
        forest: dependency trees with a column ``word``; node 0 of each is ROOT. Arcs are labelled
            with the column ``deprel``; the ``upos`` of a word, or else its ``xpos``, is below it.
        tree: the index or indices of the trees to draw; default: all.
        titles: ``T`` lines, each above its tree. By default trees are numbered if several are
            drawn.
        svg_limit: the largest number of nodes in an SVG.

    Returns:
        the drawing.

    Raises:
        TreeError: node 0 of a tree is not its root, there is no column ``word``, or the numbers of
            titles and trees differ.
        IndexError: a tree does not exist.

    Example:
        >>> from dgltrees.trees.builders import from_heads
        >>> print(draw_arcs(from_heads(["Ada", "counts"], [2, 0])))
        ┌── 0 <root>
        │┌► 1 Ada     ← 2
        └┴► 2 counts  ← 0
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


class _Row:
    """The horizontal positions of the words of a sentence and of the ends of its arcs."""

    def __init__(self, sentence: ArcSentence) -> None:
        self.sentence = sentence
        self.ranks = _arc_ranks(sentence)
        self.widths = [
            max(
                svg.text_width(word, svg.LABEL) + 2 * svg.TEXT_MARGIN,
                svg.text_width(tag, svg.DETAIL) + 2 * svg.TEXT_MARGIN,
                _ARC_GAP * (len(ranks) + 1),
            )
            for word, tag, ranks in zip(sentence.words, sentence.tags, self.ranks)
        ]
        self.height = 2 * svg.PADDING + svg.LINE_HEIGHT[svg.LABEL]
        self.height += svg.LINE_HEIGHT[svg.DETAIL] * any(sentence.tags)
        closed_at: list[list[int]] = [[] for _ in sentence.words]  # arcs, by their right end
        for node, head in sentence.arcs:
            closed_at[max(node, head)].append(node)
        self.middles: list[float] = []
        for i, arcs in enumerate(closed_at):
            left = self.middles[-1] + self.widths[i - 1] / 2 + _WORD_GAP if i else svg.MARGIN
            self.middles.append(left + self.widths[i] / 2)
            for node in arcs:
                start, stop = self.ends(node)
                label_width = svg.text_width(sentence.labels[node], svg.DETAIL) + 2 * _RADIUS
                self.middles[i] += max(0.0, label_width - (stop - start))
        self.width = self.middles[-1] + self.widths[-1] / 2

    def ends(self, node: int) -> list[float]:
        """Return the left and the right end of the arc into ``node``."""
        return sorted((self._end(node, node), self._end(self.sentence.heads[node], node)))

    def _end(self, word: int, node: int) -> float:
        """Return the horizontal position at which the arc into ``node`` ends in ``word``."""
        ranks = self.ranks[word]
        return self.middles[word] + _ARC_GAP * (ranks[node] - (len(ranks) - 1) / 2)

    def elements(self, base: float) -> Iterator[str]:
        """Iterate over the SVG of the sentence; ``base`` is the upper edge of its words' boxes."""
        for node, _ in self.sentence.arcs:
            yield from self._arc(node, base)
        for node in range(len(self.sentence.words)):
            yield self._word(node, base)

    def _word(self, node: int, base: float) -> str:
        """Return a box with a word and its tag."""
        word, tag = self.sentence.words[node], self.sentence.tags[node]
        middle, width = self.middles[node], self.widths[node]
        paint = svg.LEAF if self.sentence.heads[node] >= 0 else svg.INNER
        base_line = base + svg.PADDING + 0.75 * svg.LINE_HEIGHT[svg.LABEL]
        elements = [
            svg.box(middle - width / 2, base, width, self.height, _RADIUS, paint),
            svg.text(word, middle, base_line, svg.LABEL, paint.text, svg.BOLD),
        ]
        if tag:
            tag_line = base_line + svg.LINE_HEIGHT[svg.DETAIL]
            elements.append(svg.text(tag, middle, tag_line, svg.DETAIL, paint.text))
        return svg.group(elements, 'class="node"', " ".join(filter(None, (word, tag))))

    def _arc(self, node: int, base: float) -> Iterator[str]:
        """Iterate over the SVG of the arc into ``node``, with its tip and its label above it."""
        start, stop = self.ends(node)
        top = base - _LEVEL_HEIGHT * self.sentence.levels[node]
        bend, tip = min(_RADIUS, (stop - start) / 2), self._end(node, node)
        yield (
            f'<path class="edge" fill="none" stroke="{svg.GREY}" stroke-width="1.4" '
            f'd="M{start:.1f} {base:.1f}V{top + bend:.1f}q0 -{bend:.1f} {bend:.1f} -{bend:.1f}'
            f'H{stop - bend:.1f}q{bend:.1f} 0 {bend:.1f} {bend:.1f}V{base:.1f}"/>'
        )
        yield (
            f'<path class="tip" fill="{svg.GREY}" d="M{tip:.1f} {base:.1f}'
            f'l-{_TIP} -{2 * _TIP}h{2 * _TIP}z"/>'
        )
        label, middle = self.sentence.labels[node], (start + stop) / 2
        if label:
            yield svg.text(label, middle, top - 4, svg.DETAIL, svg.GREY, ' class="label"')


def _arc_ranks(sentence: ArcSentence) -> list[dict[int, int]]:
    """Return, for each word, the left-to-right rank of every arc that ends in it, by its dependent.

    Arcs to the left come first, the shortest of them leftmost; of those to the right the shortest
    is rightmost.
    """
    ends: list[list[tuple[bool, int, int]]] = [[] for _ in sentence.heads]
    for node, head in sentence.arcs:
        for word, other in ((node, head), (head, node)):
            length = abs(node - head)
            ends[word].append((other > word, length if other < word else -length, node))
    return [{node: i for i, (_, _, node) in enumerate(sorted(arcs))} for arcs in ends]


def _arc_characters(sentence: ArcSentence) -> tuple[NDArray[np.uint8], list[int]]:
    """Return the characters left of the words.

    Returns:
        the directions of each character's strokes, ``(n, levels)``, high arcs at the left; and the
        ends of the ``n`` lines: ``_NONE``, ``_STROKE`` at heads, ``_ARROW`` at dependents.
    """
    num_levels = min(MAX_LEVELS, max(sentence.levels))
    directions = np.zeros((len(sentence.words), num_levels), np.uint8)
    ends = [_NONE] * len(sentence.words)
    for node, (head, level) in enumerate(zip(sentence.heads, sentence.levels)):
        if not 0 < level <= num_levels:
            continue
        top, bottom, column = min(head, node), max(head, node), num_levels - level
        directions[top, column] |= _DOWN | _RIGHT
        directions[bottom, column] |= _UP | _RIGHT
        directions[top + 1 : bottom, column] |= _UP | _DOWN
        directions[[top, bottom], column + 1 :] |= _LEFT | _RIGHT
        ends[node] = _ARROW
        ends[head] = max(ends[head], _STROKE)
    return directions, ends
