"""Dependency trees as SVG: words in a row, an arc from each head to each of its dependents.

Arcs leave and enter a word side by side, the longer ones further inside, so that arcs of a
projective tree never cross. Words stand so far apart that every label fits between its arc's ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from dgltrees.draw.arcs_sentence import ArcSentence
from dgltrees.draw.canvas import DETAIL, LABEL, LINE, PADDING, TITLE
from dgltrees.draw.colors import GREY, INNER, LEAF
from dgltrees.draw.fonts import FONT, text_width
from dgltrees.draw.trees_svg import words_at

__all__ = ["arcs_svg"]

_MARGIN, _BETWEEN = 8.0, 28.0  # around the page, between sentences
_SIDES, _GAP = 9.0, 14.0  # free space beside a text in its box, between two boxes
_PORT = 7.0  # between the ends of two arcs at one word
_RISE, _LOWEST = 20.0, 24.0  # from one level of arcs to the next, up to the first
_CORNER = 6.0
_TIP = 4.0  # half the width of an arrow's tip


def arcs_svg(sentences: Sequence[ArcSentence], about: str) -> str:
    """The picture, with a group of class ``node`` a word and a path of class ``edge`` an arc.

    Arguments:
        sentences: they stand below each other.
        about: what a screen reader says of the picture.
    """
    body: list[str] = []
    top, width = _MARGIN, 0.0
    for sentence in sentences:
        if sentence.title:
            body.append(
                words_at(sentence.title, _MARGIN, top + TITLE, TITLE, GREY, ' text-anchor="start"')
            )
            top += LINE[TITLE]
            width = max(width, _MARGIN + text_width(sentence.title, TITLE))
        row = _Row(sentence)
        base = top + _LOWEST + _RISE * max(sentence.levels)
        body += row.lines(base)
        top = base + row.height + _BETWEEN
        width = max(width, row.width)
    width, height = width + _MARGIN, top - _BETWEEN + _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label={quoteattr(about)}>',
        f'<g font-family="{FONT}" text-anchor="middle">',
        *body,
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


class _Row:
    """Where the words of a sentence and the ends of its arcs stand."""

    def __init__(self, sentence: ArcSentence) -> None:
        self.sentence = sentence
        n = len(sentence.words)
        self.ports = _ports(sentence.heads)
        self.widths = [
            max(
                text_width(word, LABEL) + 2 * _SIDES,
                text_width(tag, DETAIL) + 2 * _SIDES,
                _PORT * (len(ports) + 1),
            )
            for word, tag, ports in zip(sentence.words, sentence.tags, self.ports)
        ]
        self.height = 2 * PADDING + LINE[LABEL] + LINE[DETAIL] * any(sentence.tags)
        to_left: list[list[int]] = [[] for _ in range(n)]  # arcs, named by their dependents
        for node, head in enumerate(sentence.heads):
            if head >= 0:
                to_left[max(node, head)].append(node)
        self.middles: list[float] = []
        for i in range(n):
            left = self.middles[-1] + self.widths[i - 1] / 2 + _GAP if i else _MARGIN
            self.middles.append(left + self.widths[i] / 2)
            for node in to_left[i]:
                first, last = self.ends(node)
                room = text_width(sentence.labels[node], DETAIL) + 2 * _CORNER
                self.middles[i] += max(0.0, room - (last - first))
        self.width = self.middles[-1] + self.widths[-1] / 2

    def ends(self, node: int) -> tuple[float, float]:
        """The left and the right end of the arc into a node."""
        head = self.sentence.heads[node]
        first, last = sorted((self._end(node, node), self._end(head, node)))
        return first, last

    def _end(self, at: int, node: int) -> float:
        """Where the arc into ``node`` meets the word ``at``."""
        ports = self.ports[at]
        return self.middles[at] + _PORT * (ports[node] - (len(ports) - 1) / 2)

    def lines(self, base: float) -> Iterator[str]:
        """The SVG of the sentence; the boxes of the words hang from ``base``."""
        sentence = self.sentence
        for node, head in enumerate(sentence.heads):
            if head >= 0:
                yield from self._arc(node, base)
        for word, tag, middle, width, head in zip(
            sentence.words, sentence.tags, self.middles, self.widths, sentence.heads
        ):
            paint = LEAF if head >= 0 else INNER
            yield f'<g class="node"><title>{escape(" ".join(filter(None, (word, tag))))}</title>'
            yield (
                f'<rect x="{middle - width / 2:.1f}" y="{base:.1f}" width="{width:.1f}" '
                f'height="{self.height:.1f}" rx="{_CORNER}" fill="{paint.fill}" '
                f'stroke="{paint.border}" stroke-width="1.2"/>'
            )
            below = base + PADDING + 0.75 * LINE[LABEL]
            yield words_at(word, middle, below, LABEL, paint.text, ' font-weight="600"')
            if tag:
                yield words_at(tag, middle, below + LINE[DETAIL], DETAIL, paint.text)
            yield "</g>"

    def _arc(self, node: int, base: float) -> Iterator[str]:
        """An arc with its tip and its label above it."""
        first, last = self.ends(node)
        top = base - _RISE * self.sentence.levels[node]
        bend, tip = min(_CORNER, (last - first) / 2), self._end(node, node)
        yield (
            f'<path class="edge" fill="none" stroke="{GREY}" stroke-width="1.4" '
            f'd="M{first:.1f} {base:.1f}V{top + bend:.1f}q0 -{bend:.1f} {bend:.1f} -{bend:.1f}'
            f'H{last - bend:.1f}q{bend:.1f} 0 {bend:.1f} {bend:.1f}V{base:.1f}"/>'
        )
        yield (
            f'<path class="tip" fill="{GREY}" d="M{tip:.1f} {base:.1f}'
            f'l-{_TIP} -{2 * _TIP}h{2 * _TIP}z"/>'
        )
        label = self.sentence.labels[node]
        if label:
            yield words_at(label, (first + last) / 2, top - 4, DETAIL, GREY, ' class="label"')


def _ports(heads: Sequence[int]) -> list[dict[int, int]]:
    """Of each word, the places of its arcs from left to right, an arc named by its dependent.

    Arcs to the left come first, the shortest of them leftmost; of those to the right the shortest
    is rightmost.
    """
    others: list[list[tuple[bool, int, int]]] = [[] for _ in heads]
    for node, head in enumerate(heads):
        if head < 0:
            continue
        for at, other in ((node, head), (head, node)):
            length = abs(node - head)
            others[at].append((other > at, length if other < at else -length, node))
    return [{node: i for i, (_, _, node) in enumerate(sorted(arcs))} for arcs in others]
