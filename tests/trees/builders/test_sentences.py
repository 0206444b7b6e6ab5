"""Chains of words, and dependency forests of heads and of parsed documents."""

from itertools import chain
from typing import Any

import numpy as np
import pytest

from dgltrees import TreeError, Vocabulary
from dgltrees.trees.builders import chains, from_heads, from_parses
from tests.trees.nested import names_of


def test_a_word_is_the_child_of_the_next() -> None:
    forest = chains([3, 1, 2], {"word": np.arange(6)}, {"word": Vocabulary("abcdef")})
    assert forest.parent.tolist() == [1, 2, -1, -1, 1, -1]
    assert forest.offsets.tolist() == [0, 3, 4, 6]
    assert forest.depths.tolist() == [2, 0, 1]


def test_a_sentence_without_words() -> None:
    with pytest.raises(TreeError, match="tree 1: expected at least one word in a sentence"):
        chains([1, 0], {"word": np.zeros(1, int)})


def test_two_sentences() -> None:
    forest = from_heads(
        ["Ada", "counts", "Go"],
        [2, 0, 0],
        offsets=[0, 2, 3],
        columns={"deprel": ["nsubj", "root", None]},
    )
    assert forest.parent.tolist() == [-1, 2, 0, -1, 0]
    assert forest.offsets.tolist() == [0, 3, 5]
    assert forest.vocabs["word"].names == ["<root>", "Ada", "counts", "Go"]
    assert forest.columns["word"].tolist() == [0, 1, 2, 0, 3]
    assert forest.columns["deprel"].tolist() == [-1, 0, 1, -1, -1]


def test_a_hundred_thousand_words_in_a_chain() -> None:
    forest = from_heads(["w"] * 100_000, np.arange(100_000))
    assert forest.depths.tolist() == [100_000]


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([0, 3, 0], "tree 0, node 2: expected a head from 0 to 2, the words of the sentence, got"),
        ([2, 1, 0], "tree 0, node 1: expected a word with the head 0 in the sentence, got no root"),
        ([0, 0, 0], "tree 0, node 2: expected one word with the head 0, got a second of 2 roots"),
        ([0, 2, 0], "tree 0, node 2: expected heads that lead to the root, got a cycle"),
        ([0, 1], "expected 3 values of head, one per word, got 2"),
        ([0.0, 1.0, 0.0], "expected integers as heads, got float64"),
    ],
)
def test_heads_that_make_no_tree(heads: list[float], message: str) -> None:
    with pytest.raises(TreeError, match=message):
        from_heads(["a", "b", "c"], heads, offsets=[0, 2, 3])


@pytest.mark.parametrize("words", ["A cat", b"A", 3, None, [1, "a"], np.arange(2)])
def test_words_that_are_no_list_of_strings(words: Any) -> None:
    with pytest.raises(TreeError, match="^expected words as a list of strings, got .*; split text"):
        from_heads(words, [2, 0])
    assert from_heads(np.array(["a", "b"]), [2, 0]).num_nodes == 3


def test_other_errors() -> None:
    with pytest.raises(TreeError, match="tree 1: expected at least one node, got an empty tree"):
        from_heads(["a"], [0], offsets=[0, 1, 1])
    with pytest.raises(TreeError, match="expected 1 values of upos, one per word, got 2"):
        from_heads(["a"], [0], columns={"upos": ["X", "Y"]})
    with pytest.raises(TreeError, match=r"tree 0, node 2: expected one of the 2 known names"):
        from_heads(["a", "b"], [0, 1], vocabs={"word": Vocabulary(["<root>", "a"], frozen=True)})


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


def test_sentences_of_several_roots() -> None:
    doc = pytest.importorskip("stanza.models.common.doc", reason="needs stanza")
    words = [{"id": i, "text": text, "head": 0} for i, text in enumerate("ab", start=1)]
    sentence = doc.Document([words])
    with pytest.raises(TreeError, match="got a second of 2 roots; allow several with single_root"):
        from_parses(sentence)
    assert from_parses(sentence, single_root=False).parent.tolist() == [-1, 0, 0]
    with pytest.raises(
        TreeError, match="^tree 0: expected one root in a .*, got 2; pass root=True"
    ):
        from_parses(sentence, root=False, single_root=False)


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
        (unparsed_spacy, "document 0: missing dependencies; run a pipeline with a"),
        (unparsed_stanza, "document 0: missing dependencies; run a pipeline with a"),
        (lambda: "A cat", "document 0: expected a document of spaCy or stanza, got a str"),
    ],
)
def test_bad_parses(make: Any, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        from_parses(make())
    assert str(caught.value).startswith(message)


def test_no_documents() -> None:
    with pytest.raises(TreeError, match="expected at least one sentence, got none"):
        from_parses()
