"""The trees that language models learn from, and the sentences that parsers read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats import FORMATS, format_by_suffix, sentences_of_lines
from dgltrees.formats.conllu import conllu_sentences
from dgltrees.formats.lines import at_least_one, chunks
from dgltrees.formats.sentences import Sentence, leave_out_long, too_long
from dgltrees.papers.top_down.data.ordered import constituents, right_branching
from dgltrees.papers.top_down.graphs import sentence_forest
from dgltrees.settings import Count
from dgltrees.tasks.settings import Files, WordSettings
from dgltrees.tasks.task import Names, Reader
from dgltrees.trees import Forest, LabeledTrees, Vocabulary
from dgltrees.trees.segments import within
from dgltrees.trees.words import ROOT, UNKNOWN, recode

_PUNCTUATION = ("PUNCT", "``", "''", ",", ".", ":")
_OTHER_TAGS = (  # of Universal Dependencies, and of the Penn Treebank
    "ADJ ADP ADV AUX CCONJ CONJ DET INTJ NOUN NUM PART PRON PROPN SCONJ SYM VERB "
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNP NNPS NNS PDT POS PRP PRP$ RB RBR RBS RP TO UH VB "
    "VBD VBG VBN VBP VBZ WDT WP WP$ WRB $ # -LRB- -RRB-"
)
_PUNCT_OF_TAG = {**dict.fromkeys(_OTHER_TAGS.split(), 0), **dict.fromkeys(_PUNCTUATION, 1)}

LABEL = "deprel"
"""The column of dependency labels."""


@dataclass(frozen=True)
class TreeLMSettings(WordSettings):
    """Data settings of language models over trees."""

    label: str = "label"
    """Node column of the words, for saved forests that are not dependency trees."""
    lower: bool = False
    """Convert words to lower case."""
    max_words: Count | None = None
    """Largest number of words of a training sentence; longer sentences are left out."""
    single_root: bool = True
    """Reject sentences with several words below ROOT, which CoNLL-X files may contain."""
    vectors: Files = None
    """File of initial word vectors, with a word and its numbers per line."""


def stream_trees(
    path: PathLike,
    settings: TreeLMSettings,
    vocabs: Mapping[str, Vocabulary] | None,
    trees: int = 10_000,
) -> Iterator[Forest]:
    """Yield the dependency trees of a file, about ``trees`` at a time.

    The format depends on the path:

    - a folder is a saved forest; it has dependencies if the root of every tree has the word ROOT in
      a column ``word``, as written by ``dgltrees.read(...).forest.save(...)``, and otherwise the
      column ``settings.label`` names its nodes;
    - ``.mrg`` are trees in Penn brackets, whose words are children of their tags;
    - ``.dp`` has three columns;
    - every other file is CoNLL-U.

    In trees without dependencies all children become right dependents
    (:func:`~dgltrees.papers.top_down.data.ordered.right_branching`).
    """
    expected = None if vocabs is None else LABEL in vocabs
    if vocabs is None:
        vocabs = {name: Vocabulary(unknown=UNKNOWN) for name in ("word", LABEL)}
    columns = {name: vocabs[name] for name in ("word", LABEL) if name in vocabs}
    names = ("lower", "max_words", "single_root")
    options: dict[str, Any] = {name: getattr(settings, name) for name in names}
    form = format_by_suffix(path)
    saved = Forest.load(path) if os.path.isdir(path) else None
    has_heads = form != "mrg" if saved is None else _has_root_words(saved)
    if expected not in (None, has_heads):
        kinds = ("other trees", "dependency trees (CoNLL-U, CoNLL-X or .dp)")
        raise TreeError(
            f"expected {kinds[bool(expected)]}, as in training, got {kinds[has_heads]}", file=path
        )
    if saved is not None:
        if has_heads:
            forests = iter([_saved(saved, columns, settings.lower, path)])
            return _short(forests, settings.max_words, path)
        ordered, column = iter([saved]), settings.label
    elif form == "mrg":
        read = FORMATS["mrg"].chunks(path, trees)
        ordered, column = (constituents(d.forest, lower=settings.lower) for d in read), "label"
    elif form == "dp":
        stream = FORMATS["dp"].chunks(path, trees, vocabs={"word": columns["word"]}, **options)
        return (_labeled(data.forest, columns) for data in stream)
    else:
        stream = FORMATS["conllu"].chunks(path, trees, vocabs=columns, **options)
        return (_labeled(data.forest, columns) for data in stream)
    branching = partial(right_branching, column=column, vocab=vocabs["word"], file=path)
    return _short(map(branching, ordered), settings.max_words, path)


def _labeled(forest: Forest, vocabs: Mapping[str, Vocabulary]) -> Forest:
    """Keep only the columns of ``vocabs``; one that the forest does not have is -1."""
    none = np.full(forest.num_nodes, -1, np.int32)
    columns = {name: forest.columns.get(name, none) for name in vocabs}
    return forest.with_columns(columns, dict(vocabs))


def _has_root_words(forest: Forest) -> bool:
    """Return whether the word of each root is ROOT, as in all dependency forests."""
    words = forest.vocabs.get("word")
    if words is None or ROOT not in words:
        return False
    return bool((forest.columns["word"][forest.roots] == words.encode([ROOT])[0]).all())


def _saved(forest: Forest, vocabs: Mapping[str, Vocabulary], lower: bool, path: PathLike) -> Forest:
    """Encode a saved dependency forest by ``vocabs``."""
    if "etype" in forest.columns:
        raise TreeError(
            "expected a saved dependency forest, got a generation forest, with a column 'etype'; "
            "save dependency_forest(...) of it",
            file=path,
        )
    present = {name: vocab for name, vocab in vocabs.items() if name in forest.vocabs}
    return _labeled(recode(forest, present, lower=lower), vocabs)


def _short(forests: Iterator[Forest], max_nodes: int | None, path: PathLike) -> Iterator[Forest]:
    """Drop trees with more than ``max_nodes`` nodes, without ROOT; a warning counts them."""
    rows = (
        (number, forest, tree, size - 1)
        for number, forest in enumerate(forests)
        for tree, size in enumerate(forest.sizes.tolist())
    )
    short = leave_out_long(rows, itemgetter(3), max_nodes, file=path, unit="nodes")
    short = at_least_one(short, too_long(max_nodes, file=path, unit="nodes"))
    for _, group in groupby(short, itemgetter(0)):
        chosen = list(group)
        forest = chosen[0][1]
        whole = len(chosen) == len(forest)
        yield forest if whole else forest.select([tree for _, _, tree, _ in chosen])


PARSER_COLUMNS = ("word", "ending", "shape", "upos", "deprel")


@dataclass(frozen=True)
class ParserSettings(WordSettings):
    """Data settings of a dependency parser."""

    lower: bool = False
    """Convert words to lower case."""
    max_words: Count | None = None
    """Largest number of words of a training sentence; longer sentences are left out."""


def sentences(forest: Forest, vocabs: Mapping[str, Vocabulary], *, lower: bool) -> Forest:
    """Return the parser's input from a dependency forest: chains of words, without heads.

    The columns are ``word``, ``ending``, ``shape`` and ``upos``, encoded by the parser's
    vocabularies; others are dropped.
    """
    spelled = with_spelling(forest, vocabs)
    names = PARSER_COLUMNS[:-1]
    coded = recode(spelled, {name: vocabs[name] for name in ("word", "upos")}, lower=lower)
    return Forest(
        (within(forest.sizes) - 1).astype(np.int32),
        np.zeros(forest.num_nodes, np.int32),
        forest.offsets,
        {name: coded.columns[name] for name in names},
        {name: coded.vocabs[name] for name in names},
    )


def read_parsed(
    path: PathLike, settings: ParserSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[LabeledTrees]:
    """Yield a parser's sentences from a CoNLL-U file; see :data:`~dgltrees.tasks.task.Reader`."""
    if vocabs is None:
        vocabs = {name: Vocabulary(unknown=UNKNOWN) for name in PARSER_COLUMNS}
    if not labeled:
        yield from _unlabeled(conllu_sentences(path, heads=False), settings, vocabs, trees)
        return
    training = not vocabs["word"].frozen  # no sentence that is evaluated may be left out
    max_words = settings.max_words if training else None
    stream = FORMATS["conllu"].chunks(path, trees, max_words=max_words, single_root=True)
    for data in stream:
        yield _examples(data.forest, vocabs, lower=settings.lower)


