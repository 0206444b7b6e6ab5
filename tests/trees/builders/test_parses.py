"""Dependency forests of the documents of spaCy and stanza."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from dgltrees import TreeError
from dgltrees.trees.builders import from_parses
from tests.trees.nested import names_of

WORDS = [["A", "cat", "sat", "."], ["Go"]]
HEADS = [[2, 3, 0, 3], [0]]
UPOS = [["DET", "NOUN", "VERB", "PUNCT"], ["VERB"]]
RELATIONS = [["det", "nsubj", "ROOT", "punct"], ["ROOT"]]


def flat(rows: list[list[str]]) -> list[str]:
    return list(chain.from_iterable(rows))


def spacy_document() -> Any:
    spacy = pytest.importorskip("spacy", reason="needs spaCy")
    return spacy.tokens.Doc(
        spacy.blank("en").vocab,
        words=flat(WORDS),
        heads=[1, 2, 2, 2, 4],
        deps=flat(RELATIONS),
        pos=flat(UPOS),
    )


def stanza_document() -> Any:
    doc = pytest.importorskip("stanza.models.common.doc", reason="needs stanza")
    return doc.Document(
        [
            [
                {"id": i + 1, "text": word, "head": head, "deprel": relation, "upos": upos}
                for i, (word, head, relation, upos) in enumerate(zip(*columns))
            ]
            for columns in zip(WORDS, HEADS, RELATIONS, UPOS)
        ]
    )


DOCUMENTS = pytest.mark.parametrize("make", [spacy_document, stanza_document])


@DOCUMENTS
def test_sentences(make: Any) -> None:
    forest = from_parses(make())
    assert forest.parent.tolist() == [-1, 2, 3, 0, 3, -1, 0]
    assert names_of(forest, "word") == ["<root>", *WORDS[0], "<root>", *WORDS[1]]
    assert names_of(forest, "deprel") == [None, *RELATIONS[0], None, *RELATIONS[1]]
    assert names_of(forest, "upos") == [None, *UPOS[0], None, *UPOS[1]]
    assert set(names_of(forest, "xpos")) == {None}


@DOCUMENTS
def test_words_alone(make: Any) -> None:
    forest = from_parses(make(), make(), root=False)
    assert forest.parent.tolist() == [1, 2, -1, 2, -1] * 2
    assert forest.pos.tolist() == [0, 0, 0, 1, 0] * 2
    assert names_of(forest, "word") == flat(WORDS) * 2


def test_parts_of_documents() -> None:
    span = list(spacy_document().sents)[1]
    sentence = stanza_document().sentences[1]
    for part in (span, sentence):
        assert names_of(from_parses(part), "word") == ["<root>", "Go"]


def unparsed_spacy() -> Any:
    return pytest.importorskip("spacy", reason="needs spaCy").blank("en")("No parser")


def unparsed_stanza() -> Any:
    doc = pytest.importorskip("stanza.models.common.doc", reason="needs stanza")
    return doc.Document([[{"id": 1, "text": "No"}]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            unparsed_spacy,
            "document 0: expected dependencies, got none; run a pipeline with a",
        ),
        (unparsed_stanza, "document 0: expected dependencies, got none; run a pipeline with a"),
        (lambda: "A cat", "document 0: expected a document of spaCy or stanza, got a str"),
    ],
)
def test_bad_documents(make: Any, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        from_parses(make())
    assert str(caught.value).startswith(message)


def test_no_documents() -> None:
    with pytest.raises(TreeError, match="expected at least one sentence, got none"):
        from_parses()
