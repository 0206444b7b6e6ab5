"""Dependency trees as lines of text, a word a line, with the arcs at their left.

::

    ┌─  0 <root>
    │┌► 1 Ada     nsubj ← 2
    └┴► 2 counts  root ← 0

Every line names its head by number. The arcs of the lowest ``HIGHEST`` levels are drawn, so lines
stay short in a sentence of any length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dgltrees.draw.arcs_sentence import ArcSentence
from dgltrees.draw.trees_text import escaped

__all__ = ["HIGHEST", "arcs_lines"]

HIGHEST = 12

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8  # which ways a line leaves a character
_BOXES = {False: " ??│?┘┐┤?└┌├─┴┬┼", True: " ??|?+++?+++-+++"}  # by the sum of its ways
_ENDS = {False: " ─►", True: " ->"}


def arcs_lines(sentences: Sequence[ArcSentence], ascii_only: bool = False) -> Iterator[str]:
    """The lines of a drawing, without line ends.

    Arguments:
        sentences: what to draw.
        ascii_only: whether to do without box-drawing and other characters outside ASCII.
    """
    for i, sentence in enumerate(sentences):
        if i:
            yield ""
        if sentence.title:
            yield escaped(sentence.title) if ascii_only else sentence.title
        yield from _sentence(sentence, ascii_only)


def _sentence(sentence: ArcSentence, ascii_only: bool) -> Iterator[str]:
    ways, ends = _cells(sentence)
    boxes, tips = _BOXES[ascii_only], _ENDS[ascii_only]
    digits = len(str(len(sentence.words) - 1))
    width = max(map(len, sentence.words))
    rows = zip(ways.tolist(), ends, sentence.words, sentence.labels, sentence.heads)
    for number, (row, end, word, label, head) in enumerate(rows):
        arcs = "".join([boxes[cell] for cell in row]) + tips[end]
        named = " ".join(filter(None, (label, f"← {head}"))) if head >= 0 else ""
        line = f"{arcs} {number:>{digits}} {word:<{width}}  {named}".rstrip()
        yield escaped(line) if ascii_only else line


def _cells(sentence: ArcSentence) -> tuple[NDArray[np.uint8], list[int]]:
    """``(n, levels)`` the ways of each character, high arcs left; and how each line ends.

    A line ends in nothing (0), a stroke (1) or the tip of an arrow (2).
    """
    high = min(HIGHEST, max(sentence.levels))
    ways = np.zeros((len(sentence.words), high), np.uint8)
    ends = [0] * len(sentence.words)
    for node, (head, level) in enumerate(zip(sentence.heads, sentence.levels)):
        if not 0 < level <= high:
            continue
        top, bottom, column = min(head, node), max(head, node), high - level
        ways[top, column] |= _DOWN | _RIGHT
        ways[bottom, column] |= _UP | _RIGHT
        ways[top + 1 : bottom, column] |= _UP | _DOWN
        ways[[top, bottom], column + 1 :] |= _LEFT | _RIGHT
        ends[node] = 2
        ends[head] = max(ends[head], 1)
    return ways, ends
