import json
import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lightning_fabric.plugins import Precision
from safetensors.torch import save_file

from dgltrees._files import file_checksum, with_checksum
from dgltrees.errors import ConfigError
from dgltrees.models.targets import ClassTarget
from dgltrees.settings.layers import Settings
from dgltrees.training.files import read_tensors, write_tensors
from dgltrees.training.loop import HalveOnPlateau, Trainer
from dgltrees.training.run import train
from dgltrees.training.rundir import RunDirectory
from dgltrees.training.trained import load
from tests.training.samples import PLANS_FILE, assert_same_runs, quick, train_killed, with_model

_TRAIN = str(PLANS_FILE)


def _settings(data: dict[str, Any] | None = None, **training: Any) -> Settings:
    loop = {"epochs": 3, "batch_size": 8, "save_every_n_steps": 2, **training}
    return with_model(quick("classify", data, **loop), hidden_size=6, dropout=0.3)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run from beginning to end: 3 epochs of 5 batches."""
    path = tmp_path_factory.mktemp("whole") / "run"
    train(_settings(), path)
    return path


STEPS = [(Trainer, "_step", after) for after in (0, 1, 2, 5, 9, 13)]
FILES = [
    (RunDirectory, name, after)
    for name in ("start", "save_weights", "write_metrics")
    for after in (0, 1)
]


@pytest.mark.parametrize(("owner", "name", "after"), [*STEPS, *FILES])
def test_killed_in_a_step_or_between_two_files(
    whole: Path, tmp_path: Path, owner: type, name: str, after: int
) -> None:
    train_killed(_settings(), tmp_path / "run", owner, name, after)
    train(_settings(), tmp_path / "run")
    assert_same_runs(whole, tmp_path / "run")


def test_a_linear_learning_rate_goes_on_falling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the setting in the first of 15 steps, by a fifteenth each, whether killed or not."""
    settings = _settings(schedule="linear", optimizer="adam", lr=0.3)
    step, rates = Trainer._step, list[float]()

    def recorded(self: Trainer, *args: Any) -> Any:
        rates.append(self.plain_optimizer.param_groups[0]["lr"])
        return step(self, *args)

    monkeypatch.setattr(Trainer, "_step", recorded)
    train(settings, tmp_path / "whole")
    assert rates == pytest.approx([0.3 * left / 15 for left in range(15, 0, -1)])
    train_killed(settings, tmp_path / "killed", after=8)
    train(settings, tmp_path / "killed")
    assert_same_runs(tmp_path / "whole", tmp_path / "killed")


def test_undone_epochs_have_no_temperature_of_an_earlier_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HalveOnPlateau, "after", lambda self, loss: True)  # undo every epoch
    monkeypatch.setattr(ClassTarget, "fit_temperature", lambda self, *_: self.temperature.fill_(3))
    loop = {"schedule": "halve", "monitor": "loss", "keep": "best", "lr": 1e-30}
    train(_settings(**loop, epochs=1), tmp_path / "run")
    train(_settings(**loop), tmp_path / "run")
    train(_settings(**loop), tmp_path / "whole")
    lines = [(tmp_path / name / "metrics.jsonl").read_text() for name in ("run", "whole")]
    assert lines[0] == lines[1]


def test_the_scale_of_16_mixed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Any] = []
    monkeypatch.setattr(Precision, "state_dict", lambda self: {"scale": 4.0})
    monkeypatch.setattr(Precision, "load_state_dict", lambda self, state: loaded.append(state))
    for epochs in (1, 2):
        train(_settings(epochs=epochs, schedule="constant"), tmp_path / "run")
    assert loaded == [{"scale": 4.0}]


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine with one core
def test_workers_change_nothing(whole: Path, tmp_path: Path) -> None:
    train_killed(_settings(num_workers=2), tmp_path / "run", after=3)
    train(_settings(num_workers=2), tmp_path / "run")
    assert_same_runs(whole, tmp_path / "run")


