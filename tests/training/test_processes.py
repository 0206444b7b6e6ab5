"""Two processes on the same global batches give the losses of one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dgltrees.training.run import train
from dgltrees.training.rundir import RunDirectory
from dgltrees.training.settings import Settings
from tests.training.samples import quick, with_model

# Sums of float32 taken in another order; after a few AdaDelta steps a loss keeps 5 digits.
TOLERANCE = 1e-5


Lines = list[dict[str, Any]]


def _losses_of_one_and_two(folder: Path, settings: Settings) -> tuple[Lines, Lines]:
    """The lines of ``metrics.jsonl`` from one process, and from two."""
    train(settings, folder / "one")
    settings.save(folder / "settings.yaml")
    argv = [sys.executable, "-m", "dgltrees", "train", str(folder / "settings.yaml")]
    flags = ["--training.devices", "2", "--training.strategy", "ddp", "--out", str(folder / "two")]
    done = subprocess.run(
        [*argv, *flags],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "two" / "resume.json").read_text())["world"] == 2
    return RunDirectory(folder / "one").metrics(), RunDirectory(folder / "two").metrics()


def test_two_processes_give_the_losses_of_one(tmp_path: Path) -> None:
    """36 examples in batches of 7: the last holds one, so that a process has no part of it.

    It has no operators then, and in other batches not all of them.
    """
    settings = quick("listops-hosvd-c10-r3", epochs=2, batch_size=7)
    assert 40 - round(40 * settings.data.valid_fraction) == 36
    settings = with_model(settings, hidden_size=5, rank=2)
    one, two = _losses_of_one_and_two(tmp_path, settings)
    assert len(one) == len(two) == 2
    for left, right in zip(one, two):
        for name in ("train_loss", "valid_loss"):
            assert right[name] == pytest.approx(left[name], rel=TOLERANCE), name


def test_nodes_are_counted_over_all_processes(tmp_path: Path) -> None:
    settings = with_model(quick("sst-tree", batch_size=7), hidden_size=5, embedding=4)
    one, two = _losses_of_one_and_two(tmp_path, settings)
    assert two[0]["train_loss"] == pytest.approx(one[0]["train_loss"], rel=TOLERANCE)
    assert two[0]["valid_node_accuracy"] == pytest.approx(one[0]["valid_node_accuracy"])
