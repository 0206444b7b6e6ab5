"""Learned trees beside given ones, of policies that have learned a little."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dgltrees import TreeError
from dgltrees.analyses.brackets import induced_trees
from dgltrees.cli import main
from dgltrees.formats.synthetic import make_mee
from dgltrees.metrics.brackets import bracket_scores, random_operations
from dgltrees.tasks.rrnet.policy_settings import PolicySettings
from dgltrees.training.run import train
from dgltrees.training.settings import settings_from
from dgltrees.trees.operations import spans
from tests.training.samples import SAMPLES, quick, with_model


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    make_mee(folder, train=200, valid=20, test=30, lengths=(2, 3), seed=1)
    return folder


def trained(data, out, epochs, policy):
    model = {"encoder": "rrnet", "hidden_size": 8, "embedding": 8, "policy": policy}
    loop = {"optimizer": "adam", "lr": 0.03, "epochs": epochs, "accelerator": "cpu", "threads": 1}
    files = {"train": str(data / "train*.tsv"), "valid": str(data / "valid*.tsv")}
    values = {"task": "mee", "data": files, "model": model, "training": {**loop, "patience": None}}
    train(settings_from(values), out, bar=False)
    return out


@pytest.fixture(scope="module")
def told_run(data, tmp_path_factory):
    """Its policy has learned the given operations."""
    return trained(data, tmp_path_factory.mktemp("told") / "run", 5, {"operations": "policy"})


@pytest.fixture(scope="module")
def untold_run(data, tmp_path_factory):
    policy = {"operations": "policy", "agent": "reinforce", "stack": 2}
    return trained(data, tmp_path_factory.mktemp("untold") / "run", 1, policy)


def test_a_policy_that_knows_the_brackets(told_run, data, capsys):
    test = str(data / "test3.tsv")
    assert main(["induce", str(told_run), "--data.test", test]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sentences"] == 30
    perfect = {"precision": 1, "recall": 1, "f1": 1}
    assert found["learned"] == found["without_brackets"]["learned"] == perfect
    assert found["left"]["f1"] == found["right"]["f1"] == 0  # a bracket in front and one behind
    assert 0 < found["without_brackets"]["left"]["f1"] < 1
    assert found["operations"] == {"split": 3 / 13, "recur": 7 / 13, "merge": 3 / 13}


def test_the_report_is_of_the_operations_of_the_policy(untold_run, data):
    files = [str(data / f"test{n}.tsv") for n in (2, 3)]
    found = induced_trees(untold_run, test=files)
    few = induced_trees(untold_run, test=files, max_nodes=50)
    np.testing.assert_array_equal(found.learned, few.learned)
    assert len(found.sentences) == 60
    assert found.limit == 2
    report = found.report()
    assert report["operations"]["merge"] == pytest.approx((found.learned == 3).mean())
    sizes, true = found.sentences.sizes, spans(found.trees(found.given))
    for name, operations in (
        ("learned", found.learned),
        ("chance", random_operations(sizes, 2)),
    ):
        expected = bracket_scores(spans(found.trees(operations)), true, sizes)
        assert report[name] == expected._asdict()


def test_drawings(untold_run, data, tmp_path, capsys):
    out = tmp_path / "a" / "b"
    argv = ["induce", str(untold_run), "--data.root", str(data), "--data.test", "test2.tsv"]
    assert main([*argv, "--out", str(out), "--limit", "2"]) == 0
    names = ["reading-0.svg", "reading-1.svg", "tree-0.svg", "tree-1.svg"]
    assert sorted(path.name for path in out.iterdir()) == names
    for name in names:
        svg = (out / name).read_text(encoding="utf-8")
        if name.startswith("tree"):
            assert svg.index(">learned<") < svg.index(">given<")
            assert svg.count('class="node"') >= 2 * 9 + 2 + 2  # tokens, roots, two given brackets
        else:
            assert svg.count('class="step"') == 9
    assert main([*argv, "--out", str(out), "--limit", "0"]) == 2
    assert "expected --limit of at least 1, got 0" in capsys.readouterr().err


@pytest.mark.parametrize("operations", ["given", "fixed"])
def test_runs_without_a_policy(data, tmp_path, capsys, operations):
    run = trained(data, tmp_path / "run", 1, {"operations": operations})
    assert main(["induce", str(run), "--data.test", str(data / "test2.tsv")]) == 2
    message = capsys.readouterr().err
    assert "a run whose policy decides (model.policy.operations policy)" in message
    assert message.count("\n") == 1


def test_files(untold_run, tmp_path, capsys):
    assert main(["induce", str(untold_run)]) == 2
    assert "expected test files, got none; give --data.test FILE" in capsys.readouterr().err
    (tmp_path / "a.tsv").write_text("12\t(1+\n")
    with pytest.raises(TreeError, match=r"a\.tsv:1: "):
        induced_trees(untold_run, test=str(tmp_path / "a.tsv"))


def test_files_without_true_operations(tmp_path, capsys):
    policy = PolicySettings(operations="policy", agent="reinforce")
    model = {"encoder": "rrnet", "hidden_size": 6, "embedding": 6, "head": [8], "policy": policy}
    train(with_model(quick("sick-lstm"), **model), tmp_path / "run", bar=False)
    test = str(SAMPLES / "sick" / "SICK_trial_parsed.txt")
    out = str(tmp_path / "out")
    argv = ["induce", str(tmp_path / "run"), "--data.test", test, "--out", out, "--limit", "1"]
    capsys.readouterr()
    assert main(argv) == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report) == ["sentences", "operations"]
    assert sum(report["operations"].values()) == pytest.approx(1.0)
    svg = (tmp_path / "out" / "tree-0.svg").read_text(encoding="utf-8")
    assert ">learned<" in svg
    assert ">given<" not in svg
