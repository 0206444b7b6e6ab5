"""A run of any family survives kills: it goes on, and ends as if nothing had happened.

Three kills for each family; ``make kills`` takes 100 (the variable ``KILLS``).
"""

from __future__ import annotations

import os
import random
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dgltrees.settings.layers import Settings, layered
from dgltrees.training.loop import Trainer
from dgltrees.training.run import train
from dgltrees.training.rundir import RunDirectory
from tests.training.samples import assert_same_runs, quick

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork"),
]

KILLS = int(os.environ.get("KILLS", "3"))
_OPERATIONS = 60  # the most of a run between two kills; a start has fewer
FAMILIES = {"own trees": "classify", "groups": "rank"}
"""A preset of each family."""


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


@pytest.mark.parametrize("family", FAMILIES)
def test_kills_change_nothing(tmp_path: Path, family: str) -> None:
    survives_kills(quick(FAMILIES[family]), tmp_path, random.Random(family))


def survives_kills(settings: Settings, tmp_path: Path, rng: random.Random) -> None:
    """Train, killed again and again; the run equals one that was not."""
    run = tmp_path / "run-0"
    loop: dict[str, Any] = {"epochs": 2, "patience": None}
    if not settings.task.stateful:  # it is resumed at the beginning of an epoch
        loop["checkpoint_steps"] = 1
    settings = Settings(layered(settings.to_dict(), {"training": loop}))
    train(settings, tmp_path / "whole", bar=False)
    kills, runs = 0, 1
    while kills < KILLS:
        if _killed(settings, run, rng.randint(1, _OPERATIONS)):
            kills += 1
            if (run / "run.json").exists():
                RunDirectory(run).metrics()  # whole, however far it came
        else:
            assert_same_runs(tmp_path / "whole", run)
            run, runs = tmp_path / f"run-{runs}", runs + 1
    train(settings, run, bar=False)
    assert_same_runs(tmp_path / "whole", run)
