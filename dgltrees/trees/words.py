"""Words with a meaning of their own, and vocabularies without rare words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dgltrees.errors import TreeError
from dgltrees.trees.dependencies import ROOT
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["END", "UNKNOWN", "frequent_words", "recode"]

UNKNOWN = "<unk>"
"""The unknown word: stands for all words that a vocabulary lacks."""

END = "<eos>"
"""The word at the end of each line of running text."""


def frequent_words(
    forests: Iterable[Forest],
    min_count: int,
    *,
    column: str = "word",
    keep: Sequence[str] = (ROOT,),
) -> Vocabulary:
    """A frozen vocabulary of the words that stand at ``min_count`` nodes or more, and ``<unk>``.

    The words are in the order of the vocabulary they come from.

    Arguments:
        forests: they are counted one by one, so they may come from a stream; they share one
            vocabulary.
        min_count: the least count of a word.
        column: the column of the words.
        keep: words that stay however rare.

    Raises:
        TreeError: there is no forest, no such vocabulary, or another one.
    """
    counts = np.zeros(0, np.int64)
    vocab = None
    for forest in forests:
        if column not in forest.vocabs or (vocab or forest.vocabs[column]) != forest.vocabs[column]:
            raise TreeError(
                f"expected forests that share a vocabulary {column!r}, got one with the "
                f"vocabularies {list(forest.vocabs)}; read them with shared vocabularies"
            )
        vocab = forest.vocabs[column]
        ids = forest.columns[column]
        found = np.bincount(ids[ids >= 0], minlength=len(vocab))
        found[: len(counts)] += counts
        counts = found
    if vocab is None:
        raise TreeError("expected at least one forest, got none")
    names = [n for n, count in zip(vocab.names, counts) if count >= min_count or n in keep]
    return Vocabulary(names, unknown=UNKNOWN, frozen=True)


def recode(forest: Forest, vocabs: Mapping[str, Vocabulary], *, lower: bool = False) -> Forest:
    """The same forest with ids from other vocabularies.

    Arguments:
        vocabs: the new vocabularies, by column; the other columns stay as they are.
        lower: whether to turn the words to lower case.

    Raises:
        TreeError: a column has no vocabulary so far, or a name of it is not in the new one, which
            is frozen and has no name for the unknown.
    """
    columns = dict(forest.columns)
    for name, vocab in vocabs.items():
        if name not in forest.vocabs:
            raise TreeError(f"expected a vocabulary {name!r}, got {list(forest.vocabs)}")
        ids = columns[name]
        used = np.unique(ids[ids >= 0])
        new = np.full(len(forest.vocabs[name]) + 1, -1, np.int32)  # the last row is for none
        names = forest.vocabs[name].decode(used)
        if lower and name == "word":
            names = [word.lower() for word in names]
        new[used] = vocab.encode(names)
        columns[name] = new[ids]
    return Forest(forest.parent, forest.pos, forest.offsets, columns, {**forest.vocabs, **vocabs})
