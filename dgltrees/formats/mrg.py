"""Constituency trees in the brackets of the Penn Treebank.

Marcus, Santorini & Marcinkiewicz, "Building a Large Annotated Corpus of English: The Penn
Treebank", Computational Linguistics 1993.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dgltrees._files import PathLike
from dgltrees.formats.brackets import at_brackets
from dgltrees.formats.format import Format
from dgltrees.formats.lines import files_of, tree_chunks
from dgltrees.trees.builders.brackets import assemble, items_in
from dgltrees.trees.builders.scan import Brackets, scan
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.vocabulary import Vocabulary, vocabs_for


def stream_mrg(
    paths: PathLike | Sequence[PathLike],
    trees: int = 10_000,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Iterator[LabeledTrees]:
    """Read the trees of one or several ``.mrg`` files, about ``trees`` at a time.

    A tree is ``( (S (NP (NNP Vinken)) (VP ...)) )`` over any number of lines. The outer bracket
    without a label is optional, and a node only around several constituents. ``(NNP Vinken)`` is
    one leaf. A word next to other constituents, as in ``(NP old (NN man))``, is a leaf without a
    label.

    Node columns: ``label``, the constituent or tag, -1 without one; ``word``, the word of a leaf,
    -1 at inner nodes. There are no example columns.
    """
    vocabs = vocabs_for(vocabs, "label", "word")
    for file in files_of(paths):
        for data, line in tree_chunks(file, trees):
            items = scan(data, by_line=False, file=file, first_line=line)
            yield _parse(items, vocabs)


def _parse(items: Brackets, vocabs: Mapping[str, Vocabulary]) -> LabeledTrees:
    is_open, up = items.is_open, items.parent
    items.refuse(~is_open & (up < 0), lambda i: f"expected a tree in brackets, got {items.text(i)}")
    is_head = ~is_open & (items.place == 0)
    has_label = np.zeros_like(is_open)
    has_label[up[is_head]] = True
    unlabeled, count = is_open & ~has_label, items_in(items)
    items.refuse(
        unlabeled & (count == 0),
        lambda _: "expected a tree in a bracket without a label, got none",
    )
    items.refuse(
        unlabeled & (items.depth > 0), lambda _: "missing a label at the beginning of a bracket"
    )
    items.refuse(
        has_label & (count == 1),
        lambda _: "expected a word or constituents after a label, got none",
    )
    is_wrapper = unlabeled & (count == 1)
    is_word = ~is_open & ~is_head
    is_leaf_word = is_word & has_label[up] & (count[up] == 2)  # (label word) is one node
    label = at_brackets(items, is_head, items.encode(is_head, vocabs["label"]))
    word = items.encode(is_word, vocabs["word"])
    word = np.maximum(word, at_brackets(items, is_leaf_word, word))
    forest = assemble(
        (is_open & ~is_wrapper) | (is_word & ~is_leaf_word),
        np.where((up >= 0) & is_wrapper[up], -1, up),
        items.place - has_label[up],
        {"label": label, "word": word},
        vocabs,
    )
    return LabeledTrees(forest)


MRG = Format(
    "Constituent trees in the brackets of the Penn Treebank: ( (S (VB Go) )).",
    stream_mrg,
    suffixes=(".mrg",),
    first_line=r"\(",
    general=True,
)
