"""Grids of settings, and the table of their results."""

from __future__ import annotations

from typing import Any

import pytest

from dgltrees.commands.sweeps import combinations, table
from dgltrees.errors import ConfigError
from dgltrees.tasks.task import ACCURACY, PERPLEXITY, Metric


def test_a_grid_is_a_product() -> None:
    assert combinations(["model.rank=3,5", "training.lr=0.1"]) == [
        (["rank_3", "lr_0.1"], {"model.rank": ["3"], "training.lr": ["0.1"]}),
        (["rank_5", "lr_0.1"], {"model.rank": ["5"], "training.lr": ["0.1"]}),
    ]
    assert combinations([]) == [([], {})]
    for wrong in ("model.rank", "model.rank=", "model.rank=3,,5"):
        with pytest.raises(ConfigError, match="SETTING=VALUE,VALUE"):
            combinations([wrong])


@pytest.mark.parametrize(
    ("metric", "values", "words"),
    [
        (
            ACCURACY,
            {"accuracy": {"mean": 0.5716, "deviation": 0.0025}, "majority": {"mean": 0.531}},
            ["57.16", "±", "0.25", "53.10"],
        ),
        (
            PERPLEXITY,
            {"perplexity": {"mean": 91.234, "deviation": 1.5}, "test": {"mean": 95.0}},
            ["91.23", "±", "1.50", "test", "95.00"],
        ),
    ],
)
def test_the_table_shows_mean_and_deviation(
    metric: Metric, values: dict[str, Any], words: list[str]
) -> None:
    row = {"name": "run", "parameters": 18, "cell_parameters": 1234, **values}
    head, line = table([row], metric).splitlines()
    assert head.split()[:3] == ["parameters", "(cell)", metric.name]
    assert line.split() == ["run", "18", "1,234", *words]
