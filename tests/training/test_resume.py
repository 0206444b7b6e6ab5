from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import signal
import subprocess
import sys
import time

import pytest
from safetensors.torch import load_file, save_file

from dgltrees.errors import ConfigError
from dgltrees.training.loop import Trainer
from dgltrees.training.run import evaluate, train
from dgltrees.training.rundir import RunDirectory
from dgltrees.training.settings import Settings
from tests.training.samples import SAMPLES, quick, with_model

_TRAIN = str(SAMPLES / "listops" / "train.tsv")


def _settings(**training) -> Settings:
    loop = {"epochs": 3, "batch_size": 8, "checkpoint_steps": 2, **training}
    return with_model(quick("listops-sum-c25", **loop), hidden_size=6, dropout=0.3)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run from beginning to end: 3 epochs of 5 batches."""
    path = tmp_path_factory.mktemp("whole") / "run"
    train(_settings(), path)
    return path


def _same(one, two) -> None:
    for name in ("metrics.jsonl", "result.json"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
    for name in ("weights.safetensors", "resume.safetensors"):
        left, right = load_file(one / name), load_file(two / name)
        assert left.keys() == right.keys()
        assert all(left[key].equal(right[key]) for key in left)


class Killed(BaseException):
    """As unkind as a signal: nothing of ours catches it."""


def _dies(monkeypatch, owner, name, after) -> None:
    """Make the method ``name`` raise at its call number ``after``."""
    method, calls = getattr(owner, name), []

    def wrapped(self, *args):
        calls.append(None)
        if len(calls) > after:
            raise Killed
        return method(self, *args)

    monkeypatch.setattr(owner, name, wrapped)


@pytest.mark.parametrize("step", [0, 1, 2, 5, 9, 13])
def test_killed_in_a_step(whole, tmp_path, monkeypatch, step):
    with monkeypatch.context() as patch:
        _dies(patch, Trainer, "_step", step)
        with pytest.raises(Killed):
            train(_settings(), tmp_path / "run")
    train(_settings(), tmp_path / "run")
    _same(whole, tmp_path / "run")


def test_a_linear_learning_rate_goes_on_falling(tmp_path, monkeypatch):
    """From the setting in the first of 15 steps, by a fifteenth each, whether killed or not."""
    settings = _settings(schedule="linear", optimizer="adam", lr=0.3)
    step, rates = Trainer._step, []

    def recorded(self, *args):
        rates.append(self.plain_optimizer.param_groups[0]["lr"])
        return step(self, *args)

    monkeypatch.setattr(Trainer, "_step", recorded)
    train(settings, tmp_path / "whole")
    assert rates == pytest.approx([0.3 * left / 15 for left in range(15, 0, -1)])
    with monkeypatch.context() as patch:
        _dies(patch, Trainer, "_step", 8)
        with pytest.raises(Killed):
            train(settings, tmp_path / "killed")
    train(settings, tmp_path / "killed")
    _same(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.parametrize("name", ["begin", "save_weights", "write_metrics"])
@pytest.mark.parametrize("after", [0, 1])
def test_killed_between_two_files(whole, tmp_path, monkeypatch, name, after):
    with monkeypatch.context() as patch:
        _dies(patch, RunDirectory, name, after)
        with contextlib.suppress(Killed):
            train(_settings(), tmp_path / "run")
    train(_settings(), tmp_path / "run")
    _same(whole, tmp_path / "run")


def test_killed_again_and_again(whole, tmp_path, monkeypatch):
    for _ in range(5):
        with monkeypatch.context() as patch:
            _dies(patch, Trainer, "_step", 3)
            with pytest.raises(Killed):
                train(_settings(), tmp_path / "run")
    train(_settings(), tmp_path / "run")
    _same(whole, tmp_path / "run")


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine with one core
def test_workers_change_nothing(whole, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        _dies(patch, Trainer, "_step", 3)
        with pytest.raises(Killed):
            train(_settings(workers=2), tmp_path / "run")
    train(_settings(workers=2), tmp_path / "run")
    _same(whole, tmp_path / "run")


def test_killed_by_the_system(tmp_path):
    """A process that is killed without warning leaves a directory to go on from."""
    settings = dataclasses.replace(_settings(epochs=40, patience=None, checkpoint_steps=1))
    settings.save(tmp_path / "settings.yaml")
    argv = [sys.executable, "-m", "dgltrees", "train", str(tmp_path / "settings.yaml")]
    process = subprocess.Popen([*argv, "--out", str(tmp_path / "run")], stdout=subprocess.DEVNULL)
    while not (tmp_path / "run" / "resume.json").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    train(settings, tmp_path / "run")
    train(settings, tmp_path / "whole")
    _same(tmp_path / "whole", tmp_path / "run")


def test_a_finished_run_stays_as_it_is(whole):
    before = (whole / "resume.safetensors").read_bytes()
    train(_settings(), whole)
    assert (whole / "resume.safetensors").read_bytes() == before


def test_more_epochs_go_on(whole, tmp_path):
    train(_settings(epochs=1), tmp_path / "run")
    train(_settings(), tmp_path / "run")
    _same(whole, tmp_path / "run")


def _copy_of_data(tmp_path):
    data = tmp_path / "train.tsv"
    data.write_bytes((SAMPLES / "listops" / "train.tsv").read_bytes())
    settings = _settings(epochs=1)
    return data, dataclasses.replace(
        settings, data=dataclasses.replace(settings.data, train=str(data))
    )


def test_changed_data_are_refused(tmp_path):
    data, settings = _copy_of_data(tmp_path)
    train(settings, tmp_path / "run")
    before = {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir() if p.is_file()}
    data.write_text(data.read_text() + "3\t3\n")
    with pytest.raises(ConfigError, match=r"data file train.tsv .*has changed since the run"):
        train(settings, tmp_path / "run")
    after = {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir() if p.is_file()}
    assert after == before


def test_changed_test_data_are_refused(tmp_path):
    data, settings = _copy_of_data(tmp_path)
    settings = dataclasses.replace(
        settings, data=dataclasses.replace(settings.data, train=_TRAIN, test=str(data))
    )
    train(settings, tmp_path / "run")
    data.write_text(data.read_text() + "3\t3\n")
    with pytest.raises(ConfigError, match=r"train.tsv \(data.test\) has changed since the run"):
        train(settings, tmp_path / "run")


def test_a_run_without_a_step_has_not_begun(whole, tmp_path, monkeypatch):
    """Other settings may follow, and what the first ones left is gone."""
    with monkeypatch.context() as patch:
        _dies(patch, Trainer, "_step", 0)
        with pytest.raises(Killed):
            train(with_model(quick("sst-tree"), hidden_size=7), tmp_path / "run")
    assert (tmp_path / "run" / "run.json").exists()
    train(_settings(), tmp_path / "run")
    _same(whole, tmp_path / "run")
    for name in ("config.yaml", "run.json"):
        assert (tmp_path / "run" / name).read_bytes() == (whole / name).read_bytes()
    assert {p.name for p in (tmp_path / "run" / "vocabulary").iterdir()} == {
        p.name for p in (whole / "vocabulary").iterdir()
    }


def test_moved_data_are_the_same_data(tmp_path):
    data, settings = _copy_of_data(tmp_path)
    train(settings, tmp_path / "run")
    moved = data.rename(tmp_path / "elsewhere.tsv")
    train(
        dataclasses.replace(settings, data=dataclasses.replace(settings.data, train=str(moved))),
        tmp_path / "run",
    )


def test_other_settings_are_refused(whole):
    with pytest.raises(ConfigError, match=r"holds a run with model.hidden_size = 6, asked was 7"):
        train(with_model(_settings(), hidden_size=7), whole)


def test_another_version_is_refused(tmp_path):
    train(_settings(epochs=1), tmp_path / "run")
    about = tmp_path / "run" / "run.json"
    about.write_text(json.dumps({**json.loads(about.read_text()), "format": 99}))
    for use in (lambda p: train(_settings(epochs=1), p), evaluate):
        with pytest.raises(ConfigError, match=r"format 99, this version of dgltrees reads format"):
            use(tmp_path / "run")
    about.write_text("{")
    with pytest.raises(ConfigError, match=r"run.json is damaged"):
        evaluate(tmp_path / "run")


def _cut(path):
    path.write_bytes(path.read_bytes()[:-20])


def _without(key):
    def damage(path):
        values = json.loads(path.read_text())
        del values[key]
        path.write_text(json.dumps(values))

    return damage


def _other_size(path):
    path.write_text(path.read_text().replace("hidden_size: 6", "hidden_size: 7"))


@pytest.mark.parametrize(
    ("name", "damage", "named"),
    [
        ("weights.safetensors", _cut, "weights.safetensors"),
        ("weights.safetensors", lambda p: p.write_bytes(b""), "weights.safetensors"),
        ("config.yaml", lambda p: p.write_text("a: [1"), "config.yaml"),
        ("config.yaml", lambda p: p.write_text("- 1"), "config.yaml"),
        ("config.yaml", lambda p: p.write_text("modle: {}"), "config.yaml"),
        ("config.yaml", lambda p: p.unlink(), "config.yaml"),
        ("config.yaml", _other_size, "weights.safetensors"),
        ("run.json", _without("files"), "run.json"),
        ("run.json", _without("majority"), "run.json"),
        ("run.json", _without("format"), "run.json"),
        ("run.json", lambda p: p.write_text("[]"), "run.json"),
        ("vocabulary", shutil.rmtree, "vocabulary"),
        ("vocabulary/op.txt", lambda p: p.unlink(), "vocabulary"),
        ("vocabulary/op.txt", lambda p: p.write_text("MAX"), "vocabulary"),
        ("vocabulary/op.txt", lambda p: p.write_text("dgltrees vocabulary 1 {"), "vocabulary"),
    ],
)
def test_a_damaged_run_is_not_used(whole, tmp_path, name, damage, named):
    run = shutil.copytree(whole, tmp_path / "run")
    damage(run / name)
    with pytest.raises(ConfigError, match=rf"{named} is damaged: .*; train it again or restore it"):
        evaluate(run, test=_TRAIN)


@pytest.mark.parametrize(
    "damage", [_cut, lambda p: p.write_bytes(b"{}"), lambda p: save_file({}, p)]
)
def test_a_damaged_run_is_not_gone_on_with(whole, tmp_path, damage):
    run = shutil.copytree(whole, tmp_path / "run")
    damage(run / "resume.safetensors")
    with pytest.raises(ConfigError, match=r"resume.safetensors is damaged: .*; train it again"):
        train(_settings(), run)


def test_a_directory_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("chapter")
    with pytest.raises(ConfigError, match="is no run directory"):
        train(_settings(), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_no_run_and_several(tmp_path):
    with pytest.raises(ConfigError, match=r"expected a run directory"):
        evaluate(tmp_path / "none")
    train(_settings(epochs=1), tmp_path / "seed-0")
    with pytest.raises(ConfigError, match=r"it holds the runs seed-0: name one"):
        evaluate(tmp_path)
