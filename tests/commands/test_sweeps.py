from __future__ import annotations

import pytest

from dgltrees.commands.sweeps import combinations, table, without_flags
from dgltrees.errors import ConfigError


def test_a_grid_is_a_product() -> None:
    found = combinations(["model.rank=3,5", "training.lr=0.1"])
    assert found == [
        (["rank_3", "lr_0.1"], ["--model.rank=3", "--training.lr=0.1"]),
        (["rank_5", "lr_0.1"], ["--model.rank=5", "--training.lr=0.1"]),
    ]
    assert combinations([]) == [([], [])]
    for wrong in ("model.rank", "model.rank=", "model.rank=3,,5"):
        with pytest.raises(ConfigError, match="SETTING=VALUE,VALUE"):
            combinations([wrong])


def test_flags_are_taken_out_with_their_values() -> None:
    argv = ["--out", "x", "--model.rank", "3", "--seeds", "0", "1", "--training.lr=-1", "--out=y"]
    kept = without_flags(argv, ("--out", "--seeds"))
    assert kept == ["--model.rank", "3", "--training.lr=-1"]


def test_the_table_shows_mean_and_deviation() -> None:
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


def test_the_table_of_language_models() -> None:
    row = {
        "name": "tree-lm",
        "parameters": 1234,
        "cell_parameters": 1234,
        "measure": "perplexity",
    }
    row["perplexity"] = {"mean": 91.234, "deviation": 1.5}
    row["test"] = {"mean": 95.0, "deviation": 1.0}
    head, line = table([row]).splitlines()
    assert head.split() == ["parameters", "(cell)", "perplexity"]
    assert line.split() == ["tree-lm", "1,234", "1,234", "91.23", "±", "1.50", "test", "95.00"]
