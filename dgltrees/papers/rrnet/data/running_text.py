"""Running text for language models: lines of words, or parsed sentences.

Mikolov, Karafiát, Burget, Černocký and Khudanpur, "Recurrent neural network based language model"
(INTERSPEECH 2010), have the Penn Treebank in the first form. The second has the trees of the format
``mrg``, with the brackets before each word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.format import Format
from dgltrees.formats.lines import chunks
from dgltrees.formats.mrg import MRG
from dgltrees.formats.text import sentences_of_lines
from dgltrees.trees.builders.sentences import chains
from dgltrees.trees.constituents import MERGES, SPLITS, constituent_counts, surface_trees
from dgltrees.trees.forest import Forest
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.segments import owner
from dgltrees.trees.vocabulary import Vocabulary
from dgltrees.trees.words import END, UNKNOWN, recode


def stream_running_text(
    path: PathLike, trees: int = 10_000, *, vocabs: Mapping[str, Vocabulary] | None = None
) -> Iterator[LabeledTrees]:
    """Yield the lines of a file as chains of words, ``trees`` lines at a time.

    Words are separated by spaces; the word ``<eos>`` follows the last one of a line, unless the
    line has it. Lines without words are skipped. Node column: ``word``. Example column: ``line``.
    """
    words = (vocabs or {}).get("word", Vocabulary([UNKNOWN, END], unknown=UNKNOWN))
    for chunk in chunks(sentences_of_lines(path), trees):
        lines = [_ended(sentence.words) for sentence in chunk]
        ids = words.encode(list(chain.from_iterable(lines)))
        forest = chains([len(line) for line in lines], {"word": ids}, {"word": words})
        yield LabeledTrees(forest, {"line": np.array([each.line for each in chunk])})


def _ended(words: Sequence[str]) -> list[str]:
    return [*words, *[END] * (words[-1] != END)]


def stream_running_trees(
    path: PathLike, trees: int = 10_000, *, vocabs: Mapping[str, Vocabulary] | None = None
) -> Iterator[LabeledTrees]:
    """Yield the sentences of a ``.mrg`` file as chains of words, each ending with ``<eos>``.

    Words with the tag ``-NONE-``, which are not in the text, are skipped. Node columns: ``word``,
    and ``merges`` and ``splits``, the numbers of subtrees that end and then begin right before it
    (:mod:`dgltrees.trees.constituents`). All subtrees end before ``<eos>``. There are no example
    columns.
    """
    words = (vocabs or {}).get("word", Vocabulary([UNKNOWN, END], unknown=UNKNOWN))
    for part in MRG.chunks(path, trees):
        yield _sentences(part.forest, words, path)


def _sentences(forest: Forest, words: Vocabulary, path: PathLike) -> LabeledTrees:
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
        return LabeledTrees(chains(sizes + 1, columns, {"word": words}))
    except TreeError as error:
        raise TreeError(error.message, file=path, tree=error.tree) from None


TEXT = Format(
    "Sentences as chains of words, one per line, spaces between words.", stream_running_text
)
