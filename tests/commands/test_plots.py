from __future__ import annotations

import importlib.util
import json

import pytest

from dgltrees.commands import plots
from dgltrees.commands.sweeps import combinations, table, without_flags
from dgltrees.errors import ConfigError


def _run(folder, lines):
    folder.mkdir()
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text)
    return folder


def test_learning_curves_of_runs_with_and_without_validation(tmp_path):
    watched = [
        {"epoch": e, "train_loss": 1 / e, "valid_loss": 2 / e, "valid_accuracy": 0.1 * e}
        for e in (1, 2, 3)
    ]
    watched = [{**line, "valid_majority": 0.2} for line in watched]
    plain = [{"epoch": 1, "train_loss": 1.0}]
    runs = [_run(tmp_path / "a", watched), _run(tmp_path / "b", plain)]
    plots.learning_curve(runs, tmp_path / "curve.svg")
    assert "<svg" in (tmp_path / "curve.svg").read_text()
    plots.learning_curve(runs, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_learning_curve_of_a_language_model(tmp_path):
    line = {"epoch": 1, "train_loss": 1.0, "valid_loss": 2.0, "valid_perplexity": 7.4}
    plots.learning_curve([_run(tmp_path / "a", [line])], tmp_path / "curve.svg")
    assert "perplexity" in (tmp_path / "curve.svg").read_text()


def test_no_epochs(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(ConfigError, match=r"at least one epoch, got \['a'\]"):
        plots.learning_curve([tmp_path / "a"], tmp_path / "curve.png")
    assert not (tmp_path / "curve.png").exists()


def test_without_matplotlib(tmp_path, monkeypatch):
    runs = [_run(tmp_path / "a", [{"epoch": 1, "train_loss": 1.0}])]
    found = importlib.util.find_spec
    monkeypatch.setattr(plots, "find_spec", lambda n: None if n == "matplotlib" else found(n))
    assert not plots.has_matplotlib()
    with pytest.raises(ConfigError, match=r"pip install 'dgltrees\[plots\]'"):
        plots.learning_curve(runs, tmp_path / "curve.png")


def test_a_grid_is_a_product():
    found = combinations(["model.rank=3,5", "training.lr=0.1"])
    assert found == [
        (["rank_3", "lr_0.1"], ["--model.rank=3", "--training.lr=0.1"]),
        (["rank_5", "lr_0.1"], ["--model.rank=5", "--training.lr=0.1"]),
    ]
    assert combinations([]) == [([], [])]
    for wrong in ("model.rank", "model.rank=", "model.rank=3,,5"):
        with pytest.raises(ConfigError, match="SETTING=VALUE,VALUE"):
            combinations([wrong])


def test_flags_are_taken_out_with_their_values():
    argv = ["--out", "x", "--model.rank", "3", "--seeds", "0", "1", "--training.lr=-1", "--out=y"]
    kept = without_flags(argv, ("--out", "--seeds"))
    assert kept == ["--model.rank", "3", "--training.lr=-1"]


def test_the_table_shows_mean_and_deviation():
    row = {
        "name": "lrt-sum-c3",
        "parameters": 18,
        "cell_parameters": 1234,
        "measure": "accuracy",
        "accuracy": {"mean": 0.5716, "deviation": 0.0025},
        "majority": {"mean": 0.531, "deviation": 0.0},
    }
    line = table([row]).splitlines()[1]
    assert line.split() == ["lrt-sum-c3", "18", "1,234", "57.16", "±", "0.25", "53.10"]


def test_the_table_of_language_models():
    row = {"name": "tree-lm", "parameters": 1234, "cell_parameters": 1234, "measure": "perplexity"}
    row["perplexity"] = {"mean": 91.234, "deviation": 1.5}
    row["test"] = {"mean": 95.0, "deviation": 1.0}
    head, line = table([row]).splitlines()
    assert head.split() == ["parameters", "(cell)", "perplexity"]
    assert line.split() == ["tree-lm", "1,234", "1,234", "91.23", "±", "1.50", "test", "95.00"]
