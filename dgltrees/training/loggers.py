"""Loggers of the metrics of every epoch, in addition to ``metrics.jsonl``."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dgltrees.errors import ConfigError

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from lightning_fabric.loggers import Logger

_LIBRARIES: dict[str, tuple[str, ...]] = {
    "csv": (),
    "tensorboard": ("tensorboard",),
    "wandb": ("wandb", "lightning"),
    "mlflow": ("mlflow", "lightning"),
}
"""The libraries that each logger needs."""
_PROJECT = "dgltrees"


def make_logger(name: str | None, folder: Path) -> Logger | None:
    """Return the logger of the setting ``training.logger``; None without one."""
    if name is None:
        return None
    try:
        for library in _LIBRARIES[name]:
            importlib.import_module(library)
    except ImportError as error:
        libraries = _LIBRARIES[name]
        raise ConfigError(
            f"training.logger {name} needs {' and '.join(libraries)}, and importing it failed: "
            f"{error}; pip install {' '.join(libraries)}, or log to csv"
        ) from None
    from lightning_fabric.loggers import CSVLogger, TensorBoardLogger

    if name == "csv":
        return CSVLogger(folder, name=None, version="logs", flush_logs_every_n_steps=1)
    if name == "tensorboard":
        return TensorBoardLogger(folder, name=None, version="logs")
    services: Any = importlib.import_module("lightning.pytorch.loggers")
    logger: Logger = (
        services.WandbLogger(name=folder.name, save_dir=str(folder), project=_PROJECT)
        if name == "wandb"
        else services.MLFlowLogger(experiment_name=_PROJECT, run_name=folder.name)
    )
    return logger


def log_settings(fabric: Fabric, values: Mapping[str, Any]) -> None:
    """Log the settings of a run to a service, which compares runs; files do not need them."""
    from lightning_fabric.loggers import CSVLogger, TensorBoardLogger

    for logger in fabric.loggers:
        if not isinstance(logger, (CSVLogger, TensorBoardLogger)):
            logger.log_hyperparams(dict(values))


def log_epoch(fabric: Fabric, line: Mapping[str, Any]) -> None:
    """Log the numbers of an epoch, with ``epoch`` as the step."""
    numbers = {name: value for name, value in line.items() if isinstance(value, (int, float))}
    step = int(numbers.pop("epoch"))
    fabric.log_dict(numbers, step=step)


def log_past(fabric: Fabric, history: Sequence[Mapping[str, Any]]) -> None:
    """Log the past epochs of a resumed run again if the logger starts a new file."""
    from lightning_fabric.loggers import CSVLogger

    if any(isinstance(logger, CSVLogger) for logger in fabric.loggers):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Experiment logs directory")
            for line in history:
                log_epoch(fabric, line)