def test_a_finished_run_stays_as_it_is(whole: Path) -> None:
    before = (whole / "resume.safetensors").read_bytes()
    train(_settings(), whole)
    assert (whole / "resume.safetensors").read_bytes() == before


def test_a_run_is_resumed_with_more_epochs(tmp_path: Path) -> None:
    """With a constant learning rate; one that falls depends on the number of epochs."""
    for run, epochs in [("whole", 3), ("run", 1), ("run", 3)]:
        train(_settings(epochs=epochs, schedule="constant"), tmp_path / run)
    assert_same_runs(tmp_path / "whole", tmp_path / "run")


def _copy_of_data(tmp_path: Path) -> tuple[Path, Settings]:
    data = tmp_path / "train.jsonl"
    data.write_bytes(PLANS_FILE.read_bytes())
    return data, _settings(epochs=1).replace("data", train=str(data))


def _bytes(run: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in run.iterdir() if p.is_file()}


@pytest.mark.parametrize("role", ["train", "test"])
def test_changed_data_are_refused(tmp_path: Path, role: str) -> None:
    data, settings = _copy_of_data(tmp_path)
    settings = settings.replace("data", **{"train": _TRAIN, role: str(data)})
    train(settings, tmp_path / "run")
    before = _bytes(tmp_path / "run")
    data.write_text(data.read_text() + "{}\n")
    with pytest.raises(ConfigError, match=rf"train.jsonl \(data.{role}\) has changed since"):
        train(settings, tmp_path / "run")
    assert _bytes(tmp_path / "run") == before


def test_a_run_without_a_step_has_not_started(whole: Path, tmp_path: Path) -> None:
    """Other settings may follow, and what the first ones left is gone."""
    train_killed(with_model(quick("classify-nodes"), hidden_size=7), tmp_path / "run")
    assert (tmp_path / "run" / "run.json").exists()
    train(_settings(), tmp_path / "run")
    assert_same_runs(whole, tmp_path / "run")
    for name in ("config.yaml", "run.json"):
        assert (tmp_path / "run" / name).read_bytes() == (whole / name).read_bytes()
    assert {p.name for p in (tmp_path / "run" / "vocabulary").iterdir()} == {
        p.name for p in (whole / "vocabulary").iterdir()
    }


def test_moved_data_are_the_same_data(tmp_path: Path) -> None:
    data, settings = _copy_of_data(tmp_path)
    train(settings, tmp_path / "run")
    moved = data.rename(tmp_path / "elsewhere.jsonl")
    train(settings.replace("data", train=str(moved)), tmp_path / "run")


def test_the_layout_of_the_records_is_found_and_kept(tmp_path: Path) -> None:
    settings = quick("regress", {"tree_path": None, "children_key": None})
    result = train(settings, tmp_path / "run")
    kept = load(tmp_path / "run").settings
    assert (kept.data.tree_path, kept.data.children_key) == ("plan", "Plans")
    assert train(settings, tmp_path / "run") == result == train(kept, tmp_path / "run")
    with pytest.raises(ConfigError, match="data.tree_path"):
        train(settings.replace("data", tree_path="other"), tmp_path / "run")


def test_other_settings_are_refused(whole: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"was started with model.hidden_size=6, now model.hidden_size=7"
    ):
        train(with_model(_settings(), hidden_size=7), whole)
    with pytest.raises(ConfigError, match=r"training.epochs=3, on which .* now training.epochs=4"):
        train(_settings(epochs=4), whole)
    with pytest.raises(ConfigError, match="was started with the task classify, now it is rank"):
        train(quick("rank"), whole)
    for role in ("valid", "test"):  # not the fraction, which then has no effect
        with pytest.raises(ConfigError, match=f"with no files as data.{role}, now there are 1"):
            train(_settings({role: _TRAIN}), whole)


def test_another_format_is_refused(whole: Path, tmp_path: Path) -> None:
    path = shutil.copytree(whole, tmp_path / "run") / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    for use in (lambda run: train(_settings(), run), load):
        with pytest.raises(
            ConfigError, match=r"expected a run directory of format 5, got format 99"
        ):
            use(tmp_path / "run")
    path.write_text("{")
    with pytest.raises(ConfigError, match=r"run.json is damaged"):
        load(tmp_path / "run")


