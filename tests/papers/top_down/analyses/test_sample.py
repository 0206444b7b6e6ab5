"""Trees drawn by a run's model, from Python and from the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from dgltrees import load, read
from dgltrees.cli import main
from dgltrees.papers.top_down.analyses.edge_classifier import load_joint, train_edge_classifier
from dgltrees.papers.top_down.analyses.sample import sample
from dgltrees.papers.top_down.analyses.scoring import (
    generation_log_probs,
    log_probs,
    tree_language_model,
)
from dgltrees.papers.top_down.data.ordered import brackets
from dgltrees.papers.top_down.graphs import generation_forest
from dgltrees.papers.top_down.models.sample_trees import Sampling
from dgltrees.training.run import train
from dgltrees.trees.builders import from_nested
from tests.papers.top_down.samples import tree_lm_settings
from tests.training.samples import SENTENCES

MODEL: dict[str, Any] = {"hidden": [8], "dropout": 0.0}
LOOP: dict[str, Any] = {"epochs": 20, "batch_size": 16, "lr": 0.2}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    loop = {"epochs": 8, "batch_size": 2}
    model = {"left_dependents": True, "labels": True}
    train(tree_lm_settings(model, training=loop), path, bar=False)
    train_edge_classifier(load(path), model=MODEL, training=LOOP, bar=False)
    return path


def test_the_scores_of_generated_trees_are_those_of_the_model(run: Path) -> None:
    loaded = load(run)
    joint = load_joint(loaded)
    trees = sample(loaded, 300, seed=3, sample_decisions=True, max_words=30)
    assert len(trees.forest) == 300  # in batches of 256
    forest = generation_forest(trees.forest)
    for name, model in (("log_prob", tree_language_model(loaded)), ("joint_log_prob", joint)):
        written = torch.tensor([comment[name] for comment in trees.comments]).double()
        scored = torch.from_numpy(generation_log_probs(model, forest, loaded.fabric))
        assert_close(scored, written, rtol=1e-4, atol=1e-4)
    assert trees.forest.sizes.max() <= 31


def test_a_model_with_stops_needs_no_shape_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its trees end where START and STOP are drawn, and all that scores returns log P(S, T)."""
    run = tmp_path / "run"
    loop = {"epochs": 8, "batch_size": 2, "lr": 0.3}
    model = {"stops": True, "left_dependents": True}
    train(tree_lm_settings(model, training=loop), run, bar=False)
    loaded = load(run)
    trees = sample(loaded, 60, max_words=12)
    trees.write(tmp_path / "a.conllu", "conllu")
    joint = [comment["joint_log_prob"] for comment in trees.comments]
    np.testing.assert_allclose(log_probs(loaded, trees.forest), joint, rtol=1e-4, atol=1e-4)
    lines = list(loaded.predict([tmp_path / "a.conllu"]))
    for name in ("log_prob", "joint_log_prob"):
        expected = [comment[name] for comment in trees.comments]
        np.testing.assert_allclose([line[name] for line in lines], expected, rtol=1e-4, atol=1e-4)
    assert main(["evaluate", str(run), "--test", str(SENTENCES)]) == 0
    assert "joint_loss" in json.loads(capsys.readouterr().out.splitlines()[-1])
    assert main(["train-edge-classifier", str(run)]) == 2
    assert "by START and STOP; its log-probability is joint" in capsys.readouterr().err


def test_options_reach_the_model(run: Path) -> None:
    loaded = load(run)
    cold = sample(loaded, 3, sampling=Sampling(temperature=0.0), max_words=9)
    assert len(set(cold.sentences)) == 1
    unknown = int(loaded.vocabularies["word"].encode(["<unk>"])[0])
    with torch.no_grad():
        output = tree_language_model(loaded).output
        output[unknown] = 0.0
        output[:unknown] *= 1e-3
        output[unknown + 1 :] *= 1e-3
    for allowed in (True, False):
        trees = sample(loaded, 200, unknown=allowed, max_words=3)
        assert (trees.forest.columns["word"] == unknown).any() == allowed


def test_generate(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["sample", str(run), "--number", "4", "--seed", "2", "--sample_decisions", "true"]
    assert main(argv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    for name in ("a.conllu", "b.conllu", "a.txt", "a.svg"):
        assert main([*argv, "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.conllu").read_bytes() == (tmp_path / "b.conllu").read_bytes()
    assert (tmp_path / "a.txt").read_text().splitlines() == lines
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    trees = read(tmp_path / "a.conllu", "conllu").forest
    assert (trees.columns["deprel"][trees.parent >= 0] >= 0).all()
    words = trees.vocabs["word"].decode(trees.columns["word"][1 : trees.sizes[0]])
    assert " ".join(words) == lines[0]
    text = (tmp_path / "a.conllu").read_text()
    assert f"# text = {lines[0]}\n# log_prob = -" in text
    assert main([*argv, "--seed", "3"]) == 0
    assert capsys.readouterr().out.splitlines() != lines


def test_trees_without_heads(tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_text("(S (NP (NN dogs)) (VP (VB bark)))\n" * 4, encoding="utf-8")
    from_nested(("animal", ("bird", "owl"), "worm"), form="head").save(tmp_path / "taxonomy")
    for name in ("a.mrg", "taxonomy"):
        data = {"train": str(tmp_path / name), "valid": str(tmp_path / name)}
        path = tmp_path / f"run-{name}"
        train(tree_lm_settings(data=data, training={"epochs": 6}), path, bar=False)
        train_edge_classifier(load(path), model=MODEL, training={**LOOP, "epochs": 4}, bar=False)
        trees = sample(load(path), 5, sampling=Sampling(temperature=0.0), max_words=20)
        assert not trees.heads
        assert trees.sentences == brackets(trees.forest)
        trees.write(tmp_path / "a.svg", "svg")
        assert (tmp_path / "a.svg").read_text().startswith("<svg")


def test_errors(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for extra, text in (
        (["--out", "a.pdf"], "name ends in .txt, .conllu, .svg, got a.pdf; or name the format"),
        (["--format", "svg"], "missing a file to write for the format svg; add --out"),
        (["--number", "0"], "--number to be an integer of at least 1, got 0"),
    ):
        assert main(["sample", str(run), *extra]) == 2
        assert text in capsys.readouterr().err
    train(tree_lm_settings(), tmp_path / "bare", bar=False)
    assert main(["sample", str(tmp_path / "bare")]) == 2
    assert "dgltrees train-edge-classifier" in capsys.readouterr().err
