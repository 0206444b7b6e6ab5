"""Constituent trees in the brackets of the Penn Treebank.

Marcus, Santorini & Marcinkiewicz, "Building a Large Annotated Corpus of English: The Penn
Treebank", Computational Linguistics 1993.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Optional, Union

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.formats.lines import gather, tree_chunks
from dgltrees.trees.builders.assemble import assemble, check_children, items_in
from dgltrees.trees.builders.scan import Brackets, scan
from dgltrees.trees.builders.vocabs import own_vocabs
from dgltrees.trees.examples import Examples
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["read_mrg", "stream_mrg"]


def read_mrg(
    paths: Union[PathLike, Sequence[PathLike]],
    *,
    vocabs: Optional[Mapping[str, Vocabulary]] = None,
    max_children: Optional[int] = None,
) -> Examples:
    """All trees of one or many ``.mrg`` files; see :func:`stream_mrg`."""
    return gather(stream_mrg(paths, vocabs=vocabs, max_children=max_children))


def stream_mrg(
    paths: Union[PathLike, Sequence[PathLike]],
    trees: int = 10_000,
    *,
    vocabs: Optional[Mapping[str, Vocabulary]] = None,
    max_children: Optional[int] = None,
) -> Iterator[Examples]:
    """The trees of one or many ``.mrg`` files, about ``trees`` at a time, each file for itself.

    A tree is ``( (S (NP (NNP Vinken)) (VP ...)) )`` over any number of lines; the outer bracket
    without a label is dropped and need not be there. ``(NNP Vinken)`` is one leaf. A word beside
    others, as in ``(NP old (NN man))``, is a leaf without a label.

    Node columns: ``label``, the constituent or tag, or -1; ``word``, the word of a leaf or -1.
    There are no example columns.

    Arguments:
        paths: a file, or files in the order to read them.
        trees: how many trees to read at a time.
        vocabs: ``{"label": vocabulary, "word": vocabulary}`` to use, or either; a frozen one
            refuses unknown names, or gives them the id of its unknown name. All chunks share them.
        max_children: the most children a node may have; None for any number.

    Raises:
        TreeError: with file and line: a file is empty or not UTF-8, a bracket unbalanced or
            without a label, text outside all brackets, a label without anything below it, a name
            unknown, a node with too many children.
    """
    known = own_vocabs(vocabs, "label", "word")
    files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not files:
        raise ConfigError("expected at least one file, got none")
    for file in files:
        for data, line in tree_chunks(file, trees):
            items = scan(data, by_line=False, file=file, first_line=line)
            yield _parse(items, known, max_children)


def _parse(
    items: Brackets, vocabs: Mapping[str, Vocabulary], max_children: Optional[int]
) -> Examples:
    is_open, up = items.is_open, items.parent
    items.refuse(~is_open & (up < 0), lambda i: f"expected a tree in brackets, got {items.text(i)}")
    is_head = ~is_open & (items.place == 0)
    is_wrapper = is_open & (items.depth == 0)
    is_wrapper[up[is_head]] = False
    count = items_in(items)
    items.refuse(
        is_wrapper & (count != 1),
        lambda i: f"expected one tree in a bracket without a label, got {count[i]}",
    )
    labeled = is_open & ~is_wrapper
    unlabeled = labeled.copy()
    unlabeled[up[is_head]] = False
    items.refuse(unlabeled, lambda _: "expected a label at the beginning of a bracket, got none")
    items.refuse(
        labeled & (count == 1), lambda _: "expected a word or constituents after a label, got none"
    )
    check_children(items, count - labeled, max_children)
    is_word = ~is_open & ~is_head
    is_own = is_word & (count[up] == 2)  # (label word): one node
    label = np.full(len(up), -1, np.int32)
    label[up[is_head]] = items.encode(is_head, vocabs["label"])[is_head]
    word = items.encode(is_word, vocabs["word"])
    word[up[is_own]] = word[is_own]
    forest = assemble(
        labeled | (is_word & ~is_own),
        np.where((up >= 0) & is_wrapper[up], -1, up),
        items.place - 1,
        {"label": label, "word": word},
        vocabs,
    )
    return Examples(forest)
