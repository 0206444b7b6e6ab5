"""Trees drawn and shortened by a run's model, from Python and from the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from dgltrees import ConfigError
from dgltrees.analyses.compress import compress_files
from dgltrees.analyses.decisions import DecisionSettings, load_joint, train_decisions
from dgltrees.analyses.generate import generate
from dgltrees.analyses.scoring import TrainedLanguageModel, log_probs
from dgltrees.cli import main
from dgltrees.formats import read_conllu
from dgltrees.models import Sampling
from dgltrees.training.processes import make_fabric
from dgltrees.training.run import predict, train
from dgltrees.training.rundir import RunDirectory
from dgltrees.trees.builders import brackets, from_nested
from tests.tasks.language_models.test_tree_lm import SAMPLE, settings

QUICK = DecisionSettings(hidden=[8], epochs=60, dropout=0.0, batch_size=16, lr=0.05)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    loop = {"epochs": 8, "batch_size": 2}
    train(settings({"left_dependents": True, "labels": True}, training=loop), path, bar=False)
    train_decisions(path, QUICK)
    return path


def test_what_is_said_of_the_trees_is_what_the_scorer_says(run: Path) -> None:
    fabric = make_fabric(RunDirectory(run).one_device())
    joint = load_joint(run, fabric)
    made = generate(joint, 300, seed=3, sample_decisions=True, max_words=30)
    assert len(made.forest) == 300  # in batches of 256
    for name, model in (("log_prob", joint.model.words), ("joint_log_prob", joint.model)):
        found = torch.tensor([about[name] for about in made.comments]).double()
        scored = torch.from_numpy(log_probs(model, made.forest, fabric))
        assert_close(scored, found, rtol=1e-4, atol=1e-4)
    assert made.forest.sizes.max() <= 31


def test_a_model_with_stops_needs_no_decisions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its trees end where START and STOP are drawn, and all that scores says log P(S, T)."""
    run = tmp_path / "run"
    made = {"stops": True, "left_dependents": True}
    train(settings(made, training={"epochs": 8, "batch_size": 2, "lr": 0.3}), run, bar=False)
    drawn = generate(load_joint(run), 60, max_words=12)
    drawn.write(tmp_path / "a.conllu", "conllu")
    found = [about["joint_log_prob"] for about in drawn.comments]
    model = TrainedLanguageModel(run)
    np.testing.assert_allclose(model.log_probs(drawn.forest), found, rtol=1e-4, atol=1e-4)
    said = list(predict(run, [tmp_path / "a.conllu"]))
    for name in ("log_prob", "joint_log_prob"):
        wanted = [about[name] for about in drawn.comments]
        np.testing.assert_allclose([each[name] for each in said], wanted, rtol=1e-4, atol=1e-4)
    argv = ["compress", str(run), "--input", str(SAMPLE), "--max_words", "4", "--out"]
    assert main([*argv, str(tmp_path / "b.conllu")]) == 0
    assert "# joint_log_prob = -" in (tmp_path / "b.conllu").read_text()
    assert main(["evaluate", str(run), "--data.test", str(SAMPLE)]) == 0
    assert "joint_loss" in json.loads(capsys.readouterr().out.splitlines()[-1])
    assert main(["decide", str(run)]) == 2
    assert "by START and STOP (model.stops); its log P is joint" in capsys.readouterr().err


def test_options_reach_the_model(run: Path) -> None:
    joint = load_joint(run)
    cold = generate(joint, 3, sampling=Sampling(temperature=0.0), max_words=9)
    assert len(set(cold.sentences)) == 1
    words = joint.vocabs["word"]
    unknown = int(words.encode(["<unk>"])[0])
    with torch.no_grad():
        joint.model.words.output[unknown] = 0.0
        joint.model.words.output[:unknown] *= 1e-3
        joint.model.words.output[unknown + 1 :] *= 1e-3
    for allowed in (True, False):
        made = generate(joint, 200, unknown=allowed, max_words=3)
        assert (made.forest.columns["word"] == unknown).any() == allowed