Damage = Callable[[Path], Any]


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _without(key: str) -> Damage:
    def damage(path: Path) -> None:
        values = json.loads(path.read_text())
        del values[key]
        path.write_text(json.dumps(values))

    return damage


def _flip(path: Path) -> None:
    """Another byte, which the format allows."""
    content = bytearray(path.read_bytes())
    at = content.rindex(b'"lines"') + 1 if b'"lines"' in content else len(content) - 5
    content[at] ^= 1
    path.write_bytes(bytes(content))


def _nan(path: Path) -> None:
    weights, texts = read_tensors(path)
    next(iter(weights.values())).view(-1)[0] = float("nan")
    write_tensors(path, weights, texts)


def _as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _with_name(name: str) -> Damage:
    def damage(path: Path) -> None:
        values = json.loads(path.read_text())
        del values["checksum"]
        path.write_text(json.dumps(with_checksum({**values, "sha256": {name: ""}})))

    return damage


def _replaced(before: str, after: str) -> Damage:
    return lambda path: path.write_text(path.read_text().replace(before, after))


_other_size = _replaced("hidden_size: 6", "hidden_size: 7")


def _meant(damage: Damage) -> Damage:
    """The same damage under a right checksum."""

    def signed(path: Path) -> None:
        damage(path)
        run = path.parent / "run.json"
        values = json.loads(run.read_text())
        del values["checksum"]
        sums = {**values["sha256"], path.name: file_checksum(path)}
        run.write_text(json.dumps(with_checksum({**values, "sha256": sums})))

    return signed


@pytest.mark.parametrize(
    ("name", "damage", "named"),
    [
        ("weights.safetensors", _cut, "weights.safetensors is damaged"),
        ("weights.safetensors", lambda p: p.write_bytes(b""), "weights.safetensors is damaged"),
        ("config.yaml", lambda p: p.write_text("a: [1"), "config.yaml is damaged"),
        ("config.yaml", lambda p: p.write_text("- 1"), "config.yaml is damaged"),
        (
            "config.yaml",
            _meant(lambda p: p.write_text("modle: {}")),
            "config.yaml was written by other",
        ),
        ("config.yaml", lambda p: p.unlink(), "config.yaml is damaged"),
        ("config.yaml", _other_size, "config.yaml is damaged: it has changed"),
        (
            "config.yaml",
            _meant(_other_size),
            "weights.safetensors is .* of another run",
        ),
        (
            "config.yaml",
            _meant(_replaced("cell: child_sum", "cell: mine")),
            "config.yaml was .* code: expected model.cell .* got 'mine'",
        ),
        ("run.json", _without("files"), "run.json is damaged"),
        ("run.json", _without("majority"), "run.json is damaged"),
        ("run.json", _without("format"), "run.json is damaged"),
        ("run.json", lambda p: p.write_text("[]"), "run.json is damaged"),
        ("vocabulary", shutil.rmtree, "vocabulary/Node Type.txt is damaged: missing"),
        ("vocabulary/Table.txt", lambda p: p.unlink(), "vocabulary/Table.txt is damaged"),
        ("vocabulary/Table.txt", lambda p: p.write_text("MAX"), "vocabulary/Table.txt is damaged"),
        (
            "vocabulary/Table.txt",
            lambda p: p.write_text("dgltrees vocabulary 1 {"),
            "vocabulary/Table.txt is damaged",
        ),
        ("vocabulary/Table.txt", _flip, "vocabulary/Table.txt is damaged: it has changed"),
        ("weights.safetensors", _flip, "weights.safetensors is damaged: it has changed"),
        ("config.yaml", _flip, "config.yaml is damaged"),
        ("run.json", _flip, "run.json is damaged"),
        ("run.json", _with_name("../../secret.txt"), "run.json is damaged"),
        ("weights.safetensors", _nan, "weights.safetensors is damaged: .* not finite"),
        ("weights.safetensors", _as_pipe, "weights.safetensors is damaged"),
        ("config.yaml", _as_pipe, "config.yaml is damaged"),
    ],
)
def test_a_damaged_run_is_not_used(
    whole: Path, tmp_path: Path, name: str, damage: Damage, named: str
) -> None:
    run = shutil.copytree(whole, tmp_path / "run")
    damage(run / name)
    cure = "[^;]*; train it again or restore it$|.*; use the code"
    with pytest.raises(ConfigError, match=rf"{named}({cure})"):
        load(run)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("resume.safetensors", _cut),
        ("resume.safetensors", lambda p: p.write_bytes(b"{}")),
        ("resume.safetensors", lambda p: save_file({}, p)),
        ("vocabulary/Table.txt", _flip),  # which has no effect to go on
        ("weights.safetensors", _cut),  # of the best epoch, which no later one may replace
    ],
)
def test_a_damaged_run_is_not_resumed(
    whole: Path, tmp_path: Path, name: str, damage: Damage
) -> None:
    run = shutil.copytree(whole, tmp_path / "run")
    damage(run / name)
    with pytest.raises(ConfigError, match=rf"{name} is damaged: .*; train it again"):
        train(_settings(), run)