def text_reader(split: Callable[[str], list[str]]) -> Reader:
    """Return a reader of one sentence per line, which ``split`` splits into words."""

    def read(
        path: PathLike, settings: ParserSettings, vocabs: Names, *, labeled: bool, trees: int
    ) -> Iterator[LabeledTrees]:
        assert vocabs is not None  # the format of training comes first
        return _unlabeled(sentences_of_lines(path, split=split), settings, vocabs, trees)

    return read


def _unlabeled(
    stream: Iterator[Sentence],
    settings: ParserSettings,
    vocabs: Mapping[str, Vocabulary],
    trees: int,
) -> Iterator[LabeledTrees]:
    """Sentences without heads and relations, ``trees`` at a time."""
    for chunk in chunks(stream, trees):
        forest = sentence_forest(chunk)
        none = np.full(forest.num_nodes, -1, np.int32)
        columns = {**forest.columns, "deprel": none}
        named = {**forest.vocabs, "deprel": Vocabulary()}
        forest = replace(forest, columns=columns, vocabs=named)
        read = _examples(forest, vocabs, lower=settings.lower).forest
        read = replace(read, columns={**read.columns, "head": none})
        yield LabeledTrees(read, {"line": np.array([each.line for each in chunk])})


def _examples(gold: Forest, vocabs: Mapping[str, Vocabulary], *, lower: bool) -> LabeledTrees:
    read = sentences(gold, vocabs, lower=lower)
    columns = {
        **read.columns,
        "deprel": recode(gold, {"deprel": vocabs["deprel"]}).columns["deprel"],
        "head": gold.parent,
        "punct": punctuation(gold),
    }
    names = {**read.vocabs, "deprel": vocabs["deprel"]}
    return LabeledTrees(Forest(read.parent, read.pos, read.offsets, columns, names))


