"""Stanford Sentiment Treebank, with or without its trees: five classes, or two without neutral.

The task ``sst-tree`` is that of Socher et al. (2013), with the trees and the protocol of Tai et al.
(2015): words are at the leaves; the model learns the labels of all constituents, and metrics are
over sentences. The task ``sst-phrases`` has no trees: Munkhdalai and Yu, "Neural Tree Indexers for
Text Understanding" (EACL 2017), section 4.3: "We trained our model on the text spans corresponding
to labeled phrases in the training set and evaluated the model on the full sentences."
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import nn

from dgltrees._files import PathLike
from dgltrees.formats import FORMATS, tokenize
from dgltrees.formats.conllu import conllu_sentences
from dgltrees.formats.lines import at_least_one, chunks, empty_file, numbered_lines
from dgltrees.formats.mrg import stream_mrg
from dgltrees.models.classifier import Classifier
from dgltrees.models.readout import EveryNode
from dgltrees.papers.nti.data.pairs import WordRules
from dgltrees.papers.nti.data.sst import SST_LABELS, stream_sst
from dgltrees.papers.nti.graphs import binary_constituents, binary_dependencies, phrases
from dgltrees.papers.nti.tasks.base import SentenceTask, sentence_reader
from dgltrees.papers.nti.tasks.settings import PhraseSettings, SentenceModel
from dgltrees.papers.nti.tasks.words import check_pretrained, make_words, with_pretrained
from dgltrees.settings import Count
from dgltrees.tasks.settings import PretrainedSettings
from dgltrees.tasks.task import Names, Reader
from dgltrees.tasks.trees import HeadSettings, TreeModel, TreeTask
from dgltrees.trees import Forest, LabeledTrees, Vocabulary
from dgltrees.trees.builders import chains
from dgltrees.trees.constituents import MERGES, SPLITS, constituent_counts, surface_trees
from dgltrees.trees.order import over_subtrees
from dgltrees.trees.segments import offsets_of, starts, within
from dgltrees.trees.words import UNKNOWN, recode


@dataclass(frozen=True)
class SSTSettings(PretrainedSettings):
    """The data of the Stanford Sentiment Treebank."""

    supervise: Literal["nodes", "root"] = "nodes"
    """Train on the labels of all nodes (nodes), or only of the root (root)."""
    binary: bool = False
    """Two classes, positive and negative, without neutral trees and nodes; by default five."""


@dataclass(frozen=True)
class WordNodesModel(HeadSettings, TreeModel):
    """Classifier of all nodes, with a vector per word."""

    words: Literal["table", "pretrained"] = "table"
    """Word vectors: a table, or those of ``data.pretrained``."""
    embedding: Count = 100
    """Size of a word's vector."""

    def build(self, vocabs: Mapping[str, Vocabulary]) -> Classifier:
        """Construct the model."""
        words = make_words(vocabs, self.embedding, pretrained=self.words == "pretrained")
        encoder = self.encoder(words)
        head = self.mlp(encoder.size, len(vocabs["target"]), self.init)
        return Classifier(encoder, EveryNode(), head)


_Sentences = Iterator[tuple[int | None, Sequence[str]]]
"""The line number of each sentence, and its words."""

_NEUTRAL = 2
_CLASSES = {
    False: Vocabulary(SST_LABELS, frozen=True),
    True: Vocabulary(["negative", "positive"], frozen=True),
}


