"""Metrics of epochs through Fabric's loggers."""

import csv
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lightning_fabric.loggers import Logger

from dgltrees.errors import ConfigError
from dgltrees.settings.layers import Settings
from dgltrees.training import loggers
from dgltrees.training.run import train
from tests.training.samples import quick


def settings(**training: Any) -> Settings:
    made = quick("classify", {"max_train_examples": 30})
    return made.replace("training", logger="csv", epochs=3, patience=None, **training)


def rows(run: Path) -> list[dict[str, str]]:
    with open(run / "logs" / "metrics.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_every_epoch_is_a_row(tmp_path: Path) -> None:
    train(settings(), tmp_path / "run", bar=False)
    lines = [json.loads(s) for s in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    logged = rows(tmp_path / "run")
    assert [int(row["step"]) for row in logged] == [line["epoch"] for line in lines] == [1, 2, 3]
    for name in ("train_loss", "valid_accuracy"):
        assert [float(row[name]) for row in logged] == [line[name] for line in lines]


def test_a_resumed_run_has_all_epochs_once(tmp_path: Path) -> None:
    def stop(line: dict[str, Any], *rest: Any) -> None:
        if line["epoch"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(settings(), tmp_path / "run", bar=False, on_epoch=stop)
    train(settings(), tmp_path / "run", bar=False)
    assert [int(row["step"]) for row in rows(tmp_path / "run")] == [1, 2, 3]


class Service(Logger):
    """Stands for the logger of a service, whose library needs an account or a server."""

    name = version = "service"

    def __init__(self, **arguments: Any) -> None:
        self.arguments, self.params = arguments, dict[str, Any]()
        self.lines: list[tuple[int | None, dict[str, float]]] = []

    def log_hyperparams(self, params: dict[str, Any]) -> None:
        self.params = params

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.lines.append((step, metrics))


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_services_get_settings_and_epochs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    services: list[Service] = []

    def make(**arguments: Any) -> Service:
        services.append(Service(**arguments))
        return services[-1]

    library = SimpleNamespace(WandbLogger=make, MLFlowLogger=make)
    monkeypatch.setitem(loggers._LIBRARIES, name, ())
    monkeypatch.setitem(sys.modules, "lightning.pytorch.loggers", library)
    train(settings().replace("training", logger=name), tmp_path / "run", bar=False)
    (service,) = services
    assert "dgltrees" in service.arguments.values()
    assert service.params["model.hidden_size"] == 128
    assert [step for step, _ in service.lines] == [1, 2, 3]
    assert "valid_accuracy" in service.lines[0][1]


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "mlflow"])
def test_a_library_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(loggers._LIBRARIES, name, ("no_such_library",))
    with pytest.raises(ConfigError, match=f"training.logger {name} needs no_such_library, and"):
        train(settings().replace("training", logger=name), tmp_path / "run", bar=False)
    assert not (tmp_path / "run").exists()
