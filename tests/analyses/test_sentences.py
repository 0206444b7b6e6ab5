"""What is found out about trained models of plain sentences."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from dgltrees.analyses.neighbors import nearest
from dgltrees.analyses.sentence_runs import SentenceRun
from torch.testing import assert_close

from dgltrees.analyses.attention import attention_map, pad_attention
from dgltrees.analyses.padding import accuracy_by_padding
from dgltrees.cli import main
from dgltrees.errors import ConfigError, TreeError
from dgltrees.training.run import evaluate, train
from tests.models.test_pretrained import folder  # noqa: F401  (a fixture)
from tests.training.samples import SAMPLES, quick, with_model

DEV = SAMPLES / "sick" / "SICK_trial_parsed.txt"
SST = SAMPLES / "sst" / "dev.txt"
SMALL = {"hidden_size": 6, "embedding": 6, "head": [8]}


def trained(tmp_path_factory, preset, **model):
    path = tmp_path_factory.mktemp("runs") / preset
    settings = with_model(quick(preset, batch_size=20), **SMALL, **model)
    train(settings, path, bar=False)
    return path


@pytest.fixture(scope="module")
def node_run(tmp_path_factory):
    return trained(tmp_path_factory, "sick-node-global")


@pytest.fixture(scope="module")
def matching_run(tmp_path_factory):
    return trained(tmp_path_factory, "sick-fullmatching-global", padding="right")


@pytest.fixture(scope="module")
def lstm_run(tmp_path_factory):
    return trained(tmp_path_factory, "sick-lstm")


@pytest.fixture(scope="module")
def sst_run(tmp_path_factory):
    return trained(tmp_path_factory, "sst-phrases-small")


def test_a_map_has_the_words_and_the_phrases(node_run, matching_run):
    """A girl runs in the park: six words, two pads; A child runs: three words, one pad."""
    for run, words, phrases in (
        (node_run, [None, None, "a", "girl"], ["a", "child runs", "a child runs"]),
        (matching_run, ["a", "girl", "runs", "in"], ["a child", "runs", "a child runs"]),
    ):
        found = attention_map(SentenceRun(run), [DEV], 0)
        assert found.words[:4] == words
        assert len(found.words) == 8
        assert found.phrases[-3:] == phrases
        assert found.pads[-3:] == ([1, 0, 1] if run == node_run else [0, 1, 1])
        assert_close(found.weights.sum(1), np.ones(len(found.phrases)), rtol=0, atol=1e-6)
        assert found.spans[-1].tolist() == [0, 7]
        assert found.depth.tolist() == [3] * 8 + [2] * 4 + [1, 1, 0]
    assert found.phrases[:3] == ["a", "child", "runs"]  # in matching, leaves attend too


def test_a_map_is_drawn(matching_run, tmp_path, capsys):
    out = str(tmp_path / "map.svg")
    argv = ["attend", str(matching_run), "--input", str(DEV), "--phrases", "a child", "--out", out]
    assert main(argv) == 0
    assert (tmp_path / "map.svg").read_text(encoding="utf-8").count('class="cell"') == 15
    assert main(argv[:-4]) == 0
    assert "a child runs (and 1 pad)" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--phrases", "no such"], "expected a phrase that a node of the hypothesis covers"),
        (["--example", "99"], "expected an example from 0 to 29, got 99"),
    ],
)
def test_maps_that_there_are_not(matching_run, capsys, more, message):
    assert main(["attend", str(matching_run), "--input", str(DEV), *more]) == 2
    assert message in capsys.readouterr().err


def test_models_that_do_not_attend(lstm_run, sst_run):
    with pytest.raises(ConfigError, match=r"whose sentences attend to each other .*, got LSTM"):
        attention_map(SentenceRun(lstm_run), [DEV])
    with pytest.raises(ConfigError, match="a model that makes trees"):
        nearest(SentenceRun(lstm_run), [DEV], ["a"])
    with pytest.raises(ConfigError, match="a model that makes trees"):
        accuracy_by_padding(SentenceRun(lstm_run), [DEV])


def test_overlapping_trees_are_not_drawn(tmp_path_factory):
    path = trained(tmp_path_factory, "sick-fullmatching-global", branching=3, stride=2)
    with pytest.raises(TreeError, match="sub-trees that overlap"):
        attention_map(SentenceRun(path), [DEV])


def test_attention_on_pads_is_what_the_maps_show(node_run):
    run = SentenceRun(node_run)
    masses, shares = [], []
    for example in range(30):
        found = attention_map(run, [DEV], example)
        none = [word is None for word in found.words]
        pads = np.array([all(none[a : b + 1]) for a, b in found.spans])
        masses += found.weights[:, pads].sum(1).tolist()
        shares += [pads.mean()] * len(found.phrases)
    report = pad_attention(run, [DEV], max_nodes=50)
    assert report["queries"] == len(masses)
    assert report["mean"] == pytest.approx(np.mean(masses), rel=1e-4)
    assert report["most"] == pytest.approx(np.max(masses), rel=1e-4)
    assert report["share"] == pytest.approx(np.mean(shares), rel=1e-4)


def slow_neighbors(run, query, texts):
    """The cosines of single sentences to a query, the slow way."""

    def root(text):
        ((_, encoding),) = run.encodings(run.sentences([text]))
        return encoding.roots[0]

    cosine = {t: torch.cosine_similarity(root(query), root(t), 0).item() for t in set(texts)}
    return sorted(cosine.items(), key=lambda pair: -pair[1])


def test_nearest_sentences(sst_run):
    run = SentenceRun(sst_run)
    forest = run.read([SST]).forest
    names = forest.vocabs["word"].decode(forest.columns["word"])
    ends = forest.offsets.tolist()
    texts = [" ".join(names[i:j]) for i, j in zip(ends, ends[1:])]
    (found,) = nearest(run, [SST], ["The  film is good ."], number=4, of="sentences")
    expected = slow_neighbors(run, "the film is good .", texts)
    expected = [pair for pair in expected if pair[0] != "the film is good ."][:4]
    assert [row["cosine"] for row in found["nearest"]] == pytest.approx(
        [cosine for _, cosine in expected], abs=1e-5
    )


def test_nearest_phrases(sst_run, tmp_path, capsys):
    argv = ["nearest", str(sst_run), "--input", str(SST), "--query", "is good", "very good"]
    assert main([*argv, "--number", "3"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["query"] for row in rows] == ["is good", "very good"]
    for row in rows:
        texts = [found["text"] for found in row["nearest"]]
        assert len(set(texts)) == 3
        assert row["query"] not in texts
        cosines = [found["cosine"] for found in row["nearest"]]
        assert cosines == sorted(cosines, reverse=True)
    assert main([*argv, "--out", str(tmp_path / "n.jsonl")]) == 0
    assert len((tmp_path / "n.jsonl").read_text().splitlines()) == 2
    assert main([*argv, "--of", "words"]) == 2
    assert "one of phrases or sentences, got 2 queries, 5 and words" in capsys.readouterr().err


def test_neighbors_by_the_vectors_of_a_pretrained_encoder(folder, tmp_path):  # noqa: F811
    path = tmp_path / "trees.txt"
    path.write_text("(3 (2 a) (4 (2 d) (2 e)))\n(1 (1 e) (0 Abc))\n(1 (2 d) (1 a))\n" * 4)
    files = {"train": str(path), "valid": str(path), "pretrained": str(folder)}
    settings = quick("sst-phrases-small", files, batch_size=20)
    settings = with_model(settings, **{**SMALL, "words": "pretrained", "embedding": 8})
    train(settings, tmp_path / "run", bar=False)
    (found,) = nearest(SentenceRun(tmp_path / "run"), [path], ["d E"], number=9)
    cosines = {row["text"]: row["cosine"] for row in found["nearest"]}
    assert {"a", "d", "e", "abc", "e abc", "d a", "a d e"} <= set(cosines)
    assert len(set(cosines.values())) == len(cosines)


def test_accuracy_by_padding(sst_run, matching_run, tmp_path, capsys):
    rows = accuracy_by_padding(SentenceRun(sst_run), [SST], step=2)
    report = evaluate(sst_run, test=[str(SST)])
    assert sum(row["examples"] for row in rows) == report["examples"]
    mean = sum(row["accuracy"] * row["examples"] for row in rows) / report["examples"]
    assert mean == pytest.approx(report["accuracy"])
    assert all(row["pads"] % 2 == 0 for row in rows)
    out = tmp_path / "pads.png"
    assert main(["padding", str(matching_run), "--input", str(DEV), "--out", str(out)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["attention"]) == {"mean", "most", "share", "queries"}
    assert out.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigError, match="steps of at least 1"):
        accuracy_by_padding(SentenceRun(sst_run), [SST], step=0)


def test_other_runs_are_refused(tmp_path):
    train(quick("sst-tree"), tmp_path / "run", bar=False)
    with pytest.raises(ConfigError, match="a run of snli, wikiqa or sst-phrases"):
        SentenceRun(tmp_path / "run")
