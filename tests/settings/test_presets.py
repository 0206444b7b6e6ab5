"""Every preset trains for an epoch on a sample of its data."""

import math
from pathlib import Path

import pytest

from dgltrees.settings.layers import Settings
from dgltrees.settings.presets import PRESETS
from dgltrees.training.run import train
from dgltrees.training.rundir import RunDirectory
from tests.training.samples import quick

BOUNDS = {"perplexity": (1, 1000), "loss": (0, 10)}
"""Of metrics that are no part of one."""


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_trains_on_a_sample(tmp_path: Path, preset: str) -> None:
    trains(quick(preset), tmp_path / "run")


def trains(settings: Settings, run: Path) -> None:
    """Train an epoch; its metrics are in range."""
    valid = train(settings, run)["valid"]
    (line,) = RunDirectory(run).metrics()
    assert math.isfinite(line["train_loss"])
    metric = settings.task.metrics[0].name
    low, high = BOUNDS.get(metric, (0, 1))
    assert low <= valid[metric] <= high
