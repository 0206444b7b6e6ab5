"""Stanford Sentiment Treebank without its trees: the sentiment of sentences, learned from phrases.

Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 4.3: "We
trained our model on the text spans corresponding to labeled phrases in the training set and
evaluated the model on the full sentences."
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.formats import FORMATS, tokenize
from dgltrees.formats.conllu import conllu_sentences
from dgltrees.formats.lines import chunks, empty_file, numbered_lines
from dgltrees.formats.mrg import stream_mrg
from dgltrees.papers.nti.data.pairs import WordRules
from dgltrees.papers.nti.data.sst import SST_LABELS, stream_sst
from dgltrees.papers.nti.graphs import phrases
from dgltrees.papers.nti.tasks.base import SentenceTask, sentence_reader
from dgltrees.papers.nti.tasks.models import make_sentence_classifier
from dgltrees.papers.nti.tasks.settings import PhraseSettings, SentenceModel
from dgltrees.tasks.task import Reader
from dgltrees.trees import Examples, Forest, Vocabulary
from dgltrees.trees.builders import chains
from dgltrees.trees.constituents import MERGES, SPLITS, constituent_counts
from dgltrees.trees.segments import starts, within
from dgltrees.trees.subtrees import over_subtrees

__all__ = ["SST_PHRASES"]

_NEUTRAL = 2
_CLASSES = {
    False: Vocabulary(SST_LABELS, frozen=True),
    True: Vocabulary(["negative", "positive"], frozen=True),
}


def _read(
    path: PathLike, settings: PhraseSettings, rules: WordRules, *, labeled: bool, trees: int
) -> Iterator[Examples]:
    first = 0
    for data in stream_sst(path, trees, labeled=labeled):
        forest = data.forest
        target = np.asarray(forest.columns["target"])
        if settings.binary:
            target = np.where((target == _NEUTRAL) | (target < 0), -1, target > _NEUTRAL)
        mask = target >= 0 if labeled else forest.parent < 0
        if settings.supervise == "root":
            mask &= forest.parent < 0
        sentences = _phrases(forest, np.flatnonzero(mask))
        sentences = _cut(sentences, first + forest.tree_of_node[mask], rules, path)
        yield _examples(sentences, settings, target[mask].astype(np.int64))
        first += len(forest)


def _phrases(forest: Forest, nodes: NDArray[np.int64]) -> Forest:
    """The phrases below nodes, each word with the brackets of the phrase before it."""
    leaves, merges, splits = constituent_counts(forest)
    columns = dict(forest.columns)
    for name, counts in ((MERGES, merges), (SPLITS, splits)):
        columns[name] = np.full(forest.num_nodes, -1, np.int32)
        columns[name][leaves] = counts
    sentences = phrases(replace(forest, columns=columns), nodes, columns=("word", MERGES, SPLITS))
    inside = over_subtrees(np.add, (forest.degree > 1).astype(np.int32), forest.global_parent)
    begins, splits = starts(sentences.sizes), sentences.columns[SPLITS]
    sentences.columns[MERGES][begins] = splits[begins] = 0
    if len(begins):  # what does not begin at a later word of the phrase begins at its first
        splits[begins] = inside[nodes] - np.add.reduceat(splits, begins)
    return sentences


def _cut(forest: Forest, tree: NDArray[np.int64], rules: WordRules, path: PathLike) -> Forest:
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
    kept = within(forest.sizes) < length
    columns = {name: column[kept] for name, column in forest.columns.items()}
    return chains(np.minimum(forest.sizes, length), columns, forest.vocabs)


def _examples(
    sentences: Forest, settings: PhraseSettings, target: NDArray[np.int64] | None = None
) -> Examples:
    target = np.full(len(sentences), -1) if target is None else target
    return Examples(sentences, {"target": target}, targets=_CLASSES[settings.binary])


def _reader(sentences: Callable[[PathLike], Iterator[tuple[int, Sequence[str]]]]) -> Reader:
    """Reads sentences without sentiment, each with the number of its line."""

    def read(
        path: PathLike, settings: PhraseSettings, rules: WordRules, *, labeled: bool, trees: int
    ) -> Iterator[Examples]:
        empty = True
        words = ((rules(sentence, path, line)) for line, sentence in sentences(path))
        for chunk in chunks(words, trees):
            empty = False
            vocab = Vocabulary()
            ids = vocab.encode(list(chain.from_iterable(chunk)))
            yield _examples(
                chains([len(each) for each in chunk], {"word": ids}, {"word": vocab}), settings
            )
        if empty:
            raise empty_file(path, "sentence")

    return sentence_reader(read)


def _text(path: PathLike) -> Iterator[tuple[int, Sequence[str]]]:
    return ((n, tokenize(text)) for n, text in numbered_lines(path) if text.strip())


def _lines(path: PathLike) -> Iterator[tuple[int, Sequence[str]]]:
    return ((n, text.split()) for n, text in numbered_lines(path) if text.strip())


def _conllu(path: PathLike) -> Iterator[tuple[int, Sequence[str]]]:
    return ((sentence.line, sentence.words) for sentence in conllu_sentences(path, heads=False))


def _brackets(path: PathLike) -> Iterator[tuple[int, Sequence[str]]]:
    for data in stream_mrg(path):
        names = np.array(data.forest.vocabs["word"].names, object)
        for tree in data.forest:
            ids = tree.columns["word"]
            yield 0, names[ids[ids >= 0]].tolist()


SST_PHRASES = SentenceTask(
    "sst-phrases",
    PhraseSettings,
    SentenceModel,
    {
        "sst": sentence_reader(_read),
        "mrg": _reader(_brackets),
        "conllu": _reader(_conllu),
        "text": _reader(_text),
        "lines": _reader(_lines),
    },
    make_sentence_classifier,
    max_children=1,
    reads=f"{FORMATS['sst'].description} To predict: mrg, conllu, or a sentence per line, as text "
    "in English or as lines of words with spaces between them.",
)