def word_ending(word: str) -> str:
    """Return the last three characters in lower case, or the whole word: ``ing``, ``'s``."""
    return word[-3:].lower()


def word_shape(word: str) -> str:
    """Replace runs of capitals by ``X``, of lower case letters by ``x``, of digits by ``d``.

    ``Nixon's`` becomes ``Xx'x``, and ``1,000`` becomes ``d,d``.
    """
    kinds = (
        "X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in word
    )
    return re.sub(r"([Xxd])\1+", r"\1", "".join(kinds))


def with_spelling(forest: Forest, vocabs: Mapping[str, Vocabulary]) -> Forest:
    """Add the columns ``ending`` and ``shape`` of the words."""
    if "word" not in forest.vocabs:
        raise TreeError(f"expected a vocabulary 'word', got {list(forest.vocabs)}")
    names, columns = forest.vocabs["word"].names, dict(forest.columns)
    ids = np.asarray(forest.columns["word"])
    for column, spell in (("ending", word_ending), ("shape", word_shape)):
        columns[column] = vocabs[column].encode([spell(name) for name in names])[ids]
    added = {column: vocabs[column] for column in ("ending", "shape")}
    return forest.with_columns(columns, {**forest.vocabs, **added})


def punctuation(forest: Forest) -> NDArray[np.int8]:
    """Return whether each word is punctuation, ``(N,)``: 1, 0, or -1 if unknown.

    The first of UPOS and XPOS that is a tag of Universal Dependencies or of the Penn Treebank
    decides. Punctuation are PUNCT and the five tags of Chen and Manning (2014), without brackets.
    Words with other tags or none are punctuation if all their characters are punctuation in
    Unicode, as in ``eval.pl`` of the CoNLL-X evaluation. A word ``_`` is missing.
    """
    known = np.full(forest.num_nodes, -1, np.int8)
    for column, decide in (("upos", _by_tag), ("xpos", _by_tag), ("word", _by_characters)):
        names = forest.vocabs[column].names
        of_id = np.array([*map(decide, names), -1], np.int8)  # -1, a missing name, is the last
        known = np.where(known < 0, of_id[forest.columns[column]], known)
    return known


def _by_tag(tag: str) -> int:
    return _PUNCT_OF_TAG.get(tag, -1)


def _by_characters(word: str) -> int:
    return -1 if word == "_" else all(category(char)[0] == "P" for char in word)
