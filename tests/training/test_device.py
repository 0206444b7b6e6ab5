"""Two processes on the same global batches give the losses of one."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from dgltrees.errors import ConfigError
from dgltrees.settings.layers import Settings
from dgltrees.training.checkpoint import _random_state, _set_random_state
from dgltrees.training.device import check_processes, make_fabric, name_torchrun, one_device
from dgltrees.training.run import train
from dgltrees.training.rundir import RunDirectory
from tests.training.samples import quick, with_model

# Sums of float32 taken in another order; after a few AdaDelta steps a loss keeps 5 digits.
TOLERANCE = 1e-5

Lines = list[dict[str, Any]]


def in_two_processes(words: list[str]) -> str:
    """Run Python with these words under torchrun, and return what it prints."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node=2",
            *words,
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def losses_of_one_and_two(folder: Path, settings: Settings) -> tuple[Lines, Lines]:
    """The lines of ``metrics.jsonl`` from one process, and from two."""
    train(settings, folder / "one")
    (folder / "settings.yaml").write_text(settings.to_yaml())
    argv = ["train", str(folder / "settings.yaml"), "--out", str(folder / "two")]
    printed = in_two_processes(["-m", "dgltrees", *argv])
    assert len(printed.splitlines()) == 1  # the result, once
    assert json.loads((folder / "two" / "resume.json").read_text())["world"] == 2
    return RunDirectory(folder / "one").metrics(), RunDirectory(folder / "two").metrics()


TWO = {
    "classify": {"batch_size": 7},
    "classify-nodes": {"batch_size": 7, "loss_reduction": "sum"},
    "regress": {"batch_size": 7},
    "rank": {"batch_size": 12},
}
"""36 examples in batches of 7: the last holds one, so that a process has no part of it. Those of
``rank`` have three groups of four trees, and the last one has one group."""


def _settings_for_two(task: str) -> Settings:
    return with_model(quick(task, schedule="constant", **TWO[task]), hidden_size=5)


@pytest.fixture(scope="module")
def of_two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the runs of all tasks in two processes, one after the other."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "script.py").write_text(
        "import sys\n"
        "from dgltrees.cli import main\n"
        "for run in sys.argv[1:]:\n"
        "    assert main(['train', f'{run}.yaml', '--out', run]) == 0\n"
    )
    for task in TWO:
        (folder / f"{task}.yaml").write_text(_settings_for_two(task).to_yaml())
    in_two_processes([str(folder / "script.py"), *(str(folder / task) for task in TWO)])
    return folder


@pytest.mark.parametrize("task", TWO)
def test_two_processes_give_the_losses_of_one(of_two: Path, tmp_path: Path, task: str) -> None:
    settings = _settings_for_two(task)
    assert task == "rank" or 40 - round(40 * settings.data.valid_fraction) == 36
    train(settings, tmp_path)
    (one,), (two,) = (RunDirectory(path).metrics() for path in (tmp_path, of_two / task))
    assert set(two) == set(one)
    for name, value in one.items():
        assert two[name] == pytest.approx(value, rel=TOLERANCE, nan_ok=True), name


def test_a_run_goes_on_with_as_many_processes(of_two: Path, tmp_path: Path) -> None:
    settings = _settings_for_two("classify")
    train(settings, tmp_path / "one")
    shutil.copytree(of_two / "classify", tmp_path / "two")
    settings = settings.replace("training", epochs=2)
    one, two = losses_of_one_and_two(tmp_path, settings)
    for left, right in zip(one, two):
        assert right["train_loss"] == pytest.approx(left["train_loss"], rel=TOLERANCE)
    assert len(one) == len(two) == 2
    with pytest.raises(ConfigError, match="expected 2 processes, .* got 1; use the"):
        train(settings.replace("training", epochs=3), tmp_path / "two")


def _by_torchrun(monkeypatch: pytest.MonkeyPatch, processes: int, here: int) -> None:
    """The variables that torchrun sets."""
    world = {"WORLD_SIZE": processes, "LOCAL_WORLD_SIZE": here, "TORCHELASTIC_RUN_ID": "none"}
    for name, value in world.items():
        monkeypatch.setenv(name, str(value))


def test_a_text_in_order_trains_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    _by_torchrun(monkeypatch, 6, 2)
    task = quick("classify").task
    check_processes(task)
    with pytest.raises(ConfigError, match="expected one process for .*, got 6; start it"):
        check_processes(replace(task, stateful=True))


def _asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a run on automatic devices asks Fabric for."""
    asked: dict[str, Any] = {}

    class Stop(Exception):  # noqa: N818
        pass

    def fabric(**arguments: Any) -> None:
        asked.update(arguments)
        raise Stop

    monkeypatch.setattr("lightning_fabric.Fabric", fabric)
    with pytest.raises(Stop):
        make_fabric(quick("classify", accelerator="auto").training)
    return asked


def test_torchrun_decides_about_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = {"devices": 1, "num_nodes": 1}
    assert _asked(monkeypatch).items() >= alone.items()
    _by_torchrun(monkeypatch, 6, 2)
    assert _asked(monkeypatch).items() >= {"devices": 2, "num_nodes": 3}.items()


def test_several_gpus_are_named_once_with_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    name_torchrun.cache_clear()
    for gpus in (1, 3, 3):
        name_torchrun(gpus)
    assert capsys.readouterr().err == (
        "dgltrees: one of 3 GPUs is used; to use all: "
        "torchrun --standalone --nproc-per-node 3 -m dgltrees train ...\n"
    )


@pytest.mark.parametrize(("gpu", "chosen"), [(True, "cuda"), (False, "cpu")])
def test_auto_is_never_mps(monkeypatch: pytest.MonkeyPatch, gpu: bool, chosen: str) -> None:
    """Whatever the machine has: it has no double precision."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: True)
    assert _asked(monkeypatch)["accelerator"] == chosen


@pytest.mark.parametrize("precision", ["32-true", "64-true", "bf16-true", "16-mixed", "bf16-mixed"])
@pytest.mark.filterwarnings("ignore:You passed")
def test_one_device_computes_as_fabric_does(precision: str) -> None:
    training = quick("classify", accelerator="cpu", precision=precision).training
    fabric, device = make_fabric(training), one_device(training)
    outputs = []
    for each in (fabric, device):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)
        each.setup_module(model)
        with each.autocast():
            outputs.append(model(torch.ones(3, dtype=model.weight.dtype)) + torch.ones(1))
    assert torch.equal(*outputs)
    assert outputs[0].dtype == outputs[1].dtype
    assert (device.device, device.world_size) == (fabric.device, fabric.world_size)
    assert torch.get_default_dtype() == torch.float32


def test_onednn_is_off_for_a_precision_that_it_refuses_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    for precision in ("bf16-mixed", "32-true"):
        one_device(quick("classify", accelerator="cpu", precision=precision).training)
        assert torch.backends.mkldnn.enabled == ("16" not in precision)


@pytest.mark.parametrize("accelerator", ["cuda", "gpu", "mps"])
def test_a_model_of_a_gpu_predicts_on_the_cpu(
    monkeypatch: pytest.MonkeyPatch, accelerator: str
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    device = one_device(quick("classify", accelerator=accelerator, precision="16-mixed").training)
    assert device.device == torch.device("cpu")
    with device.autocast():  # processors have no float16
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16


def test_a_run_that_began_on_the_cpu_goes_on_on_a_gpu() -> None:
    state = _random_state(torch.device("cpu"))
    drawn = torch.rand(3)
    _set_random_state(state, torch.device("cuda"))
    assert torch.equal(torch.rand(3), drawn)
