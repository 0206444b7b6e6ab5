"""Predictions from any form that a task's text comes in."""

from __future__ import annotations

import pytest

from dgltrees._files import Lines
from tests.tasks.test_unlabeled import assert_one_error, assert_read, model_of, predict

_MRG = "( (S (NP (DT the) (NN story)) (VP (VBZ is) (ADJP (JJ hopeless))) (. .)) )"
_CONLLU = "\n".join(
    "\t".join([str(i), word, *"____", str(head), "_", "_", "_"])
    for i, word, head in ((1, "the", 2), (2, "story", 4), (3, "is", 4), (4, "hopeless", 0))
)
_SNLI = '{"sentence1": "A dog runs.", "sentence2": "An animal moves."}'


@pytest.mark.parametrize(
    ("name", "texts", "file_format", "count"),
    [
        ("sst-tree", [_MRG, _MRG], "mrg", 2),
        ("sst-tree", [_MRG], None, 1),
        ("sst-tree", [_CONLLU, ""], "conllu", 1),
        ("sst-tree", ["((the) ((story) (is)))"], "sst", 1),
        ("sst-phrases", ["The story isn't dull.", "Hopeless!"], None, 2),
        ("sst-phrases", [_MRG], "mrg", 1),
        ("sst-phrases", [_CONLLU, ""], "conllu", 1),
        ("snli", ["A dog runs.\tAn animal moves."], None, 1),
        ("snli", [_SNLI, _SNLI], None, 2),
        ("snli", ["sentence1\tsentence2", "A dog runs.\tAn animal moves."], None, 1),
        ("wikiqa", ["who ran ?\tA dog ran .", "who ran ?\tNobody ."], None, 2),
    ],
)
def test_text_comes_in_many_forms(
    name: str, texts: list[str], file_format: str | None, count: int
) -> None:
    assert_read(name, texts, file_format, count)


def test_a_sentence_is_predicted_alike_from_all_forms() -> None:
    model, task, train, _, settings = model_of("sst-phrases")
    forms = {
        "mrg": ["(S (NP (DT the) (NN story)) (VP (VBZ is) (JJ hopeless)))"],
        "conllu": [_CONLLU, ""],
        "text": ["the story is hopeless"],
        "sst": ["((the) ((story) ((is) (hopeless))))"],
    }
    lines = [predict(model, task, train, Lines(t), settings, f) for f, t in forms.items()]
    assert all(line == lines[0] for line in lines)


@pytest.mark.parametrize(
    ("name", "text", "file_format", "message"),
    [
        ("sst-tree", "a fine film", "text", "expected a format that the task sst-tree reads, sst,"),
        ("sst-tree", "(S (NN a) (NN b))", "sst", "of the format mrg"),
        ("snli", "A dog runs.", None, "expected label TAB parse TAB parse"),
    ],
)
def test_what_cannot_be_read_is_one_error(
    name: str, text: str, file_format: str | None, message: str
) -> None:
    assert_one_error(name, text, file_format, message)
