"""Every setting of the training loop changes how a run goes."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric

from dgltrees.cells.compiled import way
from dgltrees.cells.compiled.kernels import decided
from dgltrees.settings.layers import Settings
from dgltrees.training import loop
from dgltrees.training.checkpoint import Progress, save_checkpoint
from dgltrees.training.loading import Loader, training_sampler
from dgltrees.training.run import train
from tests.training.samples import quick, with_model

BASE: dict[str, Any] = {
    "optimizer": "sgd",
    "lr": 0.3,
    "optimizer_options": {},
    "loss_reduction": "mean",
    "weight_decay": 0.0,
    "max_grad_norm": None,
    "epochs": 2,
    "patience": None,
    "monitor": None,
    "schedule": "constant",
    "batch_size": 4,
    "keep": "best",
    "save_every_n_steps": None,
}
STANDSTILL = {"lr": 1e-12, "epochs": 3}  # no epoch is better than the first

OTHERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "optimizer": ("adam", {}),
    "lr": (0.1, {}),
    "optimizer_options": ({"momentum": 0.9}, {}),
    "loss_reduction": ("sum", {}),
    "weight_decay": (0.5, {}),
    "max_grad_norm": (1e-3, {}),
    "epochs": (3, {}),
    "patience": (1, STANDSTILL),
    "monitor": ("loss", {}),
    "keep": ("last", STANDSTILL),
    "schedule": ("linear", {}),
    "batch_size": (3, {}),
    "max_nodes": (20, {}),
    "bucket_batches": (1, {}),
    "bucket_by": ("size", {}),
    "seed": (1, {}),
    "save_every_n_steps": (1, {}),
    "accelerator": ("gpu", {}),
    "precision": ("64-true", {}),
    "compile": (True, {}),
    "threads": (2, {}),
    "num_workers": (1, {}),
    "deterministic": (False, {}),
    "logger": ("csv", {}),
}
"""Another value of each setting, and what else is set so that it makes a difference."""

PRESETS = ("classify", "classify-nodes")  # of trees, and of nodes


def settings_of(preset: str, **training: Any) -> Settings:
    """A preset on a few examples, with small layers."""
    quickly = quick(preset, {"max_train_examples": 30})
    if preset in PRESETS:  # so that bucket_by and patience are read
        quickly = quickly.replace("training", bucket_batches=50, keep="best")
    settings = with_model(quickly, hidden_size=4, embedding=4)
    named = {**BASE, **training}
    read = {name: value for name, value in named.items() if name in settings.sections["training"]}
    return settings.replace("training", **read)


def course(settings: Settings, out: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a run asks the machine for, does step by step, and writes."""
    seen: list[Any] = []

    class OneDevice(Fabric):
        """What is asked for is written down; what there is does the work."""

        def __init__(self, **asked: Any) -> None:
            seen.append({name: value for name, value in asked.items() if name != "precision"})
            super().__init__(accelerator="cpu", devices=1, precision=asked["precision"])

    def loader(task: Any, data: Any, workers: int) -> Loader:
        seen.append(workers)
        return Loader(task, data, 0)

    def sampler(*arguments: Any) -> Any:
        batches = training_sampler(*arguments)
        seen.append([list(map(int, ids.flatten())) for ids in batches.batches()])
        return batches

    def save(run: Any, fabric: Any, model: Any, optimizer: Any, progress: Progress) -> None:
        seen.append((torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()))
        seen.append(decided())
        seen.append((progress.epoch, progress.step, progress.best))
        save_checkpoint(run, fabric, model, optimizer, progress)

    monkeypatch.setattr("lightning_fabric.Fabric", OneDevice)
    monkeypatch.setattr(way, "compiles", lambda like: False)  # it takes seconds
    monkeypatch.setattr(loop, "Loader", loader)
    monkeypatch.setattr(loop, "training_sampler", sampler)
    monkeypatch.setattr(loop, "save_checkpoint", save)
    result = train(settings, out, bar=False)
    lines = (out / "metrics.jsonl").read_text().splitlines()
    return [*seen, result, *map(json.loads, lines)]


@pytest.fixture(autouse=True)
def _same_threads() -> Any:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_setting_of_the_loop_makes_a_difference(
    preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert without_difference(preset, tmp_path, monkeypatch) == []


def without_difference(preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The settings of the loop whose other values change nothing."""
    without: list[str] = []
    before: dict[str, list[Any]] = {}
    for name in settings_of(preset).sections["training"]:
        other, context = OTHERS[name]
        if str(context) not in before:
            settings = settings_of(preset, **context)
            before[str(context)] = course(settings, tmp_path / f"before-{name}", monkeypatch)
        settings = settings_of(preset, **context, **{name: other})
        if course(settings, tmp_path / name, monkeypatch) == before[str(context)]:
            without.append(name)
    return without


@pytest.mark.parametrize("preset", PRESETS)
def test_the_same_settings_make_none(
    preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [course(settings_of(preset), tmp_path / name, monkeypatch) for name in "ab"]
    assert runs[0] == runs[1]
