"""What a run directory is protected from: other files, links, other processes, bad numbers."""

import itertools
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dgltrees.errors import ConfigError
from dgltrees.settings.layers import Settings
from dgltrees.tasks.custom_trees.classes import ClassesTask
from dgltrees.training.files import locked
from dgltrees.training.loop import Trainer
from dgltrees.training.run import train
from dgltrees.training.rundir import FORMAT
from dgltrees.training.trained import load
from tests.training.samples import quick, train_killed, with_model

Fill = Callable[[Path], Any]


def _settings(**training: Any) -> Settings:
    loop = {"batch_size": 8, "num_workers": 0, **training}
    return with_model(quick("classify", **loop), hidden_size=4)


_HALVE = {"schedule": "halve", "keep": "best", "monitor": "loss", "epochs": 2}


def _files(folder: Path) -> dict[str, bytes]:
    paths = sorted(folder.rglob("*"))
    return {str(p.relative_to(folder)): p.read_bytes() for p in paths if p.is_file()}


def _write(name: str, text: str) -> Fill:
    def fill(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)

    return fill


@pytest.mark.parametrize(
    "fill",
    [
        _write("thesis.tex", "chapter"),
        _write("config.yaml", "mine: 1"),
        _write("weights.safetensors", "mine"),
        _write("vocabulary/mine.txt", "mine"),
        _write("run.json", "{}"),
        _write("run.json", f'{{"format": {FORMAT}, "runs": [1, 2]}}'),
        lambda folder: (_write("run.json", "[]")(folder), _write("metrics.jsonl", "")(folder)),
    ],
)
def test_a_folder_with_files_of_others_is_refused(tmp_path: Path, fill: Fill) -> None:
    fill(tmp_path)
    before = _files(tmp_path)
    with pytest.raises(ConfigError, match=r"is not a run directory; choose a new|is damaged"):
        train(_settings(), tmp_path)
    assert _files(tmp_path) == before


def test_what_others_put_beside_a_run_stays(tmp_path: Path) -> None:
    train_killed(_settings(), tmp_path)
    for name in ("notes.txt", "vocabulary/mine.txt"):
        (tmp_path / name).write_text("mine")
    train(_settings(), tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / "vocabulary" / "mine.txt").read_text() == "mine"
    assert set(load(tmp_path).vocabularies) == {"Node Type", "Table", "target"}


def test_links_are_not_followed(tmp_path: Path) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    train_killed(_settings(), run)
    (run / "vocabulary").rename(elsewhere)
    (run / "vocabulary").symlink_to(elsewhere, target_is_directory=True)
    before = _files(elsewhere)
    with pytest.raises(ConfigError, match="expected no symbolic links in a run, got .*vocabulary"):
        train(_settings(), run)
    assert _files(elsewhere) == before


def test_files_are_written_in_place_of_links(tmp_path: Path) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere.txt"
    train_killed(_settings(), run)
    elsewhere.write_text("mine")
    for name in ("config.yaml", "weights.safetensors"):
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(elsewhere)
    train(_settings(), run)
    assert elsewhere.read_text() == "mine"


def test_one_process_at_a_time(tmp_path: Path) -> None:
    """The lock of a process that was killed is no lock."""
    script = "import sys; from pathlib import Path; from dgltrees.training.files import locked\n"
    script += f"with locked(Path({str(tmp_path / 'run')!r})): print('ready'); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as other:  # type: ignore[call-overload]
        assert other.stdout.readline() == "ready\n"
        held = f"another process trains in .*run \\(process {other.pid} on .*; wait until it ends"
        with pytest.raises(ConfigError, match=held):
            train(_settings(), tmp_path / "run")
        other.kill()
    train(_settings(), tmp_path / "run")
    assert not (tmp_path / "run" / ".dgltrees.lock").exists()