def _read(
    path: PathLike, settings: SSTSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[LabeledTrees]:
    words = vocabs["word"] if vocabs else Vocabulary(unknown=UNKNOWN)
    for data in stream_sst(path, trees, labeled=labeled):
        forest = recode(with_pretrained(data.forest, settings), {"word": words})
        data = replace(data, forest=forest)
        data = _binary(data, labeled) if settings.binary else data
        yield data if settings.supervise == "nodes" else _root_labels(data)


def _root_labels(data: LabeledTrees) -> LabeledTrees:
    """Keep only the roots' classes (node column ``"target"``); other nodes get -1."""
    forest = data.forest
    target = np.where(forest.parent < 0, forest.columns["target"], -1)
    return replace(data, forest=forest.with_columns({**forest.columns, "target": target}))


def _parses(name: str, binary: Callable[[Forest], Forest]) -> Reader:
    """Make a reader of a format without sentiment; ``binary`` makes the treebank's trees."""

    def read(
        path: PathLike, settings: SSTSettings, vocabs: Names, *, labeled: bool, trees: int
    ) -> Iterator[LabeledTrees]:
        words = {"word": vocabs["word"] if vocabs else Vocabulary(unknown=UNKNOWN)}
        for data in FORMATS[name].chunks(path, trees):
            forest = surface_trees(data.forest, file=path) if name == "mrg" else data.forest
            forest = recode(with_pretrained(binary(forest), settings), words)
            target = np.full(forest.num_nodes, -1)
            forest = replace(forest, columns={**forest.columns, "target": target})
            classes = _CLASSES[settings.binary]
            yield LabeledTrees(forest, {"target": target[forest.roots]}, targets=classes)

    return read


def _binary(data: LabeledTrees, labeled: bool) -> LabeledTrees:
    """Return negative (0) and positive (1) trees; neutral nodes have no class."""
    if labeled:
        data = data.select(np.flatnonzero(data.columns["target"] != _NEUTRAL))
    classes = _two_classes(data.forest.columns["target"])
    forest = replace(data.forest, columns={**data.forest.columns, "target": classes})
    return LabeledTrees(forest, {"target": classes[forest.roots]}, targets=_CLASSES[True])


def _two_classes(target: NDArray[Any]) -> NDArray[np.int64]:
    """Return negative (0) and positive (1); -1 for neutral and unknown."""
    return np.where((target == _NEUTRAL) | (target < 0), -1, target > _NEUTRAL)


@dataclass(frozen=True)
class SSTTask(TreeTask):
    """Task on trees with words at their leaves."""

    def init_from_data(  # type: ignore[override]
        self, model: nn.Module, settings: SSTSettings, data: LabeledTrees
    ) -> None:
        """Check that the model uses the vectors of a pretrained encoder, if there are any."""
        check_pretrained(model, settings)


SST = SSTTask(
    "sst-tree",
    SSTSettings,
    WordNodesModel,
    {
        "sst": _read,
        "mrg": _parses("mrg", binary_constituents),
        "conllu": _parses("conllu", binary_dependencies),
        "dp": _parses("dp", binary_dependencies),
    },
    nodes=True,
    max_children=2,
    reads=f"{FORMATS['sst'].description} For prediction: the same, labels optional, or parses "
    "in the formats mrg, conllu or dp.",
)


def _stream_phrases(
    path: PathLike, trees: int, *, rules: WordRules, labeled: bool, binary: bool, supervise: str
) -> Iterator[LabeledTrees]:
    first = 0
    for data in stream_sst(path, trees, labeled=labeled):
        forest = data.forest
        target = np.asarray(forest.columns["target"])
        target = _two_classes(target) if binary else target
        mask = target >= 0 if labeled else forest.parent < 0
        if supervise == "root":
            mask &= forest.parent < 0
        sentence = first + forest.tree_of_node[mask]
        sentences = _cut(_phrases(forest, np.flatnonzero(mask)), sentence, rules, path)
        whole = forest.parent[mask] < 0
        columns = {"target": target[mask].astype(np.int64), SENTENCE: sentence, WHOLE: whole}
        yield LabeledTrees(sentences, columns, targets=_CLASSES[binary])
        first += len(forest)


def _phrases(forest: Forest, nodes: NDArray[np.int64]) -> Forest:
    """Return the phrases below nodes, each word with the brackets of the phrase before it."""
    leaves, merges, splits = constituent_counts(forest)
    columns = dict(forest.columns)
    for name, counts in ((MERGES, merges), (SPLITS, splits)):
        columns[name] = np.full(forest.num_nodes, -1, np.int32)
        columns[name][leaves] = counts
    sentences = phrases(replace(forest, columns=columns), nodes, columns=("word", MERGES, SPLITS))
    inside = over_subtrees(np.add, (forest.degree > 1).astype(np.int32), forest.global_parent)
    begins, splits = starts(sentences.sizes), sentences.columns[SPLITS]
    sentences.columns[MERGES][begins] = splits[begins] = 0
    if len(begins):  # constituents that do not begin at a later word begin at the first
        splits[begins] = inside[nodes] - np.add.reduceat(splits, begins)
    return sentences


def _cut(forest: Forest, tree: NDArray[np.int64], rules: WordRules, path: PathLike) -> Forest:
    """Apply the rules for long sentences; ``tree`` is the number of each sentence's tree."""
    if rules.max_words is None or (forest.sizes <= rules.max_words).all():
        return forest
    first = int(np.argmax(forest.sizes > rules.max_words))
    numbers = (number for number, line in numbered_lines(path) if line.strip())
    line = next(islice(numbers, int(tree[first]), None))
    length = rules.length(int(forest.sizes[first]), path, line)
    kept = within(forest.sizes) < length
    columns = {name: column[kept] for name, column in forest.columns.items()}
    return chains(np.minimum(forest.sizes, length), columns, forest.vocabs)


def _reader(sentences: Callable[[PathLike], _Sentences]) -> Reader:
    """Make a reader of sentences without sentiment, each with its line number."""

    def stream(
        path: PathLike, trees: int, *, rules: WordRules, labeled: bool, binary: bool
    ) -> Iterator[LabeledTrees]:
        words = ((line, rules(sentence, path, line)) for line, sentence in sentences(path))
        for chunk in chunks(at_least_one(words, empty_file(path, "sentence")), trees):
            lines, texts = zip(*chunk)
            vocab = Vocabulary()
            ids = vocab.encode(list(chain.from_iterable(texts)))
            forest = chains([len(each) for each in texts], {"word": ids}, {"word": vocab})
            columns = {"target": np.full(len(chunk), -1)}
            if lines[0] is not None:
                columns["line"] = np.array(lines)
            yield LabeledTrees(forest, columns, targets=_CLASSES[binary])

    return sentence_reader(stream, "binary")


def _lines(split: Callable[[str], Sequence[str]], path: PathLike) -> _Sentences:
    return ((n, split(text)) for n, text in numbered_lines(path) if text.strip())


def _conllu(path: PathLike) -> _Sentences:
    return ((sentence.line, sentence.words) for sentence in conllu_sentences(path, heads=False))


def _brackets(path: PathLike) -> _Sentences:
    for data in stream_mrg(path):
        names = np.array(data.forest.vocabs["word"].names, object)
        for tree in surface_trees(data.forest, file=path):
            ids = tree.columns["word"]
            yield None, names[ids[ids >= 0]].tolist()


WHOLE = "whole"
"""The column that says whether a phrase is a whole sentence."""
SENTENCE = "sentence"
"""The column with the number of a phrase's sentence in its file."""


@dataclass(frozen=True)
class PhrasesTask(SentenceTask):
    """Task whose training examples are phrases, which overlap within a sentence."""

    def groups(self, data: LabeledTrees) -> NDArray[np.int64]:
        """Return the sentence of each phrase, ``(E,)``, numbered from 0 over all files."""
        return offsets_of(np.diff(data.columns[SENTENCE]) != 0)

    def held_out(self, data: LabeledTrees) -> LabeledTrees:
        """Return the whole sentences, as those of a validation or test file."""
        return data.select(np.flatnonzero(data.columns[WHOLE]))

    def name_counts(self, data: LabeledTrees, column: str) -> NDArray[np.int64]:
        """Count the sentences with each word, since phrases repeat words."""
        forest = data.forest
        names = len(forest.vocabs[column])
        each = self.groups(data)[forest.tree_of_node] * names + forest.columns[column]
        return np.bincount(np.unique(each) % names, minlength=names)


SST_PHRASES = PhrasesTask(
    "sst-phrases",
    PhraseSettings,
    SentenceModel,
    {
        "sst": sentence_reader(_stream_phrases, "binary", "supervise"),
        "mrg": _reader(_brackets),
        "conllu": _reader(_conllu),
        "text": _reader(partial(_lines, tokenize)),
        "lines": _reader(partial(_lines, str.split)),
    },
    max_children=1,
    reads=f"{FORMATS['sst'].description} For prediction: mrg, conllu, or a sentence per line, as "
    "English text (text) or as words between spaces (lines).",
)
