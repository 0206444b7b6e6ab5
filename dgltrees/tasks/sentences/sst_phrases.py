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

from dgltrees.formats import FORMATS
from dgltrees.formats.lengths import WordRules
from dgltrees.formats.lines import numbered_lines
from dgltrees.formats.sst import SST_LABELS, read_sst
from dgltrees.tasks.sentences.base import SentenceTask, sentence_reader
from dgltrees.tasks.sentences.models import make_sentence_classifier
from dgltrees.tasks.sentences.settings import PhraseSettings, SentenceModel
from dgltrees.trees import Examples, Forest, Vocabulary
from dgltrees.trees.builders import chains, phrases
from dgltrees.trees.segments import within

__all__ = ["SST_PHRASES"]

_NEUTRAL = 2


def _read(path: Path, settings: PhraseSettings, rules: WordRules) -> Examples:
    read = read_sst(path).forest
    target = np.asarray(read.columns["target"])
    names: tuple[str, ...] = SST_LABELS
    if settings.binary:
        names = ("negative", "positive")
        target = np.where(target == _NEUTRAL, -1, target > _NEUTRAL)
    mask = target >= 0
    if settings.supervise == "root":
        mask &= read.parent < 0
    forest = phrases(read, np.flatnonzero(mask))
    return Examples(
        _cut(forest, read.tree_of_node[mask], rules, path),
        {"target": target[mask].astype(np.int64)},
        targets=Vocabulary(names, frozen=True),
    )


def _cut(forest: Forest, tree: NDArray[np.int64], rules: WordRules, path: Path) -> Forest:
    """Apply the rules for long sentences; ``tree`` is the number of each sentence's tree.

    Raises:
        TreeError: with file and line: a sentence is too long, and the rules do not cut.
    """
    if rules.max_words is None or (forest.sizes <= rules.max_words).all():
        return forest
    first = int(np.argmax(forest.sizes > rules.max_words))
    numbers = (number for number, line in numbered_lines(path) if line.strip())
    line = next(islice(numbers, int(tree[first]), None))
    length = rules.length(int(forest.sizes[first]), path, line)
    columns = {"word": forest.columns["word"][within(forest.sizes) < length]}
    return chains(np.minimum(forest.sizes, length), columns, forest.vocabs)


SST_PHRASES = SentenceTask(
    "sst-phrases",
    PhraseSettings,
    SentenceModel,
    sentence_reader(_read),
    make_sentence_classifier,
    max_children=1,
    reads=FORMATS["sst"].description,
)