def test_a_lock_leaves_no_empty_folders(tmp_path: Path) -> None:
    with locked(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").is_dir()
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_of_killed_processes_go(tmp_path: Path) -> None:
    train(_settings(schedule="constant"), tmp_path)
    for name in (".metrics.jsonl.1a2b3c4d.writing", "vocabulary/.Table.txt.1a2b3c4d.writing"):
        (tmp_path / name).write_text("half")
    train(_settings(schedule="constant", epochs=2), tmp_path)
    assert not list(tmp_path.rglob(".*"))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_before_it_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: float
) -> None:
    """The last good state stays, and the same command says the same."""
    settings, step = _settings(save_every_n_steps=2, epochs=2), Trainer._step
    calls = 0

    def broken(self: Trainer, *args: Any) -> Any:
        nonlocal calls
        calls += 1
        loss, rows = step(self, *args)
        return (loss * bad if calls == 8 else loss), rows

    monkeypatch.setattr(Trainer, "_step", broken)
    with pytest.raises(ConfigError, match=r"training loss is (nan|inf) in epoch 2, step 3; lower"):
        train(settings, tmp_path)
    monkeypatch.setattr(Trainer, "_step", step)
    train(settings, tmp_path)
    assert [line["epoch"] for line in load(tmp_path).directory.metrics()] == [1, 2]


@pytest.mark.parametrize("call", [3, 7], ids=["a checkpoint", "an epoch"])
def test_a_directory_that_was_moved_is_not_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """Where it was moved to, the run goes on."""
    settings, step = _settings(save_every_n_steps=2, epochs=2), Trainer._step
    calls = itertools.count()

    def moving(self: Trainer, *args: Any) -> Any:
        if next(calls) == call:
            (tmp_path / "run").rename(tmp_path / "moved")
        return step(self, *args)

    monkeypatch.setattr(Trainer, "_step", moving)
    with pytest.raises(
        ConfigError, match="missing run.json in .*: the folder was moved or removed"
    ):
        train(settings, tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["moved"]
    train(settings, tmp_path / "moved")
    assert [line["epoch"] for line in load(tmp_path / "moved").directory.metrics()] == [1, 2]


@pytest.mark.parametrize(
    ("name", "training", "message"),
    [
        ("accuracy", {"monitor": "accuracy"}, r"a finite accuracy .* none \(inf, "),
        ("loss", {"monitor": "accuracy"}, r"and loss .* none \(.*, inf in"),
        ("perplexity", _HALVE, r"loss and perplexity .* \(2.0, inf in"),
    ],
)
def test_an_epoch_without_finite_metrics_is_not_the_best(
    name: str,
    training: dict[str, Any],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report, losses = ClassesTask.report, itertools.count(1.0)

    def infinite(self: ClassesTask, *args: Any) -> dict[str, Any]:
        rising = {"loss": next(losses)} if name == "perplexity" else {}
        return {**report(self, *args), **rising, name: math.inf}

    monkeypatch.setattr(ClassesTask, "report", infinite)
    with pytest.raises(ConfigError, match=message):
        train(_settings(**training), tmp_path)
    assert not (tmp_path / "weights.safetensors").exists()


def test_a_failing_optimizer_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="optimizer adam does not accept the options"):
        train(_settings(optimizer="adam", optimizer_options={"betas": [0.9]}), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_monitor_that_these_data_do_not_have_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = ClassesTask.report

    def without(self: ClassesTask, *args: Any) -> dict[str, Any]:
        return {k: v for k, v in report(self, *args).items() if k != "accuracy"}

    monkeypatch.setattr(ClassesTask, "report", without)
    with pytest.raises(ConfigError, match=r"training.monitor to be .*got 'accuracy'"):
        train(_settings(monitor="accuracy"), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_every_file_of_a_run_has_a_checksum(tmp_path: Path) -> None:
    """Those of a start in ``run.json``, all others in themselves."""
    train(_settings(), tmp_path)
    metadata = json.loads((tmp_path / "run.json").read_text())
    others = _files(tmp_path).keys() - metadata["sha256"].keys()
    assert all(b"checksum" in (tmp_path / name).read_bytes() for name in others)
    assert len(others) == 6
