"""Forests from sentences: chains of words, and dependency trees of heads or parsed documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.check import check_offsets, integers
from dgltrees.trees.columns_of import shown
from dgltrees.trees.forest import Forest
from dgltrees.trees.order import depths
from dgltrees.trees.segments import Ints, locate, offsets_of, within
from dgltrees.trees.vocabulary import Vocabulary, encode_names, freeze_new, vocabs_for
from dgltrees.trees.words import ROOT


def chains(
    sizes: ArrayLike,
    columns: Mapping[str, NDArray[np.generic]],
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """Build a forest of sentences: each word is the only child of the next, the last is the root.

    A bottom-up traversal then reads a sentence from left to right.

    Arguments:
        sizes: ``(T,)`` the number of words of each sentence.
        columns: node data, each ``(N, ...)``, sentence after sentence.
        vocabs: the vocabularies of the columns that hold ids.

    Returns:
        the forest.

    Raises:
        TreeError: a sentence is empty, or a column does not have ``N`` rows or has an id that is
            not in its vocabulary.

    Example:
        >>> chains([2, 3], {"word": range(5)}).parent
        array([ 1, -1,  1,  2, -1], dtype=int32)
    """
    lengths = np.asarray(sizes, dtype=np.int64)
    if len(lengths) and lengths.min() < 1:
        raise TreeError(
            "expected at least one word in a sentence, got none", tree=int(lengths.argmin())
        )
    offsets = offsets_of(lengths)
    parent = within(lengths) + 1
    parent[offsets[1:] - 1] = -1
    return Forest.build(parent, offsets=offsets, columns=columns, vocabs=vocabs)


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
    """Build a dependency forest from the heads of words; node 0 of each tree is ROOT.

    Node ``i`` is the ``i``-th word of its sentence. Node columns: ``word``, which is ``<root>`` at
    node 0, and those of ``columns``, -1 at node 0.

    Arguments:
        words: ``(W,)`` the words of all sentences.
        heads: ``(W,)`` the head of each word: the number of a word of its sentence, from 1, or 0
            for ROOT.
        offsets: ``(T + 1,)``; sentence ``t`` has the words ``offsets[t]:offsets[t + 1]``. Default:
            all words are one sentence.
        columns: further columns of names, such as ``deprel``, each ``(W,)``; None is a missing name
            (-1).
        vocabs: vocabularies to use, by column.
        single_root: whether two words of a sentence with the head 0 are an error.
        file: the file of the words, for the errors.
        lines: ``(W,)`` the line of each word in that file.

    Returns:
        the forest.

    Raises:
        TreeError: the words are no list of strings, a sentence is empty, a head is out of range, no
            word (or with ``single_root`` more than one) has the head 0, there is a cycle, a name is
            not in a frozen vocabulary, or a column does not have ``W`` entries.

    Example:
        >>> forest = from_heads(["the", "cat", "sat"], [2, 3, 0])
        >>> forest.parent
        array([-1,  2,  3,  0], dtype=int32)
        >>> forest.vocabs["word"].decode(forest.columns["word"])
        ['<root>', 'the', 'cat', 'sat']
    """
    is_list = hasattr(words, "__len__") and not isinstance(words, (str, bytes))
    if not is_list or not all(issubclass(kind, str) for kind in {*map(type, words)}):
        raise TreeError(
            f"expected words as a list of strings, got {shown(words)}; split text first", file=file
        )
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
    freeze_new(vocabularies, vocabs)
    return Forest.build(
        np.insert(up, first, -1),
        offsets=bounds + np.arange(len(bounds)),
        columns={n: np.insert(i, first, root if n == "word" else -1) for n, i in ids.items()},
        vocabs=vocabularies,
        file=file,
    )


def _check_heads(
    heads: Ints,
    offsets: Ints,
    single_root: bool,
    error: Callable[[str, int], TreeError],
) -> None:
    """Raise the ``error`` of a word if the heads of a sentence do not make a tree."""
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
            "allow several with single_root=False, and train language models with "
            "--data.single_root false",
            word,
        )


def from_parses(
    *documents: Any,
    root: bool = True,
    single_root: bool = True,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """Build a dependency forest from parsed documents, with one tree per sentence.

    As in files of CoNLL-U, node 0 of each tree is ROOT, node ``i`` is its ``i``-th word, and the
    parent of a node is its head. Node columns: ``word``, which is ``<root>`` at ROOT; ``upos``,
    ``xpos`` and ``deprel``, -1 at ROOT and where the document has no value.

    Arguments:
        documents: ``Doc`` or ``Span`` of spaCy (a span stands for its sentences); ``Document`` or
            ``Sentence`` of stanza.
        root: whether ROOT is a node. Otherwise the root of a tree is the word whose head is ROOT.
        single_root: whether two words of a sentence with the head ROOT are an error; if not, ROOT
            must be a node.
        vocabs: vocabularies to use, by column.

    Returns:
        the forest.

    Raises:
        TreeError: a document has another type, or has no dependencies; a head is outside of its
            sentence, a sentence does not have exactly one root, or a name is not in a frozen
            vocabulary.

    Example:
        >>> import spacy
        >>> from spacy.tokens import Doc
        >>> words, heads, labels = ["cats", "sleep"], [1, 1], ["nsubj", "ROOT"]
        >>> from_parses(Doc(spacy.blank("en").vocab, words=words, heads=heads, deps=labels)).parent
        array([-1,  2,  0], dtype=int32)
    """
    sentences = [s for number, doc in enumerate(documents) for s in _sentences(doc, number)]
    if not sentences:
        raise TreeError("expected at least one sentence, got none")
    words = [word for sentence in sentences for word in sentence]
    forest = from_heads(
        [word.text for word in words],
        [word.head for word in words],
        offsets=offsets_of(list(map(len, sentences))),
        columns={
            name: [getattr(word, name) or None for word in words]
            for name in ("upos", "xpos", "deprel")
        },
        vocabs=vocabs,
        single_root=single_root,
    )
    return forest if root else _without_root(forest)


class _Word(NamedTuple):
    text: str
    head: int  # the number of a word of the sentence from 1, 0 for ROOT
    upos: str | None
    xpos: str | None
    deprel: str | None


def _sentences(document: Any, number: int) -> Iterator[list[_Word]]:
    """Iterate over the words of each sentence."""
    if hasattr(document, "sents"):
        if not all(token.dep for token in document):
            raise _unparsed(number)
        for sentence in document.sents:
            yield [_spacy_word(token, sentence) for token in sentence]
    elif hasattr(document, "sentences") or hasattr(document, "words"):
        for sentence in getattr(document, "sentences", [document]):
            for word in sentence.words:
                if word.head is None:
                    raise _unparsed(number)
            yield [_Word(w.text, w.head, w.upos, w.xpos, w.deprel) for w in sentence.words]
    else:
        raise TreeError(
            f"document {number}: expected a document of spaCy or stanza, "
            f"got a {type(document).__name__}"
        )


def _spacy_word(token: Any, sentence: Any) -> _Word:
    head = 0 if token.head.i == token.i else token.head.i - sentence.start + 1
    return _Word(token.text, head, token.pos_, token.tag_, token.dep_)


def _unparsed(number: int) -> TreeError:
    return TreeError(f"document {number}: missing dependencies; run a pipeline with a parser")


def _without_root(forest: Forest) -> Forest:
    roots = np.bincount(forest.tree_of_node[forest.parent == 0])
    if roots.max() > 1:
        raise TreeError(
            f"expected one root in a tree without ROOT, got {roots.max()}; pass root=True",
            tree=int(roots.argmax()),
        )
    words = forest.parent >= 0
    return Forest.build(
        forest.parent[words] - 1,
        offsets=offsets_of(forest.sizes - 1),
        columns={name: column[words] for name, column in forest.columns.items()},
        vocabs=forest.vocabs,
    )
