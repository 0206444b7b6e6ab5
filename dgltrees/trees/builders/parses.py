"""Dependency forests of the documents of spaCy and stanza."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dgltrees.errors import TreeError
from dgltrees.trees.builders.heads import from_heads
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import offsets_of
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["from_parses"]


def from_parses(
    *documents: Any,
    root: bool = True,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """A dependency forest with one tree per sentence of parsed documents.

    As files of CoNLL-U are read: node 0 of each tree is ROOT, node i is its i-th word, and the
    parent of a node is its head. The graphs of top-down language models are made of such
    forests.

    Node columns: ``word``, which is ``<root>`` at ROOT; ``upos``, ``xpos`` and ``deprel``, -1 at
    ROOT and where the document has none.

    Arguments:
        documents: ``Doc`` of spaCy, ``Span`` (the sentences that it is a part of); ``Document`` and
            ``Sentence`` of stanza.
        root: whether ROOT is a node. Without it the root of a tree is the word whose head it is.
        vocabs: vocabularies to use, by column.

    Raises:
        TreeError: a document is none of these, or has no dependencies; with tree and node: a head
            is outside of its sentence, a sentence has not exactly one root, or a name is not in a
            frozen vocabulary.
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
            "upos": [word.upos or None for word in words],
            "xpos": [word.xpos or None for word in words],
            "deprel": [word.deprel or None for word in words],
        },
        vocabs=vocabs,
    )
    return forest if root else _without_root(forest)


class _Word(NamedTuple):
    text: str
    head: int  # the number of a word of the sentence from 1, 0 for ROOT
    upos: str | None
    xpos: str | None
    deprel: str | None


def _sentences(document: Any, number: int) -> Iterator[list[_Word]]:
    """The words of each sentence."""
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
    return TreeError(
        f"document {number}: expected dependencies, got none; run a pipeline with a parser"
    )


def _without_root(forest: Forest) -> Forest:
    words = forest.parent >= 0
    return Forest.build(
        forest.parent[words] - 1,
        offsets=offsets_of(forest.sizes - 1),
        columns={name: column[words] for name, column in forest.columns.items()},
        vocabs=forest.vocabs,
    )
