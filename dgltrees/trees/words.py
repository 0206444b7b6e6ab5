"""Special words, vocabularies without rare words, and forests with other vocabularies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from dgltrees.errors import TreeError
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

ROOT = "<root>"
"""The word of node 0 of a dependency tree."""

UNKNOWN = "<unk>"
"""The unknown word, which replaces every word that is not in a vocabulary."""

END = "<eos>"
"""The word at the end of each line of running text."""


def frequent_words(forests: Iterable[Forest], min_freq: int) -> Vocabulary:
    """Make a frozen vocabulary of ``<root>``, frequent words and ``<unk>``.

    The words are in the order of the forests' vocabulary; ``<unk>`` is the last.
    """
    counts = np.zeros(0, np.int64)
    vocab = None
    for forest in forests:
        if "word" not in forest.vocabs or (vocab or forest.vocabs["word"]) != forest.vocabs["word"]:
            raise TreeError(
                "expected forests that share a vocabulary 'word', got one with the "
                f"vocabularies {list(forest.vocabs)}; read them with shared vocabularies"
            )
        vocab, total = forest.vocabs["word"], forest.name_counts("word")
        total[: len(counts)] += counts  # the vocabulary may have grown since
        counts = total
    if vocab is None:
        raise TreeError("expected at least one forest, got none")
    names = [n for n, count in zip(vocab.names, counts) if count >= min_freq or n == ROOT]
    return Vocabulary(names, unknown=UNKNOWN, frozen=True)


def recode(forest: Forest, vocabs: Mapping[str, Vocabulary], *, lower: bool = False) -> Forest:
    """Encode the columns of a forest with other vocabularies."""
    tables = {}
    for name, vocab in vocabs.items():
        if name not in forest.vocabs:
            raise TreeError(f"expected a vocabulary {name!r}, got {list(forest.vocabs)}")
        used = np.flatnonzero(forest.name_counts(name))
        names = forest.vocabs[name].decode(used)
        if lower and name == "word":
            names = [word.lower() for word in names]
        tables[name] = np.full(len(forest.vocabs[name]) + 1, -1, np.int32)
        tables[name][used] = vocab.encode(names)
    return forest.renamed(tables, {**forest.vocabs, **vocabs})


def is_number(word: str) -> bool:
    """Return whether a word is a number in Python's notation."""
    try:
        float(word)
    except ValueError:
        return False
    return True
