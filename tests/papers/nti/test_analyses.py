"""Attention, similar phrases and accuracy by padding of trained models of plain sentences."""

import itertools
import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from dgltrees.cells.compiled import check, way
from dgltrees.cli import main
from dgltrees.errors import ConfigError, TreeError
from dgltrees.papers.nti import commands
from dgltrees.papers.nti.analyses import (
    accuracy_by_padding,
    attention_map,
    encodings,
    examples_with_all_words,
    pad_attention,
    sentences_with_all_words,
    similar,
)
from dgltrees.training.run import train
from dgltrees.training.trained import TrainedModel, load
from tests.models.test_pretrained import folder  # noqa: F401  (a fixture)
from tests.training.samples import SAMPLES, quick, with_model

DEV = SAMPLES / "sick" / "SICK_trial_parsed.txt"
SST = SAMPLES / "sst" / "dev.txt"
SMALL: dict[str, Any] = {"hidden_size": 6, "embedding": 6, "head_hidden_sizes": [8]}


def trained(factory: pytest.TempPathFactory, preset: str, **model: Any) -> TrainedModel:
    path = factory.mktemp("runs") / preset
    settings = with_model(quick(preset, batch_size=20), **SMALL, **model)
    train(settings, path, bar=False)
    return load(path)


@pytest.fixture(scope="module")
def node_run(tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    return trained(tmp_path_factory, "sick-node-global")


@pytest.fixture(scope="module")
def matching_run(tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    return trained(tmp_path_factory, "sick-fullmatching-global", padding="right")


@pytest.fixture(scope="module")
def lstm_run(tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    return trained(tmp_path_factory, "sick-lstm")


@pytest.fixture(scope="module")
def sst_run(tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    return trained(tmp_path_factory, "sst-phrases-small")


def command(name: str, run: TrainedModel, path: Path, *flags: str) -> list[str]:
    """The words of a command that reads a file."""
    return [name, str(run.directory.path), "--input", str(path), *flags]


def test_a_map_has_the_words_and_the_phrases(
    node_run: TrainedModel, matching_run: TrainedModel
) -> None:
    """A girl runs in the park: six words, two pads; A child runs: three words, one pad."""
    for run, words, phrases in (
        (node_run, [None, None, "a", "girl"], ["a", "child runs", "a child runs"]),
        (matching_run, ["a", "girl", "runs", "in"], ["a child", "runs", "a child runs"]),
    ):
        found = attention_map(run, [DEV], 0)
        assert found.words[:4] == words
        assert len(found.words) == 8
        assert found.phrases[-3:] == phrases
        assert found.pads[-3:] == ([1, 0, 1] if run is node_run else [0, 1, 1])
        assert_close(found.weights.sum(1), np.ones(len(found.phrases)), rtol=0, atol=1e-6)
        assert found.spans[-1].tolist() == [0, 7]
        assert found.depth.tolist() == [3] * 8 + [2] * 4 + [1, 1, 0]
    assert found.phrases[:3] == ["a", "child", "runs"]  # in matching, leaves attend too


def test_a_pair_without_a_label_has_the_number_of_its_prediction(
    node_run: TrainedModel, tmp_path: Path
) -> None:
    first, second, *_ = DEV.read_text().splitlines()
    _, pair = first.split("\t", 1)
    path, alone = tmp_path / "pairs.txt", tmp_path / "alone.txt"
    path.write_text(f"-\t{pair}\n{second}\n")
    for number, line in enumerate((first, second)):
        alone.write_text(f"{line}\n")
        expected, found = attention_map(node_run, [alone]), attention_map(node_run, [path], number)
        assert found.words == expected.words
        assert_close(found.weights, expected.weights)


def test_a_map_is_drawn(
    matching_run: TrainedModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "map.svg")
    argv = command("attention", matching_run, DEV, "--phrases", "a child", "--out", out)
    assert main(argv) == 0
    assert (tmp_path / "map.svg").read_text(encoding="utf-8").count('class="cell"') == 15
    assert main(argv[:-4]) == 0
    assert "a child runs (and 1 pad)" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--phrases", "no such"], "expected a phrase of the hypothesis, got 'no such'"),
        (["--example", "99"], "expected an example from 0 to 29, got 99"),
    ],
)
def test_maps_that_do_not_exist(
    matching_run: TrainedModel, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    assert main(command("attention", matching_run, DEV, *more)) == 2
    assert message in capsys.readouterr().err


def test_models_that_do_not_attend_or_make_no_trees(lstm_run: TrainedModel) -> None:
    with pytest.raises(ConfigError, match=r"attend to each other .* at .*, got .* nli \(LSTM\)"):
        attention_map(lstm_run, [DEV])
    with pytest.raises(ConfigError, match=r"a model that builds trees .*, got .* nli \(LSTM\)"):
        similar(lstm_run, [DEV], ["a"])
    with pytest.raises(ConfigError, match="a model that builds trees"):
        accuracy_by_padding(lstm_run, [DEV])


def test_overlapping_trees_are_not_drawn(tmp_path_factory: pytest.TempPathFactory) -> None:
    run = trained(tmp_path_factory, "sick-fullmatching-global", branching=3, stride=2)
    with pytest.raises(TreeError, match="sub-trees that overlap"):
        attention_map(run, [DEV])


@pytest.mark.parametrize("analysis", [attention_map, pad_attention])
def test_a_hypothesis_of_one_word_has_no_attention(
    node_run: TrainedModel, tmp_path: Path, analysis: Callable[..., object]
) -> None:
    (tmp_path / "pairs_parsed.txt").write_text("NEUTRAL\t( ( A girl ) runs )\trun\n")
    with pytest.raises(TreeError, match="several words, got a single one, whose leaf does not att"):
        analysis(node_run, [tmp_path / "pairs_parsed.txt"])


def test_attention_on_pads_is_what_the_maps_show(node_run: TrainedModel) -> None:
    masses: list[float] = []
    shares: list[float] = []
    for example in range(30):
        found = attention_map(node_run, [DEV], example)
        none = [word is None for word in found.words]
        pads = np.array([all(none[a : b + 1]) for a, b in found.spans])
        masses += found.weights[:, pads].sum(1).tolist()
        shares += [pads.mean()] * len(found.phrases)
    report = pad_attention(node_run, [DEV], max_nodes=50)
    assert report["queries"] == len(masses)
    assert report["mean"] == pytest.approx(np.mean(masses), rel=1e-4)
    assert report["most"] == pytest.approx(np.max(masses), rel=1e-4)
    assert report["share"] == pytest.approx(np.mean(shares), rel=1e-4)


def slow_neighbors(run: TrainedModel, query: str, texts: Sequence[str]) -> list[tuple[str, float]]:
    """The cosines of single sentences to a query, the slow way."""

    def root(text: str) -> Tensor:
        ((_, encoding),) = encodings(run, sentences_with_all_words(run, [text]))
        return encoding.roots[0]

    cosine = {t: torch.cosine_similarity(root(query), root(t), 0).item() for t in set(texts)}
    return sorted(cosine.items(), key=lambda pair: -pair[1])


def test_similar_sentences(sst_run: TrainedModel) -> None:
    forest = examples_with_all_words(sst_run, [SST]).forest
    names = forest.vocabs["word"].decode(forest.columns["word"])
    ends = forest.offsets.tolist()
    texts = [" ".join(names[i:j]) for i, j in itertools.pairwise(ends)]
    with pytest.warns(UserWarning, match="does not know the words 'good' of the queries"):
        (found,) = similar(sst_run, [SST], ["The  film is good ."], number=4, of="sentences")
    expected = slow_neighbors(sst_run, "the film is good .", texts)
    expected = [pair for pair in expected if pair[0] != "the film is good ."][:4]
    assert [row["cosine"] for row in found["nearest"]] == pytest.approx(
        [cosine for _, cosine in expected], abs=1e-5
    )


def test_similar_phrases(
    sst_run: TrainedModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = command("similar", sst_run, SST, "--query", "is", "the film")
    assert main([*argv, "--number", "3"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["query"] for row in rows] == ["is", "the film"]
    for row in rows:
        texts = [found["text"] for found in row["nearest"]]
        assert len(set(texts)) == 3
        assert row["query"] not in texts
        cosines = [found["cosine"] for found in row["nearest"]]
        assert cosines == sorted(cosines, reverse=True)
    assert main([*argv, "--out", str(tmp_path / "n.jsonl")]) == 0
    assert len((tmp_path / "n.jsonl").read_text().splitlines()) == 2
    assert main([*argv, "--of", "words"]) == 2
    assert "--of to be one of phrases, sentences, or null, got 'words'" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="phrases or sentences, got 0 queries, 5 and phrases"):
        similar(sst_run, [SST], [])


def test_neighbors_by_the_vectors_of_a_pretrained_encoder(
    folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    path = tmp_path / "trees.txt"
    path.write_text("(3 (2 a) (4 (2 d) (2 e)))\n(1 (1 e) (0 Abc))\n(1 (2 d) (1 a))\n" * 4)
    files = {"train": str(path), "valid": str(path), "pretrained": str(folder)}
    settings = quick("sst-phrases-small", files, batch_size=20)
    settings = with_model(settings, **{**SMALL, "words": "pretrained", "embedding": 8})
    train(settings, tmp_path / "run", bar=False)
    (found,) = similar(load(tmp_path / "run"), [path], ["d E"], number=9)
    cosines = {row["text"]: row["cosine"] for row in found["nearest"]}
    assert {"a", "d", "e", "abc", "e abc", "d a", "a d e"} <= set(cosines)
    assert len(set(cosines.values())) == len(cosines)


def test_attention_to_a_premise_is_traced_for_no_batch(
    node_run: TrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What attends holds the states of the batch's premises, and each would be traced anew; the
    trees of the premises themselves are traced once."""
    traced: list[object] = []
    monkeypatch.setattr(way, "ALONE", 1)
    monkeypatch.setattr(way, "compiles", lambda like: True)
    monkeypatch.setattr(check, "trace_cell", lambda *given: traced.append(given))
    node_run.evaluate(str(DEV))
    node_run.evaluate(str(DEV))
    assert len(traced) == 1


def test_accuracy_by_padding(
    sst_run: TrainedModel,
    matching_run: TrainedModel,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = accuracy_by_padding(sst_run, [SST], step=2)
    report = sst_run.evaluate(str(SST))
    assert sum(row["examples"] for row in rows) == report["examples"]
    mean = sum(row["accuracy"] * row["examples"] for row in rows) / report["examples"]
    assert mean == pytest.approx(report["accuracy"])
    assert all(row["pads"] % 2 == 0 for row in rows)
    out = tmp_path / "pads.png"
    argv = command("accuracy-by-padding", matching_run, DEV)
    again = tmp_path / "again"  # two runs of one name, each with a line of its own
    shutil.copytree(matching_run.directory.path, again)
    assert main([argv[0], str(again), *argv[1:], "--out", str(out)]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [report.pop("run") for report in printed] == [str(again), argv[1]]
    assert printed[0] == printed[1]
    assert set(printed[0]["attention"]) == {"mean", "most", "share", "queries"}
    assert main([*argv[:2], *argv[1:]]) == 2
    assert "expected every run once" in capsys.readouterr().err
    assert out.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigError, match="a step of at least 1"):
        accuracy_by_padding(sst_run, [SST], step=0)


def test_a_picture_that_cannot_be_written_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["accuracy-by-padding", str(tmp_path / "none"), "--input", str(DEV), "--out"]
    assert main([*argv, "x.pdfx"]) == 2
    assert "--out to end in .png, .svg, .pdf, got x.pdfx" in capsys.readouterr().err
    monkeypatch.setattr(commands, "has_matplotlib", lambda: False)
    assert main([*argv, "x.png"]) == 2
    assert "it needs matplotlib" in capsys.readouterr().err


def test_other_runs_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(quick("sst-tree"), tmp_path / "run", bar=False)
    run = load(tmp_path / "run")
    with pytest.raises(ConfigError, match="a run of nli, wikiqa or sst-phrases at .*, got .* sst"):
        examples_with_all_words(run, [SST])
    assert main(command("similar", run, SST, "--query", "a")) == 2
    message = "a run of nli, sst-phrases or wikiqa at .*, got .* sst"  # by name
    assert re.search(message, capsys.readouterr().err)
