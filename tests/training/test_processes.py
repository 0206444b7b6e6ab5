"""Two processes on the same global batches give the losses of one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dgltrees.errors import ConfigError
from dgltrees.training.processes import adopt_torchrun, make_fabric
from dgltrees.training.run import train
from dgltrees.training.rundir import RunDirectory
from dgltrees.training.settings import Settings
from tests.training.samples import PLANS, quick, with_model

# Sums of float32 taken in another order; after a few AdaDelta steps a loss keeps 5 digits.
TOLERANCE = 1e-5

TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]

Lines = list[dict[str, Any]]


def losses_of_one_and_two(
    folder: Path, settings: Settings, *, torchrun: bool
) -> tuple[Lines, Lines]:
    """The lines of ``metrics.jsonl`` from one process, and from two."""
    train(settings, folder / "one")
    settings.save(folder / "settings.yaml")
    argv = ["-m", "dgltrees", "train", str(folder / "settings.yaml"), "--out", str(folder / "two")]
    flags = ["--training.devices", "2", "--training.strategy", "ddp"]
    done = subprocess.run(
        [sys.executable, *([*TORCHRUN, *argv] if torchrun else [*argv, *flags])],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1  # the result, once
    assert json.loads((folder / "two" / "resume.json").read_text())["world"] == 2
    run = RunDirectory(folder / "two")
    assert run.settings().training.devices == 2
    return RunDirectory(folder / "one").metrics(), run.metrics()


def test_two_processes_give_the_losses_of_one(tmp_path: Path) -> None:
    """36 examples in batches of 7: the last holds one, so that a process has no part of it.

    It has no operators then, and in other batches not all of them.
    """
    settings = quick("listops-hosvd-c10-r3", epochs=2, batch_size=7)
    assert 40 - round(40 * settings.data.valid_fraction) == 36
    settings = with_model(settings, hidden_size=5, rank=2)
    one, two = losses_of_one_and_two(tmp_path, settings, torchrun=True)
    assert len(one) == len(two) == 2
    for left, right in zip(one, two):
        for name in ("train_loss", "valid_loss"):
            assert right[name] == pytest.approx(left[name], rel=TOLERANCE), name


def test_nodes_are_counted_over_all_processes(tmp_path: Path) -> None:
    settings = with_model(quick("sst-tree", batch_size=7), hidden_size=5, embedding=4)
    one, two = losses_of_one_and_two(tmp_path, settings, torchrun=False)
    assert two[0]["train_loss"] == pytest.approx(one[0]["train_loss"], rel=TOLERANCE)
    assert two[0]["valid_node_accuracy"] == pytest.approx(one[0]["valid_node_accuracy"])


@pytest.mark.parametrize(("task", "batch_size"), [("regress", 7), ("rank", 12)])
def test_own_trees_in_two_processes(tmp_path: Path, task: str, batch_size: int) -> None:
    """Of ``rank``, batches of three groups of four trees, and a last one of one group."""
    settings = with_model(quick(task, PLANS[task], batch_size=batch_size), hidden_size=5)
    one, two = losses_of_one_and_two(tmp_path, settings, torchrun=True)
    assert set(two[0]) == set(one[0])
    for name, value in one[0].items():
        assert two[0][name] == pytest.approx(value, rel=TOLERANCE, nan_ok=True), name


@pytest.mark.parametrize(
    ("preset", "training", "message"),
    [
        ("inex", {"devices": 3}, "expected training.devices to be 2, as torchrun"),
        ("inex", {"devices": 2, "nodes": 4}, "expected training.nodes to be 3, as torchrun"),
        ("ptb", {}, "in one process; torchrun has started 6"),
    ],
)
def test_settings_that_torchrun_contradicts(
    preset: str, training: dict[str, int], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = {"TORCHELASTIC_RUN_ID": "none", "WORLD_SIZE": "6", "LOCAL_WORLD_SIZE": "2"}
    for name, value in world.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=message):
        adopt_torchrun(quick(preset, **training))
    adopted = adopt_torchrun(quick("inex", devices=2)).training
    assert (adopted.devices, adopted.nodes) == (2, 3)


@pytest.mark.parametrize(("gpu", "chosen"), [(True, "cuda"), (False, "cpu")])
def test_auto_is_never_mps(monkeypatch: pytest.MonkeyPatch, gpu: bool, chosen: str) -> None:
    """Whatever the machine has: it has no double precision."""
    asked: dict[str, Any] = {}

    class Stop(Exception):  # noqa: N818
        pass

    def fabric(**arguments: Any) -> None:
        asked.update(arguments)
        raise Stop

    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: True)
    monkeypatch.setattr("dgltrees.training.processes.Fabric", fabric)
    with pytest.raises(Stop):
        make_fabric(quick("listops-sum-c25", accelerator="auto").training)
    assert asked["accelerator"] == chosen


def test_a_process_whose_parent_ended_while_it_started_ends_too() -> None:
    code = (
        "import time; from dgltrees.training import processes; processes._end_with_parent(); "
        "time.sleep(60)"
    )
    environment = {**os.environ, "LOCAL_RANK": "1", "DGLTREES_PARENT": str(os.getpid() + 2**23)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, timeout=50).returncode == 1
