"""Dependency trees as SVG: words in a row, an arc from each head to each of its dependents.

The arcs of a word end side by side above it, longer arcs nearer its centre, so that the arcs of a
projective tree never cross. Words are spaced so that every label fits between the ends of its arc.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dgltrees.draw.arcs_sentence import ArcSentence
from dgltrees.draw.canvas import PADDING, TEXT_MARGIN
from dgltrees.draw.colors import GREY, INNER, LEAF
from dgltrees.draw.fonts import DETAIL, LABEL, LINE_HEIGHT, TITLE, text_width
from dgltrees.draw.svg import (
    MARGIN,
    box_element,
    group,
    svg_document,
    text_element,
    text_group,
    title_element,
)

__all__ = ["arcs_svg"]

_SENTENCE_GAP, _WORD_GAP = 28.0, 14.0
_ARC_GAP = 7.0  # between the ends of two arcs at one word
_LEVEL_HEIGHT, _FIRST_LEVEL = 20.0, 24.0  # from one level of arcs to the next, up to the first
_RADIUS = 6.0
_TIP = 4.0  # half the width of an arrow's tip


def arcs_svg(sentences: Sequence[ArcSentence], description: str) -> str:
    """The picture, with a group of class ``node`` per word and a path of class ``edge`` per arc.

    Arguments:
        sentences: drawn below each other.
        description: the text for screen readers.
    """
    elements: list[str] = []
    top, width = MARGIN, 0.0
    for sentence in sentences:
        if sentence.title:
            elements.append(title_element(sentence.title, MARGIN, top + TITLE))
            top += LINE_HEIGHT[TITLE]
            width = max(width, MARGIN + text_width(sentence.title, TITLE))
        row = _Row(sentence)
        base = top + _FIRST_LEVEL + _LEVEL_HEIGHT * max(sentence.levels)
        elements += row.elements(base)
        top = base + row.height + _SENTENCE_GAP
        width = max(width, row.width)
    height = top - _SENTENCE_GAP + MARGIN
    return svg_document(text_group(elements), width + MARGIN, height, description)


class _Row:
    """The horizontal positions of the words of a sentence and of the ends of its arcs."""

    def __init__(self, sentence: ArcSentence) -> None:
        self.sentence = sentence
        self.ranks = _arc_ranks(sentence.heads)
        self.widths = [
            max(
                text_width(word, LABEL) + 2 * TEXT_MARGIN,
                text_width(tag, DETAIL) + 2 * TEXT_MARGIN,
                _ARC_GAP * (len(ranks) + 1),
            )
            for word, tag, ranks in zip(sentence.words, sentence.tags, self.ranks)
        ]
        self.height = 2 * PADDING + LINE_HEIGHT[LABEL] + LINE_HEIGHT[DETAIL] * any(sentence.tags)
        closed_at: list[list[int]] = [[] for _ in sentence.words]  # arcs, by their right end
        for node, head in enumerate(sentence.heads):
            if head >= 0:
                closed_at[max(node, head)].append(node)
        self.middles: list[float] = []
        for i, arcs in enumerate(closed_at):
            left = self.middles[-1] + self.widths[i - 1] / 2 + _WORD_GAP if i else MARGIN
            self.middles.append(left + self.widths[i] / 2)
            for node in arcs:
                start, stop = self.ends(node)
                label_width = text_width(sentence.labels[node], DETAIL) + 2 * _RADIUS
                self.middles[i] += max(0.0, label_width - (stop - start))
        self.width = self.middles[-1] + self.widths[-1] / 2

    def ends(self, node: int) -> tuple[float, float]:
        """The left and the right end of the arc into ``node``."""
        head = self.sentence.heads[node]
        start, stop = sorted((self._end(node, node), self._end(head, node)))
        return start, stop

    def _end(self, word: int, node: int) -> float:
        """The horizontal position at which the arc into ``node`` ends in ``word``."""
        ranks = self.ranks[word]
        return self.middles[word] + _ARC_GAP * (ranks[node] - (len(ranks) - 1) / 2)

    def elements(self, base: float) -> Iterator[str]:
        """The SVG of the sentence; ``base`` is the upper edge of its words' boxes."""
        for node, head in enumerate(self.sentence.heads):
            if head >= 0:
                yield from self._arc(node, base)
        for node in range(len(self.sentence.words)):
            yield from self._word(node, base)

    def _word(self, node: int, base: float) -> Iterator[str]:
        """A box with a word and its tag."""
        word, tag = self.sentence.words[node], self.sentence.tags[node]
        middle, width = self.middles[node], self.widths[node]
        paint = LEAF if self.sentence.heads[node] >= 0 else INNER
        base_line = base + PADDING + 0.75 * LINE_HEIGHT[LABEL]
        elements = [
            box_element(middle - width / 2, base, width, self.height, _RADIUS, paint),
            text_element(word, middle, base_line, LABEL, paint.text, more=' font-weight="600"'),
        ]
        if tag:
            tag_line = base_line + LINE_HEIGHT[DETAIL]
            elements.append(text_element(tag, middle, tag_line, DETAIL, paint.text))
        return group("node", " ".join(filter(None, (word, tag))), elements)

    def _arc(self, node: int, base: float) -> Iterator[str]:
        """The arc into ``node``, with its tip and with its label above it."""
        start, stop = self.ends(node)
        top = base - _LEVEL_HEIGHT * self.sentence.levels[node]
        bend, tip = min(_RADIUS, (stop - start) / 2), self._end(node, node)
        yield (
            f'<path class="edge" fill="none" stroke="{GREY}" stroke-width="1.4" '
            f'd="M{start:.1f} {base:.1f}V{top + bend:.1f}q0 -{bend:.1f} {bend:.1f} -{bend:.1f}'
            f'H{stop - bend:.1f}q{bend:.1f} 0 {bend:.1f} {bend:.1f}V{base:.1f}"/>'
        )
        yield (
            f'<path class="tip" fill="{GREY}" d="M{tip:.1f} {base:.1f}'
            f'l-{_TIP} -{2 * _TIP}h{2 * _TIP}z"/>'
        )
        label = self.sentence.labels[node]
        if label:
            yield text_element(
                label, (start + stop) / 2, top - 4, DETAIL, GREY, more=' class="label"'
            )


def _arc_ranks(heads: Sequence[int]) -> list[dict[int, int]]:
    """For each word, the left-to-right rank of every arc that ends in it, by the arc's dependent.

    Arcs to the left come first, the shortest of them leftmost; of those to the right the shortest
    is rightmost.
    """
    ends: list[list[tuple[bool, int, int]]] = [[] for _ in heads]
    for node, head in enumerate(heads):
        if head < 0:
            continue
        for word, other in ((node, head), (head, node)):
            length = abs(node - head)
            ends[word].append((other > word, length if other < word else -length, node))
    return [{node: i for i, (_, _, node) in enumerate(sorted(arcs))} for arcs in ends]