def test_generate(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["generate", str(run), "--number", "4", "--seed", "2", "--sample_decisions", "true"]
    assert main(argv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    for name in ("a.conllu", "b.conllu", "a.txt", "a.svg"):
        assert main([*argv, "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.conllu").read_bytes() == (tmp_path / "b.conllu").read_bytes()
    assert (tmp_path / "a.txt").read_text().splitlines() == lines
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    read = read_conllu(tmp_path / "a.conllu").forest
    assert (read.columns["deprel"][read.parent >= 0] >= 0).all()
    words = read.vocabs["word"].decode(read.columns["word"][1 : read.sizes[0]])
    assert " ".join(words) == lines[0]
    text = (tmp_path / "a.conllu").read_text()
    assert f"# text = {lines[0]}\n# log_prob = -" in text
    assert main([*argv, "--seed", "3"]) == 0
    assert capsys.readouterr().out.splitlines() != lines


def test_decide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(settings(), tmp_path / "run", bar=False)
    argv = ["decide", str(tmp_path / "run"), "--epochs", "1", "--hidden=[4]", "--state", "source"]
    assert main(argv) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["settings"]["state"] == "source"
    assert set(found["valid"]["LEFT"]) == {"decisions", "accuracy", "majority", "loss"}


def test_compress(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["compress", str(run), "--input", str(SAMPLE), "--max_words", "4"]
    assert main(argv) == 0
    lines = capsys.readouterr().out.splitlines()
    whole = read_conllu(SAMPLE).forest
    assert [len(line.split()) for line in lines] == [min(4, n - 1) for n in whole.sizes]
    assert main([*argv, "--joint", "true", "--out", str(tmp_path / "a.conllu")]) == 0
    text = (tmp_path / "a.conllu").read_text()
    assert "# joint_log_prob = -" in text
    assert "\tNOUN\t" in text
    short = read_conllu(tmp_path / "a.conllu").forest
    assert len(short) == len(whole)
    made = compress_files(run, [SAMPLE], 4)
    assert [about["words"] for about in made.comments] == [n - 1 for n in whole.sizes]


def test_trees_without_heads(tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_text("(S (NP (NN dogs)) (VP (VB bark)))\n" * 4, encoding="utf-8")
    from_nested(("animal", ("bird", "owl"), "worm"), form="head").save(tmp_path / "taxonomy")
    for name in ("a.mrg", "taxonomy"):
        data = {"train": str(tmp_path / name), "valid": str(tmp_path / name)}
        path = tmp_path / f"run-{name}"
        train(settings(data=data, training={"epochs": 6}), path, bar=False)
        train_decisions(path, replace(QUICK, epochs=4))
        made = generate(load_joint(path), 5, sampling=Sampling(temperature=0.0), max_words=20)
        assert not made.heads
        assert made.sentences == brackets(made.forest)
        made.write(tmp_path / "a.svg", "svg")
        assert (tmp_path / "a.svg").read_text().startswith("<svg")


def test_errors(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for extra, text in (
        (["--out", "a.pdf"], r"--out to end in .txt, .conllu, .svg, or --format, got a.pdf"),
        (["--format", "pdf"], "--format to be one of text, conllu, svg, got 'pdf'"),
        (["--format", "svg"], "--out FILE for the format svg, got none"),
        (["--top_p", "0"], "top_p to be above 0 and at most 1, got 0"),
        (["--number", "0"], "at least 1 tree and 1 word, got 0"),
    ):
        assert main(["generate", str(run), *extra]) == 2
        assert text in capsys.readouterr().err
    train(settings(), tmp_path / "bare", bar=False)
    assert main(["generate", str(tmp_path / "bare")]) == 2
    assert "dgltrees decide" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="expected a run directory"):
        compress_files(tmp_path / "none", [SAMPLE], 4)
