"""Parsed sentences as running text, each word with the brackets before it.

The trees are those of the Penn Treebank (:mod:`dgltrees.formats.mrg`), the text is that of
:mod:`dgltrees.papers.rrnet.data.running_text`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.lines import gather
from dgltrees.formats.mrg import stream_mrg
from dgltrees.papers.rrnet.data.surface import surface_trees
from dgltrees.trees.builders.sentences import chains
from dgltrees.trees.constituents import MERGES, SPLITS, constituent_counts
from dgltrees.trees.examples import Examples
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import owner
from dgltrees.trees.vocabulary import Vocabulary
from dgltrees.trees.words import END, UNKNOWN, recode

__all__ = ["read_running_trees", "stream_running_trees"]


def read_running_trees(
    path: PathLike, *, vocabs: Mapping[str, Vocabulary] | None = None
) -> Examples:
    """All sentences of a ``.mrg`` file; see :func:`stream_running_trees`."""
    return gather(stream_running_trees(path, vocabs=vocabs))


def stream_running_trees(
    path: PathLike,
    trees: int = 10_000,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Iterator[Examples]:
    """The sentences of a ``.mrg`` file as chains of words, with ``<eos>`` after the last of each.

    Words that stand for nothing in the text, with the tag ``-NONE-``, are left out. Node columns:
    ``word``, and ``merges`` and ``splits``, the sub-trees that end and then those that begin right
    before it (:mod:`dgltrees.trees.constituents`); all end before ``<eos>``. There are no
    example columns.

    Arguments:
        path: the file.
        trees: sentences per chunk.
        vocabs: see :func:`~dgltrees.papers.rrnet.data.running_text.stream_running_text`.

    Raises:
        TreeError: see :func:`~dgltrees.formats.mrg.stream_mrg`; or a sentence has no words.
    """
    words = (vocabs or {}).get("word")
    if words is None:
        words = Vocabulary([UNKNOWN, END], unknown=UNKNOWN)
    for part in stream_mrg(path, trees):
        yield _sentences(part.forest, words, path)


def _sentences(forest: Forest, words: Vocabulary, path: PathLike) -> Examples:
    forest = recode(surface_trees(forest, file=path), {"word": words})
    leaves, merges, splits = constituent_counts(forest)
    sizes = np.bincount(forest.tree_of_node[leaves], minlength=len(forest))
    ends = sizes.cumsum()
    still_open = np.bincount(owner(sizes), splits - merges, len(sizes)).astype(np.int64)
    columns = {
        "word": np.insert(forest.columns["word"][leaves], ends, words.encode([END])[0]),
        MERGES: np.insert(merges, ends, still_open),
        SPLITS: np.insert(splits, ends, 0),
    }
    try:
        return Examples(chains(sizes + 1, columns, {"word": words}))
    except TreeError as error:
        raise TreeError(error.message, file=path, tree=error.tree) from None
