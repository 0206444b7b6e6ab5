"""Stanford Sentiment Treebank without its trees: the sentiment of sentences, learned from phrases.

Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 4.3: "We
trained our model on the text spans corresponding to labeled phrases in the training set and
evaluated the model on the full sentences."
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import TreeError
from dgltrees.formats.lines import numbered_lines
from dgltrees.formats.pairs import WordRules
from dgltrees.formats.sst import SST_LABELS, read_sst
from dgltrees.tasks.sentences.base import SentenceTask, sentence_reader
from dgltrees.tasks.sentences.models import make_sentence_classifier
from dgltrees.tasks.settings import DataSettings
from dgltrees.trees import Examples, Forest, Vocabulary
from dgltrees.trees.builders import chains, phrases

__all__ = ["SST_PHRASES"]

_NEUTRAL = 2


def _read(path: Path, settings: DataSettings, rules: WordRules) -> Examples:
    read = read_sst(path).forest
    target = np.asarray(read.columns["target"])
    names: tuple[str, ...] = SST_LABELS
    if settings.binary:
        names = ("negative", "positive")
        target = np.where(target == _NEUTRAL, -1, target > _NEUTRAL)
    wanted = target >= 0
    if settings.supervise == "root":
        wanted &= read.parent < 0
    forest = phrases(read, np.flatnonzero(wanted))
    return Examples(
        _short(forest, read.tree_of_node[wanted], rules, path),
        {"target": target[wanted].astype(np.int64)},
        targets=Vocabulary(names, frozen=True),
    )


def _short(forest: Forest, tree: NDArray[np.int64], rules: WordRules, path: Path) -> Forest:
    """The sentences, cut to ``max_words`` if that is wanted; else longer ones are refused."""
    most = rules.max_words
    if most is None or (forest.sizes <= most).all():
        return forest
    if not rules.truncate:
        at = int(np.argmax(forest.sizes > most))
        filled = (number for number, line in numbered_lines(path) if line.strip())
        raise TreeError(
            f"expected a sentence of at most {most} words, got {forest.sizes[at]}; raise "
            "max_words, or truncate",
            file=path,
            line=next(islice(filled, int(tree[at]), None)),
        )
    place = np.arange(forest.num_nodes) - np.repeat(forest.offsets[:-1], forest.sizes)
    columns = {"word": forest.columns["word"][place < most]}
    return chains(np.minimum(forest.sizes, most), columns, forest.vocabs)


SST_PHRASES = SentenceTask(
    "sst-phrases", sentence_reader(_read), make_sentence_classifier, max_children=1
)
