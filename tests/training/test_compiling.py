"""One rule decides whether a run compiles: from its settings and data, and it is kept."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from dgltrees.cells.compiled.kernels import available, decided
from dgltrees.errors import ConfigError
from dgltrees.settings.layers import Settings, TrainingSettings
from dgltrees.training import RunDirectory
from dgltrees.training import run as runs
from dgltrees.training.loop import Trainer
from tests.training.samples import quick

HALF = runs.REPAYS // 2
RULE: list[tuple[bool | None, int, int, bool, bool]] = [
    # the setting, nodes, epochs, numba, and whether the run compiles
    (None, HALF, 2, True, True),
    (None, HALF, 1, True, False),
    (None, 2, HALF, True, True),
    (None, HALF, 2, False, False),
    (True, 1, 1, True, True),
    (False, HALF, 9, True, False),
    (False, HALF, 9, False, False),
]


@pytest.mark.parametrize(("chosen", "nodes", "epochs", "numba", "expected"), RULE)
def test_nodes_times_epochs_decide(
    chosen: bool | None,
    nodes: int,
    epochs: int,
    numba: bool,
    expected: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "available", lambda: numba)
    settings = TrainingSettings(compile=chosen, epochs=epochs)
    assert runs.compiles_run(settings, nodes) is expected


def test_numba_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "available", lambda: False)
    with pytest.raises(ConfigError, match=r"missing numba for training\.compile true; install"):
        runs.compiles_run(TrainingSettings(compile=True), 1)


@pytest.mark.skipif(not available(), reason="no numba")
def test_a_run_that_is_resumed_goes_on_as_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[bool | None] = []
    step = Trainer._step

    def seeing(self: Trainer, *args: Any) -> Any:
        seen.append(decided())
        return step(self, *args)

    monkeypatch.setattr(Trainer, "_step", seeing)
    settings = quick("classify", schedule="constant")
    runs.train(settings, tmp_path)
    assert "not compiled (" in capsys.readouterr().err
    metadata = RunDirectory(tmp_path).metadata()
    assert (metadata["compiled"], metadata["numba"]) == (False, True)
    monkeypatch.setattr(runs, "REPAYS", 1)  # it would compile now
    runs.train(longer(settings), tmp_path)
    assert set(seen) == {False}
    assert RunDirectory(tmp_path).metadata() == metadata
    assert decided() is None


def test_the_size_of_the_cell_decides_on_threads_and_a_resumed_run_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, before = quick("classify", threads=None, schedule="constant"), torch.get_num_threads()
    try:
        monkeypatch.setattr(runs, "usable_cores", lambda: 8)
        for large, threads in ((10**9, 1), (1, 2)):
            monkeypatch.setattr(runs, "LARGE_CELL", large)
            runs.train(settings, tmp_path / str(threads))
            assert RunDirectory(tmp_path / str(threads)).metadata()["threads"] == threads
            assert torch.get_num_threads() == threads
        runs.train(longer(settings), tmp_path / "1")
        assert torch.get_num_threads() == 1
        monkeypatch.setattr(runs, "usable_cores", lambda: 1)
        with pytest.raises(
            ConfigError, match=r"started with 2 threads, but 1 cores are usable here"
        ):
            runs.train(longer(settings), tmp_path / "2")
    finally:
        torch.set_num_threads(before)


def longer(settings: Settings) -> Settings:
    return settings.replace("training", epochs=2, patience=None)


@pytest.mark.skipif(not available(), reason="no numba")
def test_a_compiled_run_is_not_resumed_without_numba(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = quick("classify", compile=True, schedule="constant")
    monkeypatch.setattr(Trainer, "fit", one_epoch_uncompiled)
    runs.train(settings, tmp_path)
    assert RunDirectory(tmp_path).metadata()["compiled"]
    monkeypatch.setattr(runs, "available", lambda: False)
    message = re.escape(f"{tmp_path} was started with numba, which is not available here; install")
    with pytest.raises(ConfigError, match=message):
        runs.train(longer(settings), tmp_path)


def one_epoch_uncompiled(trainer: Trainer) -> Any:
    """An epoch without the seconds that compiling takes."""
    with runs.compiled(False):
        trainer._epoch()
    return replace(trainer.progress)
