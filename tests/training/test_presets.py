"""Every preset trains for an epoch on a sample of its data."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dgltrees.training.catalog import preset_names
from dgltrees.training.run import train
from dgltrees.training.rundir import RunDirectory
from tests.training.samples import small

BOUNDS = {"perplexity": (1, 1000), "loss": (0, 10)}
"""Of metrics that are no part of one."""


@pytest.mark.filterwarnings("ignore:.*no vectors for")
# test_tree_shape.py has the preset whose data are states of another model
@pytest.mark.parametrize("preset", [name for name in preset_names() if name != "tree-shape"])
def test_a_preset_trains_on_a_sample(tmp_path: Path, preset: str) -> None:
    settings = small(preset, tmp_path)
    valid = train(settings, tmp_path / "run")["valid"]
    (line,) = RunDirectory(tmp_path / "run").metrics()
    assert math.isfinite(line["train_loss"])
    metric = settings.task.metrics[0].name
    low, high = BOUNDS.get(metric, (0, 1))
    assert low <= valid[metric] <= high
