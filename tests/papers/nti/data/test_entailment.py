import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from dgltrees import LabeledTrees, TreeError, Vocabulary, read
from dgltrees.papers.nti.data.entailment import stream_entailment
from dgltrees.papers.nti.data.pairs import WordRules
from tests.trees.nested import assert_same

PAIRS = [
    ("entailment", "A man sleeps", "A person sleeps"),
    ("contradiction", "A dog -LRB- big -RRB- runs", "Nobody runs"),
    ("neutral", "Rain", "It is cold in Győr"),
]


Pairs = Sequence[tuple[str, str, str]]  # label, premise, hypothesis


def binary(sentence: str) -> str:
    """A right-branching parse."""
    words = sentence.split()
    return "".join(f"( {word} " for word in words[:-1]) + words[-1] + " )" * (len(words) - 1)


def jsonl(folder: Path, pairs: Pairs = PAIRS) -> Path:
    path = folder / "snli.jsonl"
    lines = [
        {
            "gold_label": label,
            "sentence1": left,
            "sentence1_binary_parse": binary(left),
            "sentence2_binary_parse": binary(right),
        }
        for label, left, right in pairs
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def tsv(folder: Path, pairs: Pairs = PAIRS) -> Path:
    path = folder / "snli.txt"
    head = "gold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1\tpairID\n"
    rows = (f"{t}\t{binary(a)}\t{binary(b)}\t{a}\t7.jpg#1\n" for t, a, b in pairs)
    path.write_text(head + "".join(rows), encoding="utf-8")
    return path


def sick(folder: Path, pairs: Pairs = PAIRS) -> Path:
    path = folder / "SICK.txt"
    rows = (f"{t.upper()}\t{binary(a)}\t{binary(b)}\t4.5\t12\n" for t, a, b in pairs)
    head = "%entailment_judgment\tsentence_A\tsentence_B\trelatedness_score\tpair_ID\n"
    path.write_text(head + "".join(rows), encoding="utf-8")
    return path


Form = Callable[..., Path]

FORMS: list[Form] = [jsonl, tsv, sick]


def sentences(data: LabeledTrees) -> list[str]:
    names = data.forest.vocabs["word"].decode(data.forest.columns["word"])
    return [" ".join(names[i:j]) for i, j in zip(data.forest.offsets[:-1], data.forest.offsets[1:])]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_pairs(tmp_path: Path, form: Form) -> None:
    data = read(form(tmp_path), "entailment")
    assert data.arity == 2
    assert sentences(data) == [s for _, *pair in PAIRS for s in pair]
    assert data.targets.decode(data.columns["target"]) == [label for label, *_ in PAIRS]
    assert data.forest.vocabs["word"].names[:4] == ["A", "man", "sleeps", "person"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1, 2])
def test_chunks_equal_the_whole(tmp_path: Path, form: Form, size: int) -> None:
    path = form(tmp_path)
    chunks = list(stream_entailment(path, size))
    assert [len(chunk) for chunk in chunks] == ([1, 1, 1] if size == 1 else [2, 1])
    assert_same(LabeledTrees.concat(chunks), read(path, "entailment"))


@pytest.mark.parametrize("form", FORMS)
def test_pairs_without_a_label_are_left_out(tmp_path: Path, form: Form) -> None:
    path = form(tmp_path, [PAIRS[0], ("-", "a", "b"), ("-", "a", "b")])
    with pytest.warns(UserWarning, match="left out 2 of 3 pairs, which have no label") as caught:
        assert len(read(path, "entailment")) == 1
    assert str(caught[0].message).startswith(f"{path}: ")
    with pytest.raises(TreeError, match="at least one pair with a label, got 1 without one"):
        read(form(tmp_path, [("-", "a", "b")]), "entailment")


@pytest.mark.parametrize("form", FORMS)
def test_long_sentences_are_refused_or_cut(tmp_path: Path, form: Form) -> None:
    path = form(tmp_path)
    number = 2 if form is jsonl else 3
    with pytest.raises(TreeError, match=r"a sentence of at most 5 words, got 6; raise") as caught:
        read(path, "entailment", rules=WordRules(max_words=5))
    assert str(caught.value).startswith(f"{path}:{number}: ")
    cut = read(path, "entailment", rules=WordRules(max_words=2, truncate=True))
    assert sentences(cut)[:2] == ["A man", "A person"]


@pytest.mark.parametrize("form", FORMS)
def test_other_labels_are_an_error(tmp_path: Path, form: Form) -> None:
    path = form(tmp_path, [PAIRS[0], ("maybe", "a", "b")])
    with pytest.raises(TreeError, match=r"one of the 3 known names .*, got 'maybe'") as caught:
        read(path, "entailment")
    assert str(caught.value).startswith(f"{path}:{2 if form is jsonl else 3}: ")


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("a.jsonl", '{"gold_label": "neutral"', 1, "expected JSON, got expecting"),
        ("a.jsonl", '{"gold_label": "neutral"}', 1, "text in the field sentence1_binary_parse"),
        ("a.jsonl", "[]", 1, "missing text in the field gold_label"),
        ("a.txt", "gold_label\tsentence1\n", 1, "first line, missing sentence1_binary_parse"),
        (
            "a.txt",
            "gold_label\tsentence1_binary_parse\tsentence2_binary_parse\nneutral\ta\n",
            2,
            "expected 3 fields between tabs, got 2",
        ),
        ("a.txt", "NEUTRAL\t( a b )\t( c", 1, r"a '\)' for every '\(', got 1 and 0"),
        ("a.txt", "NEUTRAL\ta\t", 1, "at least one word in a sentence, got none"),
        ("a.txt", "NEUTRAL\ta", 1, "and two more fields or none, got 2"),
        ("a.txt", "NEUTRAL\ta\tb\nNEUTRAL\t\xff\tb", 2, "UTF-8 text, got the byte 0xff"),
    ],
)
def test_bad_lines(tmp_path: Path, name: str, text: str, line: int, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(TreeError, match=message) as caught:
        read(path, "entailment")
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_words_that_a_frozen_vocabulary_lacks(tmp_path: Path) -> None:
    words = Vocabulary(["?", "A"], unknown="?", frozen=True)
    assert (
        read(sick(tmp_path), "entailment", vocabs={"word": words}).forest.columns["word"].max() == 1
    )
    with pytest.raises(TreeError, match=r"SICK.txt:2: expected one of the 1 known names"):
        read(sick(tmp_path), "entailment", vocabs={"word": Vocabulary(["A"], frozen=True)})