def test_the_checkpoint_before_is_named(whole: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(whole, tmp_path / "run"))
    _cut(run / "resume.safetensors")
    message = r"; or resume after epoch 2, step 4, with the checkpoint before: mv .+$"
    with pytest.raises(ConfigError, match=message) as caught:
        train(_settings(), run)
    damaged = Path(shutil.copytree(run, tmp_path / "damaged"))
    _cut(damaged / "resume.previous.safetensors")
    with pytest.raises(ConfigError, match=r"resume.safetensors is .*; no epoch can be resumed$"):
        train(_settings(), damaged)
    shutil.move(*shlex.split(str(caught.value).partition(": mv ")[2]))  # the command in it
    train(_settings(), run)
    shutil.copy(run / "resume.safetensors", run / "resume.previous.safetensors")
    assert_same_runs(whole, run)
    (run / "resume.safetensors").unlink()  # a kill came between two files
    train(_settings(), run)
    for path in run.glob("resume*.safetensors"):
        path.unlink()
    with pytest.raises(ConfigError, match=r"missing resume.safetensors in .* a run of 3 epochs"):
        train(_settings(), run)


def _lines(order: list[int]) -> Damage:
    """Some of the lines, in another order."""

    def damage(path: Path) -> None:
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[i] for i in order))

    return damage


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("metrics.jsonl", _replaced('"epoch": 2', '"epoch": 7')),
        ("metrics.jsonl", _lines([1, 2])),
        ("metrics.jsonl", _lines([0, 1])),
        ("metrics.jsonl", _lines([1, 0, 2])),
        ("metrics.jsonl", _replaced('"checksum": ', '"sum": ')),
        ("metrics.jsonl", _cut),
        ("metrics.jsonl", _as_pipe),
        ("result.json", _replaced('"best_epoch": ', '"best_epoch": 1')),
        ("result.json", _without("valid")),
        ("result.json", _without("checksum")),
        ("result.json", lambda p: p.write_text("[]")),
    ],
)
def test_damaged_results_are_not_read(
    whole: Path, tmp_path: Path, name: str, damage: Damage
) -> None:
    run = RunDirectory(shutil.copytree(whole, tmp_path / "run"))
    read = {"metrics.jsonl": run.metrics, "result.json": run.result}[name]
    assert read()
    damage(run / name)
    with pytest.raises(ConfigError, match=f"{name} is damaged: .*; train it again or restore it"):
        read()


def test_a_directory_without_a_run_or_with_several_is_refused(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"expected a run directory"):
        load(tmp_path / "none")
    shutil.copytree(whole, tmp_path / "seed-0")
    with pytest.raises(ConfigError, match=r"it holds the runs seed-0: name one"):
        load(tmp_path)
