"""From words and their heads to dependency trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.vocabs import own_vocabs
from dgltrees.trees.check import check_offsets, integers
from dgltrees.trees.dependencies import ROOT
from dgltrees.trees.depth import depths
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import owner
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["from_heads"]


def from_heads(
    words: Sequence[str],
    heads: ArrayLike,
    *,
    offsets: Optional[ArrayLike] = None,
    columns: Optional[Mapping[str, Sequence[Optional[str]]]] = None,
    vocabs: Optional[Mapping[str, Vocabulary]] = None,
    single_root: bool = True,
    file: Optional[PathLike] = None,
    lines: Optional[Sequence[int]] = None,
) -> Forest:
    """A dependency forest: node 0 of each tree is ROOT, node i its i-th word, below its head.

    Node columns: ``word``, that of node 0 is ``<root>``, and those of ``columns``, -1 where there
    is no name and at node 0.

    Arguments:
        words: ``(W,)`` the words of all sentences.
        heads: ``(W,)`` the head of each word: a word of its sentence, from 1, or 0 for ROOT.
        offsets: ``(T + 1,)`` sentence ``t`` owns the words ``offsets[t]:offsets[t + 1]``; one
            sentence by default.
        columns: further names, such as ``deprel``, each ``(W,)``; None is none.
        vocabs: vocabularies to use, by column; a frozen one refuses unknown names, or gives them
            the id of its unknown name.
        single_root: whether a sentence with two words below ROOT is an error.
        file, lines: where the words were read, ``(W,)`` lines, for the errors.

    Raises:
        TreeError: with file and line, or tree and node: a sentence is empty, a head is out of
            range, no word is below ROOT, or two where one may be, there is a cycle, a name is not
            in a frozen vocabulary, a column has another length.
    """
    up = integers(heads, "heads", file)
    bounds = integers([0, len(words)] if offsets is None else offsets, "offsets", file)
    names = {"word": words, **(columns or {})}
    for name, length in (("head", len(up)), *((n, len(column)) for n, column in names.items())):
        if length != len(words):
            raise TreeError(
                f"expected a {name} for each of the {len(words)} words, got {length}", file=file
            )
    check_offsets(bounds, len(words), file, None)
    place = _Place(bounds, file, lines)
    _check_heads(up, place, single_root)
    known = own_vocabs(vocabs, *names)
    root = int(known["word"].encode([ROOT])[0])
    first = bounds[:-1]  # each ROOT goes before these words
    ids = {name: _encode(column, known[name], place) for name, column in names.items()}
    return Forest.build(
        np.insert(up, first, -1),
        offsets=bounds + np.arange(len(bounds)),
        columns={n: np.insert(i, first, root if n == "word" else -1) for n, i in ids.items()},
        vocabs=known,
        file=file,
    )


class _Place:
    """Where a word stands, for the errors."""

    def __init__(
        self,
        bounds: NDArray[np.int64],
        file: Optional[PathLike],
        lines: Optional[Sequence[int]],
    ) -> None:
        self.bounds, self.file, self.lines = bounds, file, lines
        self.sentence = owner(np.diff(bounds))

    def error(self, message: str, word: int) -> TreeError:
        if self.lines is not None:
            return TreeError(message, file=self.file, line=int(self.lines[word]))
        tree = int(self.sentence[word])
        node = word - int(self.bounds[tree]) + 1
        return TreeError(message, file=self.file, tree=tree, node=node)


def _check_heads(heads: NDArray[np.int64], place: _Place, single_root: bool) -> None:
    first = place.bounds[:-1]
    sizes = np.diff(place.bounds)[place.sentence]
    broken = (heads < 0) | (heads > sizes)
    if broken.any():
        word = int(np.argmax(broken))
        raise place.error(
            f"expected a head from 0 to {sizes[word]}, the words of the sentence, "
            f"got {heads[word]}",
            word,
        )
    up = np.where(heads == 0, -1, heads - 1 + first[place.sentence])
    cyclic = depths(up) < 0
    roots = np.add.reduceat(heads == 0, first, dtype=np.int64) if len(first) else first
    if (roots == 0).any():
        word = int(first[np.argmax(roots == 0)])
        raise place.error("expected a word with the head 0 in the sentence, got no root", word)
    if cyclic.any():
        word = int(np.argmax(cyclic))
        raise place.error("expected heads that lead to the root, got a cycle from this word", word)
    if single_root and (roots > 1).any():
        tree = int(np.argmax(roots > 1))
        word = int(np.flatnonzero((heads == 0) & (place.sentence == tree))[1])
        raise place.error(
            f"expected one word with the head 0, got a second of {roots[tree]} roots; "
            "allow several with single_root=False, for language models --data.single_root false",
            word,
        )


def _encode(names: Sequence[Optional[str]], vocab: Vocabulary, place: _Place) -> NDArray[np.int32]:
    """``(W,)`` the ids of the names, -1 for none."""
    there = [i for i, name in enumerate(names) if name is not None]
    ids = np.full(len(names), -1, np.int32)
    try:
        ids[there] = vocab.encode([name for name in names if name is not None])
    except TreeError as error:
        word = next(i for i in there if names[i] not in vocab)
        raise place.error(str(error), word) from None
    return ids
