"""Dependency trees as lines of text, one word per line, with the arcs at their left.

::

    ┌─  0 <root>
    │┌► 1 Ada     nsubj ← 2
    └┴► 2 counts  root ← 0

Every line ends in the label of the word's arc and the number of its head. The arcs of the lowest
``MAX_LEVELS`` levels are drawn, so lines stay short in a sentence of any length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dgltrees.draw.arcs_sentence import ArcSentence

__all__ = ["MAX_LEVELS", "arcs_text"]

MAX_LEVELS = 12

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8  # the directions in which a line leaves a character
_CHARACTERS = {False: " ??│?┘┐┤?└┌├─┴┬┼", True: " ??|?+++?+++-+++"}  # by the sum of directions
_NONE, _STROKE, _ARROW = 0, 1, 2  # how the arcs of a line end at its word
_ENDS = {False: " ─►", True: " ->"}


def arcs_text(sentences: Sequence[ArcSentence], ascii_only: bool = False) -> Iterator[str]:
    """The lines of a drawing, without line ends.

    Arguments:
        sentences: the sentences to draw.
        ascii_only: whether arcs are in ASCII; words and labels are as they are.
    """
    for i, sentence in enumerate(sentences):
        if i:
            yield ""
        if sentence.title:
            yield sentence.title
        yield from _sentence(sentence, ascii_only)


def _sentence(sentence: ArcSentence, ascii_only: bool) -> Iterator[str]:
    directions, ends = _arc_characters(sentence)
    characters, arrows = _CHARACTERS[ascii_only], _ENDS[ascii_only]
    digits = len(str(len(sentence.words) - 1))
    width = max(map(len, sentence.words))
    rows = zip(directions.tolist(), ends, sentence.words, sentence.labels, sentence.heads)
    for number, (row, end, word, label, head) in enumerate(rows):
        arcs = "".join([characters[cell] for cell in row]) + arrows[end]
        arc_name = " ".join(filter(None, (label, f"← {head}"))) if head >= 0 else ""
        yield f"{arcs} {number:>{digits}} {word:<{width}}  {arc_name}".rstrip()


def _arc_characters(sentence: ArcSentence) -> tuple[NDArray[np.uint8], list[int]]:
    """The characters left of the words.

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
