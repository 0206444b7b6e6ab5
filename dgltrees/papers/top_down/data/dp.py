"""Dependency trees in three columns: the Natural Language Toolkit's sample of the Penn Treebank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.format import Format
from dgltrees.formats.sentences import Sentence, blocks, head_of, stream_sentences
from dgltrees.trees.examples import Examples
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["DP", "stream_dp"]


def stream_dp(
    paths: PathLike | Sequence[PathLike],
    trees: int = 10_000,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    lower: bool = False,
    max_words: int | None = None,
    single_root: bool = True,
) -> Iterator[Examples]:
    """The sentences of one or several ``.dp`` files as dependency trees, ``trees`` at a time.

    A line is ``word TAB tag TAB head``; the head is the number of a word, from 1, or 0 for the
    root. A blank line ends a sentence.

    Node columns: ``word`` and ``xpos``, the tag. See :func:`~dgltrees.formats.stream_conllu` for
    the trees, the arguments and the errors.
    """
    return stream_sentences(
        _dp_sentences,
        ("word", "xpos"),
        paths,
        trees,
        vocabs=vocabs,
        lower=lower,
        max_words=max_words,
        single_root=single_root,
    )


def _dp_sentences(path: PathLike) -> Iterator[Sentence]:
    for block in blocks(path):
        rows = [text.split("\t") for _, text in block]
        for (line, _), row in zip(block, rows):
            if len(row) != 3 or not all(map(str.strip, row)):
                raise TreeError(
                    f"expected word TAB tag TAB head, got {len(row)} columns or an empty one",
                    file=path,
                    line=line,
                )
        lines = [line for line, _ in block]
        heads = [head_of(row[2], path, line) for line, row in zip(lines, rows)]
        words, tags = [row[0] for row in rows], [row[1] for row in rows]
        yield Sentence(words, heads, {"xpos": tags}, lines, lines[0], {})


DP = Format(
    "Dependency trees, a word per line: word TAB tag TAB head.",
    partial(stream_dp, single_root=False),
    suffixes=(".dp",),
    dependencies=True,
)
