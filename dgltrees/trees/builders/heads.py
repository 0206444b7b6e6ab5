"""Dependency forests of words and their heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.vocabs import encode_names, vocabs_for
from dgltrees.trees.check import check_offsets, integers
from dgltrees.trees.depth import depths
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import locate
from dgltrees.trees.vocabulary import Vocabulary
from dgltrees.trees.words import ROOT

__all__ = ["from_heads"]


def from_heads(
    words: Sequence[str],
    heads: ArrayLike,
    *,
    offsets: ArrayLike | None = None,
    columns: Mapping[str, Sequence[str | None]] | None = None,
    vocabs: Mapping[str, Vocabulary] | None = None,
    single_root: bool = True,
    file: PathLike | None = None,
    lines: Sequence[int] | None = None,
) -> Forest:
    """A dependency forest: node 0 of each tree is ROOT, node i is its i-th word.

    Node columns: ``word``, which is ``<root>`` at node 0, and those of ``columns``, -1 at node 0.

    Arguments:
        words: ``(W,)`` the words of all sentences.
        heads: ``(W,)`` the head of each word: the number of a word of its sentence, from 1, or 0
            for ROOT.
        offsets: ``(T + 1,)``; sentence ``t`` has the words ``offsets[t]:offsets[t + 1]``. By
            default all words are one sentence.
        columns: further columns of names, such as ``deprel``, each ``(W,)``; None is no name (-1).
        vocabs: vocabularies to use, by column.
        single_root: two words of a sentence with the head 0 are an error.
        file: the file of the words, for the errors.
        lines: ``(W,)`` the line of each word in that file.

    Raises:
        TreeError: with file and line, or tree and node: a sentence is empty, a head is out of
            range, no word (or with ``single_root`` more than one) has the head 0, there is a cycle,
            a name is not in a frozen vocabulary, or a column has not ``W`` entries.
    """
    up = integers(heads, "heads", file)
    bounds = integers([0, len(words)] if offsets is None else offsets, "offsets", file)
    names = {"word": words, **(columns or {})}
    for name, length in (("head", len(up)), *((n, len(column)) for n, column in names.items())):
        if length != len(words):
            raise TreeError(
                f"expected {len(words)} values of {name}, one per word, got {length}", file=file
            )
    check_offsets(bounds, len(words), file, None)

    def error(message: str, word: int) -> TreeError:
        if lines is not None:
            return TreeError(message, file=file, line=int(lines[word]))
        tree, place = locate(bounds, word)
        return TreeError(message, file=file, tree=tree, node=place + 1)

    _check_heads(up, bounds, single_root, error)
    vocabularies = vocabs_for(vocabs, *names)
    root = int(vocabularies["word"].encode([ROOT])[0])
    first = bounds[:-1]  # each ROOT goes before these words
    ids = {name: encode_names(column, vocabularies[name], error) for name, column in names.items()}
    return Forest.build(
        np.insert(up, first, -1),
        offsets=bounds + np.arange(len(bounds)),
        columns={n: np.insert(i, first, root if n == "word" else -1) for n, i in ids.items()},
        vocabs=vocabularies,
        file=file,
    )


def _check_heads(
    heads: NDArray[np.int64],
    offsets: NDArray[np.int64],
    single_root: bool,
    error: Callable[[str, int], TreeError],
) -> None:
    """Check that the heads of every sentence make a tree.

    Raises:
        TreeError: they do not; made by ``error`` from the message and the word.
    """
    first, sizes = offsets[:-1], np.diff(offsets)
    last = np.repeat(sizes, sizes)
    broken = (heads < 0) | (heads > last)
    if broken.any():
        word = int(np.argmax(broken))
        raise error(
            f"expected a head from 0 to {last[word]}, the words of the sentence, got {heads[word]}",
            word,
        )
    up = np.where(heads == 0, -1, heads - 1 + np.repeat(first, sizes))
    cyclic = depths(up) < 0
    roots = np.add.reduceat(heads == 0, first, dtype=np.int64) if len(first) else first
    if (roots == 0).any():
        word = int(first[np.argmax(roots == 0)])
        raise error("expected a word with the head 0 in the sentence, got no root", word)
    if cyclic.any():
        word = int(np.argmax(cyclic))
        raise error("expected heads that lead to the root, got a cycle from this word", word)
    if single_root and (roots > 1).any():
        tree = int(np.argmax(roots > 1))
        word = int(first[tree] + np.flatnonzero(heads[first[tree] :] == 0)[1])
        raise error(
            f"expected one word with the head 0, got a second of {roots[tree]} roots; "
            "allow several with single_root=False, for language models --data.single_root false",
            word,
        )
