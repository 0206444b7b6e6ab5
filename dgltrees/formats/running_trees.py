"""Parsed sentences as running text, each word with the brackets before it.

The trees are those of the Penn Treebank (:mod:`dgltrees.formats.mrg`), the text is that of
:mod:`dgltrees.formats.running_text`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.mrg import read_mrg
from dgltrees.trees.builders.chains import chains
from dgltrees.trees.builders.surface import surface_trees
from dgltrees.trees.examples import Examples
from dgltrees.trees.operations import MERGES, SPLITS, constituent_counts
from dgltrees.trees.segments import owner
from dgltrees.trees.vocabulary import Vocabulary
from dgltrees.trees.words import END, UNKNOWN, recode

__all__ = ["read_running_trees"]


def read_running_trees(
    path: PathLike, *, vocabs: Optional[Mapping[str, Vocabulary]] = None
) -> Examples:
    """The sentences of a ``.mrg`` file as chains of words, with ``<eos>`` after the last of each.

    Words that stand for nothing in the text, with the tag ``-NONE-``, are left out. Node columns:
    ``word``, and ``merges`` and ``splits``, the sub-trees that end and then those that begin right
    before it (:mod:`dgltrees.trees.operations.words`); all end before ``<eos>``. There are no
    example columns.

    Arguments:
        path: the file.
        vocabs: see :func:`~dgltrees.formats.running_text.stream_running_text`.

    Raises:
        TreeError: see :func:`~dgltrees.formats.mrg.stream_mrg`; or a sentence has no words.
    """
    words = (vocabs or {}).get("word")
    if words is None:
        words = Vocabulary([UNKNOWN, END], unknown=UNKNOWN)
    forest = surface_trees(read_mrg(path).forest, file=path)
    forest = recode(forest, {"word": words})
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
