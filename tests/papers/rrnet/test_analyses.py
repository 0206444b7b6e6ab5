"""Learned trees next to gold trees, of policies that have learned a little."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees import TreeError, load
from dgltrees.cli import main
from dgltrees.papers.rrnet.analyses import Sequences, policy_trees
from dgltrees.papers.rrnet.brackets import bracket_scores, random_operations
from dgltrees.papers.rrnet.data.generate_mee import make_mee
from dgltrees.papers.rrnet.graphs import spans
from dgltrees.settings.layers import Settings
from dgltrees.training.run import train
from tests.training.samples import SAMPLES, quick, with_model


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    make_mee(folder, train=200, valid=20, test=30, lengths=(2, 3), seed=1)
    return folder


def trained(data: Path, out: Path, epochs: int, policy: dict[str, Any]) -> Path:
    model = {"encoder": "rrnet", "hidden_size": 8, "embedding": 8, "policy": policy}
    loop = {"optimizer": "adam", "lr": 0.03, "epochs": epochs, "accelerator": "cpu", "threads": 1}
    files = {"train": str(data / "train*.tsv"), "valid": str(data / "valid*.tsv")}
    values = {"task": "mee", "data": files, "model": model, "training": {**loop, "patience": None}}
    train(Settings(values), out, bar=False)
    return out


@pytest.fixture(scope="module")
def supervised_run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its policy has learned the gold operations."""
    return trained(data, tmp_path_factory.mktemp("supervised") / "run", 5, {"operations": "policy"})


@pytest.fixture(scope="module")
def reinforced_run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its policy has learned from rewards."""
    policy = {"operations": "policy", "agent": "reinforce", "stack": 2}
    return trained(data, tmp_path_factory.mktemp("reinforced") / "run", 1, policy)


def test_a_policy_that_has_learned_the_brackets(
    supervised_run: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = str(data / "test3.tsv")
    assert main(["compare-trees", str(supervised_run), "--test", test]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["sentences"] == 30
    perfect = {"precision": 1, "recall": 1, "f1": 1}
    assert report["learned"] == report["without_brackets"]["learned"] == perfect
    assert report["left"]["f1"] == report["right"]["f1"] == 0  # brackets in front and behind
    assert 0 < report["without_brackets"]["left"]["f1"] < 1
    assert report["operations"] == {"split": 3 / 13, "recur": 7 / 13, "merge": 3 / 13}


def test_the_report_is_of_the_operations_of_the_policy(reinforced_run: Path, data: Path) -> None:
    files = [str(data / f"test{n}.tsv") for n in (2, 3)]
    run = load(reinforced_run)
    trees = policy_trees(run, test=files)
    in_parts = policy_trees(run, test=files, max_nodes=50)
    np.testing.assert_array_equal(trees.learned.operations, in_parts.learned.operations)
    assert len(trees.sentences) == 60
    assert trees.limit == 2
    report = trees.report()
    assert report["operations"]["merge"] == pytest.approx((trees.learned.operations == 3).mean())
    assert trees.oracle is not None
    sizes, given = trees.sentences.sizes, spans(trees.trees(trees.oracle))
    for name, operations in (
        ("learned", trees.learned),
        ("chance", Sequences(random_operations(sizes, 2), sizes, recur_only=False)),
    ):
        expected = bracket_scores(spans(trees.trees(operations)), given, sizes)
        assert report[name] == expected._asdict()


def test_drawings(
    reinforced_run: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a" / "b"
    argv = ["compare-trees", str(reinforced_run), "--dir", str(data), "--test", "test2.tsv"]
    assert main([*argv, "--out", str(out), "--limit", "2"]) == 0
    names = ["reading-0.svg", "reading-1.svg", "tree-0.svg", "tree-1.svg"]
    assert sorted(path.name for path in out.iterdir()) == names
    for name in names:
        svg = (out / name).read_text(encoding="utf-8")
        if name.startswith("tree"):
            assert svg.index(">learned<") < svg.index(">gold<")
            assert svg.count('class="node"') >= 2 * 9 + 2 + 2  # tokens, roots, two gold brackets
        else:
            assert svg.count('class="step"') == 9
    capsys.readouterr()
    (out / "tree-0.svg").write_text("mine")
    assert main([*argv, "--out", str(out)]) == 2
    message = capsys.readouterr()
    assert message.out == ""
    assert "expected a folder without tree-0.svg, got" in message.err
    assert (out / "tree-0.svg").read_text() == "mine"
    assert main([*argv, "--out", str(out), "--limit", "0"]) == 2
    assert "expected --limit to be an integer of at least 1, got 0" in capsys.readouterr().err


@pytest.mark.parametrize("operations", ["gold", "random"])
def test_runs_without_a_policy(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], operations: str
) -> None:
    run = trained(data, tmp_path / "run", 1, {"operations": operations})
    capsys.readouterr()
    assert main(["compare-trees", str(run), "--test", str(data / "test2.tsv")]) == 2
    message = capsys.readouterr().err
    assert "a run whose policy decides (model.policy.operations policy)" in message
    assert message.count("\n") == 1


def test_files(reinforced_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare-trees", str(reinforced_run)]) == 2
    assert "missing test files; pass them as test" in capsys.readouterr().err
    (tmp_path / "a.tsv").write_text("12\t(1+\n")
    with pytest.raises(TreeError, match=r"a\.tsv:1: "):
        policy_trees(load(reinforced_run), test=str(tmp_path / "a.tsv"))


@pytest.mark.parametrize(
    ("preset", "test", "scores"),
    [("ptb-trees", "penn/valid.mrg", True), ("ptb-small", "ptb_lm/ptb.valid.txt", False)],
)
def test_trees_over_the_words_of_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], preset: str, test: str, scores: bool
) -> None:
    assert_compared(tmp_path, capsys, preset, test, scores)


def assert_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], preset: str, test: str, scores: bool
) -> None:
    sizes = {"hidden_size": 8, "embedding": 8, "dropout": 0.0}
    settings = with_model(quick(preset, lr=0.02, epochs=8 if scores else 1, batch_size=8), **sizes)
    train(settings, tmp_path / "run", bar=False)
    out = str(tmp_path / "out")
    capsys.readouterr()
    argv = ["compare-trees", str(tmp_path / "run"), "--test", str(SAMPLES / test)]
    assert main([*argv, "--out", out, "--limit", "1"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["sentences"] == {"sick": 60, "penn": 20, "ptb_lm": 30}[test.split("/")[0]]
    assert "without_brackets" not in report
    assert sum(report["operations"].values()) == pytest.approx(1.0)
    svg = (tmp_path / "out" / "tree-0.svg").read_text(encoding="utf-8")
    assert (">gold<" in svg) == scores
    assert "eos" not in svg
    assert 'class="step"' in (tmp_path / "out" / "reading-0.svg").read_text(encoding="utf-8")
    if scores:
        assert min(report["learned"]["f1"], report["chance"]["f1"]) > 0
        assert report["right"]["f1"] > report["left"]["f1"]
    else:
        assert list(report) == ["sentences", "operations"]
