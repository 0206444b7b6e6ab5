"""Dependency trees in three columns: the Natural Language Toolkit's sample of the Penn Treebank."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from dgltrees._files import PathLike
from dgltrees.formats.format import Format
from dgltrees.formats.lines import error_in
from dgltrees.formats.sentences import Sentence, blocks, head_of, stream_sentences


def dp_sentences(path: PathLike) -> Iterator[Sentence]:
    """Yield the sentences of a ``.dp`` file, with the column ``xpos``, the tag.

    A line is ``word TAB tag TAB head``; the head is the number of a word, from 1, or 0 for the
    root. A blank line ends a sentence.
    """
    error = error_in(path)
    for block in blocks(path):
        rows = [text.split("\t") for _, text in block]
        for (line, _), row in zip(block, rows):
            if len(row) != 3 or not all(map(str.strip, row)):
                raise error(
                    f"expected word TAB tag TAB head, got {len(row)} columns or an empty one", line
                )
        lines = [line for line, _ in block]
        heads = [head_of(row[2], line, error) for line, row in zip(lines, rows)]
        words, tags = [row[0] for row in rows], [row[1] for row in rows]
        yield Sentence(words, heads, {"xpos": tags}, lines, lines[0], {})


DP = Format(
    "Dependency trees, a word per line: word TAB tag TAB head.",
    partial(stream_sentences, dp_sentences, ("word", "xpos")),
    suffixes=(".dp",),
)
