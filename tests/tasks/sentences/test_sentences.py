"""Tasks on plain sentences: what is read, what words begin with, what is reported."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

from dgltrees.errors import ConfigError, TreeError
from dgltrees.tasks.files import fingerprint
from dgltrees.tasks.settings import DataSettings, ModelSettings
from dgltrees.tasks.splits import load_examples, load_splits, vocabularies
from dgltrees.tasks.table import get_task
from dgltrees.training.run import evaluate, predict, prepare, train
from dgltrees.training.settings import settings_from
from tests.training.samples import SAMPLES

FILES = {
    "snli": ("sick/SICK_train_parsed.txt", "snli/snli_1.0_dev.jsonl"),
    "wikiqa": ("wikiqa/WikiQASent-train.txt", "wikiqa/WikiQASent-dev.txt"),
    "sst-phrases": ("sst/train.txt", "sst/dev.txt"),
}
LOOP = {"optimizer": "adam", "lr": 0.01, "accelerator": "cpu", "epochs": 2, "batch_size": 32}


def settings(task, *, data=None, model=None, **training):
    names, valid = FILES[task]
    sizes = {"gate": "s_lstm", "hidden_size": 8, "embedding": 6, "head": [8], "init": "uniform"}
    return settings_from(
        {
            "task": task,
            "data": {"train": names, "valid": valid, "root": str(SAMPLES), **(data or {})},
            "model": {**sizes, **(model or {})},
            "training": {**LOOP, "monitor": "loss", **training},
        }
    )


def logits(made, task, model=None):
    examples = load_splits(get_task(task), made.data).train
    torch.manual_seed(0)
    built = get_task(task).build(made.model, vocabularies(examples)).eval()
    batch, targets = get_task(task).batch(examples, np.arange(5))
    return built(batch), targets


@pytest.mark.parametrize("task", FILES)
@pytest.mark.parametrize("encoder", ["nti", "lstm", "transformer"])
def test_a_run_learns_evaluates_and_predicts(tmp_path, task, encoder):
    made = settings(task, model={"encoder": encoder}, epochs=6)
    result = train(made, tmp_path / "run", bar=False)
    lines = [json.loads(x) for x in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["train_loss"] < lines[0]["train_loss"]
    test = str(SAMPLES / FILES[task][1])
    assert evaluate(tmp_path / "run", test=test) == result["valid"]
    found = list(predict(tmp_path / "run", [test]))
    assert len(found) == result["valid"]["examples"]
    words = result["parameters"]["model"] - result["parameters"]["table"]
    assert words % 6 == 0  # the words' vectors are not in the table


@pytest.mark.parametrize(
    "model",
    [
        {"leaves": "identity", "embedding": 8},
        {"leaves": "linear"},
        {"leaves": "bilstm", "gate": "chainer_s_lstm"},
        {"gate": "anf", "score": "dot"},
        {"gate": "lstm", "aggregator": "full", "hidden_size": 3},
        {"branching": 3, "padding": "right", "pad": "learned", "width": 27},
        {"branching": 3, "stride": 2},
        {"trees": "left"},
        {"interaction": "node_by_node", "attention": "tree"},
        {"interaction": "matching", "attention": "tree_code", "root_query": False},
        {"interaction": "full_matching", "mask_pads": True, "score": "map", "last_step": True},
        {"encoder": "bilstm", "layers": 2},
    ],
)
def test_settings_make_models(model):
    found, targets = logits(settings("snli", model=model), "snli")
    assert found.shape == (5, 3)
    assert targets.shape == (5,)
    assert torch.isfinite(found).all()


@pytest.mark.parametrize(
    ("task", "model", "message"),
    [
        ("snli", {"leaves": "identity"}, "expected a cell with|expected inputs of the hidden size"),
        ("snli", {"head": []}, "model.head to be the size of one hidden layer"),
        ("snli", {"encoder": "lstm", "interaction": "matching"}, "model.interaction none"),
        ("sst-phrases", {"interaction": "matching"}, "model.interaction none, got matching"),
        ("wikiqa", {"interaction": "node_by_node"}, "model.interaction none"),
        ("snli", {"leaves": "linear", "gate": "nary"}, "model.gate nary has a map of its own"),
        ("snli", {"stride": 3}, "a stride from 1 to 2"),
    ],
)
def test_settings_that_do_not_fit(task, model, message):
    with pytest.raises(ConfigError, match=message):
        logits(settings(task, model=model), task)


@pytest.mark.parametrize(
    ("name", "value"),
    [("encoder", "gru"), ("leaves", "gru"), ("interaction", "some"), ("attention", "self")],
)
def test_values_that_there_are_not(name, value):
    with pytest.raises(ConfigError, match=f"expected model.{name} to be .*, got '{value}'"):
        ModelSettings(**{name: value})


some_are_zero = pytest.mark.filterwarnings("ignore:.*no vectors for")


@some_are_zero
def test_word_vectors_are_fixed_and_unknown_words_zero(tmp_path):
    (tmp_path / "v.txt").write_text("a 1 2 3 4 5 6\nunheard 1 1 1 1 1 1\n", encoding="utf-8")
    data = {"vectors": str(tmp_path / "v.txt"), "lower": True}
    with pytest.warns(UserWarning, match=r"v.txt: no vectors for (\d+) of (\d+) words") as caught:
        ready = prepare(settings("snli", data=data, model={"fixed_words": True}))
    weight = ready.model.encoder.input.weight
    known = vocabularies(ready.splits.train)["word"]
    assert weight[known.encode(["a"])[0]].tolist() == [1, 2, 3, 4, 5, 6]
    assert (weight != 0).any(1).sum() == 1
    unknown_apart = len(known) - 1
    assert f"for {unknown_apart - 1} of {unknown_apart} words" in str(caught[0].message)
    result = train(
        settings("snli", data=data, model={"fixed_words": True}), tmp_path / "run", bar=False
    )
    assert math.isfinite(result["valid"]["loss"])
    weights = load_file(tmp_path / "run" / "weights.safetensors")
    assert_close(weights["encoder.encoder.input.weight"], weight)


@some_are_zero
def test_word_vectors_that_are_learned_move(tmp_path):
    (tmp_path / "v.txt").write_text("a 1 2 3 4 5 6\n", encoding="utf-8")
    data = {"vectors": str(tmp_path / "v.txt"), "lower": True}
    train(settings("snli", data=data), tmp_path / "run", bar=False)
    words = load_file(tmp_path / "run" / "weights.safetensors")["encoder.encoder.input.weight"]
    assert (words != 0).any(1).sum() > 1


@some_are_zero
def test_every_word_of_the_files_has_its_vector(tmp_path):
    for name, text in (("train", "yes no"), ("dev", "yes unheard"), ("test", "unseen")):
        (tmp_path / name).write_text(f"NEUTRAL\t{text}\tno\n", encoding="utf-8")
    vectors = "unheard 1 1 1 1 1 1\nunseen 2 2 2 2 2 2\n"
    (tmp_path / "v.txt").write_text(vectors, encoding="utf-8")
    files = {"train": "train", "valid": "dev", "test": "test", "vectors": "v.txt"}
    data = {**files, "root": str(tmp_path)}
    for every, known in ((False, 3), (True, 5)):
        ready = prepare(settings("snli", data={**data, "every_word": every}))
        assert ready.model.encoder.input.weight.shape == (known, 6)
        assert len(ready.splits.train) == 1
    assert ready.model.encoder.input.weight[-1].tolist() == [2] * 6
    assert ready.test.forest.columns["word"].tolist()[0] == 4
    with pytest.raises(ConfigError, match=r"data.vectors with data.every_word"):
        prepare(settings("snli", data={**data, "every_word": True, "vectors": None}))


def test_fixed_words_want_vectors():
    with pytest.raises(ConfigError, match=r"data.vectors with model.fixed_words, got none"):
        prepare(settings("snli", model={"fixed_words": True}))


def test_trees_of_one_width_want_a_limit():
    for limit in (None, 9):
        with pytest.raises(ConfigError, match=rf"data.max_words of at most 8 .*, got {limit}"):
            prepare(settings("snli", data={"max_words": limit}, model={"width": 8}))
    made = settings("snli", data={"max_words": 5}, model={"width": 8})
    with pytest.raises(TreeError, match=r"SICK_train_parsed.txt:1: .* at most 5 words, got 6"):
        prepare(made)
    prepare(settings("snli", data={"max_words": 8}, model={"width": 8}))


def test_vectors_of_another_size(tmp_path):
    (tmp_path / "v.txt").write_text("a 1 2 3\n", encoding="utf-8")
    with pytest.raises(TreeError, match=r"v.txt:1: expected a word and 6 numbers, got 4 fields"):
        prepare(settings("snli", data={"vectors": str(tmp_path / "v.txt")}))


SST = "(3 (2 The) (4 (3 good) (2 One)))\n(2 (1 bad) (2 day))\n"


def read(task, path, vocabs=None, **data):
    return load_examples(get_task(task), DataSettings(**data), [path], vocabs)


def sentences(data):
    names = data.forest.vocabs["word"].decode(data.forest.columns["word"])
    ends = data.forest.offsets
    return [" ".join(names[i:j]) for i, j in zip(ends[:-1], ends[1:])]


@pytest.fixture
def sst(tmp_path: Path) -> Path:
    path = tmp_path / "sst.txt"
    path.write_text(SST, encoding="utf-8")
    return path


def test_phrases_are_learned_and_sentences_evaluated(sst):
    data = read("sst-phrases", sst)
    every = ["The good One", "The", "good One", "good", "One", "bad day", "bad", "day"]
    assert sentences(data) == every
    assert data.columns["target"].tolist() == [3, 2, 4, 3, 2, 2, 1, 2]
    for vocabulary in vocabularies(data).values():
        vocabulary.freeze()
    later = read("sst-phrases", sst, vocabularies(data), lower=True)
    assert sentences(later) == ["<unk> good <unk>", "bad day"]
    assert sentences(read("sst-phrases", sst, supervise="root")) == ["The good One", "bad day"]


def test_binary_leaves_neutral_phrases_out(sst):
    data = read("sst-phrases", sst, binary=True, lower=True)
    assert sentences(data) == ["the good one", "good one", "good", "bad"]
    assert data.targets.decode(data.columns["target"]) == [*["positive"] * 3, "negative"]


def test_long_sentences_of_sst(sst):
    sst.write_text("\n" + SST, encoding="utf-8")
    with pytest.raises(
        TreeError, match=r"sst.txt:2: expected a sentence of at most 2 words, got 3"
    ):
        read("sst-phrases", sst, max_words=2)
    cut = read("sst-phrases", sst, max_words=1, truncate=True, supervise="root")
    assert sentences(cut) == ["The", "bad"]
    with pytest.raises(ConfigError, match="expected max_words with truncate, got none"):
        read("sst-phrases", sst, truncate=True)


def test_questions_of_several_files_stay_apart(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text("q\tyes\t1\nq\tno\t0\n", encoding="utf-8")
    train(settings("wikiqa", model={"encoder": "lstm"}), tmp_path / "run", bar=False)
    report = evaluate(tmp_path / "run", test=[str(tmp_path / name) for name in "ab"])
    assert (report["questions"], report["dropped"], report["examples"]) == (2, 0, 4)
    found = list(predict(tmp_path / "run", [tmp_path / "a", tmp_path / "b"]))
    assert [(f["question"], f["sentence"]) for f in found] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert sorted(f["rank"] for f in found) == [1, 1, 2, 2]


def test_questions_without_an_answer_are_counted(tmp_path):
    result = train(settings("wikiqa", monitor="map"), tmp_path / "run", bar=False)["valid"]
    text = (SAMPLES / "wikiqa" / "WikiQASent-dev.txt").read_text(encoding="utf-8").splitlines()
    answered = {line.split("\t")[0] for line in text if line.endswith("1")}
    assert result["questions"] == len(answered)
    assert result["dropped"] == len({line.split("\t")[0] for line in text} - answered)
    assert 0 < result["map"] == result["mrr"] <= 1  # each question has one answer at most


def test_some_question_must_have_an_answer(tmp_path):
    train(settings("wikiqa", model={"encoder": "lstm"}), tmp_path / "run", bar=False)
    (tmp_path / "none").write_text("q\tyes\t0\np\tno\t0\n", encoding="utf-8")
    with pytest.raises(TreeError, match="a question with a right answer, got 2 without one"):
        evaluate(tmp_path / "run", test=[str(tmp_path / "none")])


def test_word_counts_change_the_score():
    plain, _ = logits(settings("wikiqa"), "wikiqa")
    counted, _ = logits(settings("wikiqa", model={"word_count": True}), "wikiqa")
    assert plain.shape == counted.shape == (5, 1)
    assert not torch.equal(plain, counted)


def test_a_fingerprint_has_the_sentences_beside_the_labels(tmp_path):
    for name in ("labels", "s1", "s2"):
        (tmp_path / f"{name}.dev").write_text("a\n")
    before = fingerprint(tmp_path / "labels.dev")
    (tmp_path / "s2.dev").write_text("b\n")
    after = fingerprint(tmp_path / "labels.dev")
    assert before["bytes"] == after["bytes"] == 6
    assert before["sha256"] != after["sha256"]
    assert before["name"] == "labels.dev"
