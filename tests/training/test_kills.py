"""Runs that are killed, which the laws of tasks do with every row.

One kill for each; ``make kills`` takes 100 (the variable ``KILLS``), and kills as many processes
that compile their cells, each with an empty cache of compiled code.
"""

import itertools
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dgltrees.cells.compiled.kernels import available
from dgltrees.settings.layers import Settings
from dgltrees.training.loop import Trainer
from dgltrees.training.run import train
from dgltrees.training.rundir import RunDirectory
from tests.training.samples import CLASSIFY, assert_same_runs


def can_be_killed(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that trains in forks."""
    test = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork")(test)
    return pytest.mark.skipif(sys.platform == "win32", reason="needs fork")(test)


KILLS = int(os.environ.get("KILLS", "1"))
_OPERATIONS = 60  # the most of a run between two kills; a start has fewer


def _killed(settings: Settings, run: Path, operations: int) -> bool:
    """Whether a process that trains was killed at the operation of this number, or has ended.

    Operations are steps, and the beginnings and ends of what makes a file new for good.
    """
    process = os.fork()
    if process:
        _, status = os.waitpid(process, 0)
        assert status in (0, signal.SIGKILL), "see the traceback on standard error"
        return bool(status)
    left = operations

    def operation() -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            operation()
            result = function(*args)
            operation()
            return result

        return call

    try:
        for owner, name in ((os, "fsync"), (os, "replace"), (os, "unlink"), (Trainer, "_step")):
            setattr(owner, name, counted(getattr(owner, name)))
        train(settings, run, bar=False, on_epoch=lambda *_: None)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def survives_kills(settings: Settings, folder: Path, rng: random.Random) -> None:
    """Train, killed again and again; the run equals ``folder / "whole"``, which was not."""
    run = folder / "run-0"
    kills, runs = 0, 1
    while kills < KILLS:
        if _killed(settings, run, rng.randint(1, _OPERATIONS)):
            kills += 1
            if (run / "run.json").exists():
                RunDirectory(run).metrics()  # whole, however far it came
        else:
            assert_same_runs(folder / "whole", run)
            run, runs = folder / f"run-{runs}", runs + 1
    train(settings, run, bar=False)
    assert_same_runs(folder / "whole", run)


@pytest.mark.skipif(KILLS < 100 or not available(), reason="make kills: each compiles for seconds")
def test_kills_change_nothing_while_cells_are_compiled(tmp_path: Path) -> None:
    """Whatever is in the cache: none is ever filled by another process."""
    rng = random.Random(0)
    words = [*CLASSIFY, "--training.compile", "--training.epochs=3"]
    words += ["--data.max_train_examples=40", "--training.accelerator=cpu"]
    words += ["--training.save_every_n_steps=1"]
    caches = itertools.count()

    def start(run: Path) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / f"cache-{next(caches)}")}
        command = [sys.executable, "-m", "dgltrees", "train", *words, "--out", str(run)]
        return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)

    began = time.monotonic()
    assert start(tmp_path / "whole").wait() == 0
    seconds = time.monotonic() - began
    kills, runs, run = 0, 1, tmp_path / "run-0"
    while kills < KILLS:
        process = start(run)
        try:
            assert process.wait(rng.uniform(0, seconds)) == 0
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
        else:
            assert_same_runs(tmp_path / "whole", run)
            run, runs = tmp_path / f"run-{runs}", runs + 1
    assert start(run).wait() == 0
    assert_same_runs(tmp_path / "whole", run)
    assert runs > 2
