"""The Stanford Sentiment Treebank: constituent trees with a sentiment per constituent.

Socher et al., "Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank",
EMNLP 2013.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dgltrees._files import PathLike
from dgltrees.formats.brackets import Grammar, at_brackets
from dgltrees.formats.format import Format
from dgltrees.trees.builders.brackets import assemble, find_heads, items_in
from dgltrees.trees.builders.scan import Brackets
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.vocabulary import Vocabulary, vocabs_for

SST_LABELS = ("0", "1", "2", "3", "4")
_GRAMMAR = Grammar("(label ...)")


def stream_sst(
    path: PathLike,
    trees: int = 10_000,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    labeled: bool = True,
) -> Iterator[LabeledTrees]:
    """Yield the trees of a file of the treebank, ``trees`` lines at a time.

    A line is one tree, ``(3 (2 The) (4 (3 good) (2 one)))``; ``(2 The)`` is one leaf.

    Node columns: ``word``, the word of a leaf or -1 at inner nodes, and ``target``, the sentiment
    from 0 (very negative) to 4 (very positive). Example column: ``target``, the root's sentiment.
    """
    words = vocabs_for(vocabs, "word")["word"]
    for items, _ in _GRAMMAR.lines(path, trees):
        yield _examples(items, words, labeled)


def _examples(items: Brackets, words: Vocabulary, labeled: bool) -> LabeledTrees:
    count = items_in(items)
    if labeled:
        is_head = find_heads(items, "a label")
    else:  # the only atom in a bracket is a word
        is_head = ~items.is_open & (items.parent >= 0) & (items.place == 0)
        is_head &= count[items.parent] > 1
    has_label = np.bincount(items.parent[is_head], minlength=len(count))
    children = count - has_label
    is_word = ~items.is_open & ~is_head
    items.refuse(
        is_word & ((items.parent < 0) | (children[items.parent] != 1)),
        lambda i: f"expected a leaf of the form (label word), got {items.text(i)} elsewhere",
    )
    items.refuse(
        items.is_open & (children == 0),
        lambda _: "expected a word or constituents after a label, got none",
    )
    labels = {name: i for i, name in enumerate(SST_LABELS)}
    what = "a label" if labeled else "a label or none (parses with tags have the format mrg)"
    target = at_brackets(items, is_head, items.look_up(is_head, labels, what)).astype(np.int64)
    word = at_brackets(items, is_word, items.encode(is_word, words))
    forest = assemble(
        items.is_open,
        items.parent,
        items.place - has_label[items.parent],
        {"word": word, "target": target},
        {"word": words},
    )
    return LabeledTrees(
        forest,
        {"target": forest.columns["target"][forest.roots]},
        targets=Vocabulary(SST_LABELS, frozen=True),
    )


SST = Format(
    "The Stanford Sentiment Treebank, a tree per line: (3 (2 so) (4 good)).",
    stream_sst,
    first_line=r"\([0-4] |\(.*\([^\s()]+\)",  # or words in brackets
)
