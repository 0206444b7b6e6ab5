"""The device and the processes of a run, through lightning-fabric."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Optional

import torch
import torch.distributed as dist
from lightning_fabric import Fabric
from lightning_fabric.loggers import Logger
from lightning_fabric.utilities.exceptions import MisconfigurationException
from torch import Tensor

from dgltrees.errors import ConfigError
from dgltrees.training.settings import Settings, TrainingSettings

__all__ = [
    "adopt_torchrun",
    "gather",
    "is_first_process",
    "make_fabric",
    "process_count",
    "process_rank",
    "total",
]


def adopt_torchrun(settings: Settings) -> Settings:
    """The settings with as many devices and nodes as ``torchrun`` has started processes on.

    Without ``torchrun`` they stay as they are. A number of 1, the default, leaves it to
    ``torchrun``; any other must be its own.

    Raises:
        ConfigError: the settings ask for other numbers, or the task trains in one process.
    """
    if "TORCHELASTIC_RUN_ID" not in os.environ or os.environ["WORLD_SIZE"] == "1":
        return settings
    processes, devices = (int(os.environ[name]) for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    if settings.task.stateful:
        raise ConfigError(
            f"the task {settings.task.name} reads its text in order, in one process; torchrun has "
            f"started {processes}: start it without"
        )
    started = {"devices": devices, "nodes": processes // devices}
    for name, number in started.items():
        asked = getattr(settings.training, name)
        if asked not in (1, number):
            raise ConfigError(
                f"expected training.{name} to be {number}, as torchrun has started them, got "
                f"{asked}; leave it out"
            )
    return settings.replace("training", **started)


_WATCHER = "dgltrees-parent"
_PARENT = "DGLTREES_PARENT"


def make_fabric(
    settings: TrainingSettings, *, one_device: bool = False, logger: Optional[Logger] = None
) -> Fabric:
    """Launch the devices and processes of the settings.

    Arguments:
        settings: the settings of the training loop.
        one_device: whether to use a single device, regardless of the number in the settings.
        logger: takes the metrics of epochs.

    Raises:
        ConfigError: this machine does not have them.
    """
    _check_size(settings, one_device)
    _end_with_parent()
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    # Gradients vanish on their way down deep trees, and processors are slow at numbers near zero.
    torch.set_flush_denormal(True)
    if settings.deterministic:  # what CUDA's matrix products need to be repeatable
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    try:
        fabric = Fabric(
            accelerator=_accelerator(settings.accelerator),
            devices=1 if one_device else settings.devices,
            num_nodes=1 if one_device else settings.nodes,
            strategy="auto" if one_device else settings.strategy,
            precision=settings.precision,
            loggers=logger,
        )
        with _named_parent():
            fabric.launch()
    except (MisconfigurationException, RuntimeError, ValueError) as error:
        names = ("accelerator", "devices", "nodes", "strategy", "precision")
        asked = [f"training.{name} {getattr(settings, name)}" for name in names]
        raise ConfigError(f"cannot use {', '.join(asked)} on this machine: {error}") from None
    if fabric.world_size > 1:
        atexit.register(_leave)
    return fabric


def _accelerator(name: str) -> str:
    """The kind of device; auto is CUDA or the processor.

    MPS has to be asked for: it has no double precision, in which numbers are standardised and
    metrics are summed.
    """
    if name != "auto":
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"


def _leave() -> None:
    """Close the connections to the other processes; threads that serve them would end in abort."""
    if dist.is_initialized():
        dist.destroy_process_group()


def _check_size(settings: TrainingSettings, one_device: bool) -> None:
    """Check that a machine like this can run so many processes and threads.

    Raises:
        ConfigError: it cannot.
    """
    cores = os.cpu_count() or 1
    most = max(16, 4 * cores)
    for name in ("threads", "workers", "devices"):
        value = getattr(settings, name)
        if value is not None and value > most and not (one_device and name != "threads"):
            raise ConfigError(
                f"expected training.{name} to be at most {most} on this machine, which has {cores} "
                f"cores, got {value}"
            )


@contextlib.contextmanager
def _named_parent() -> Iterator[None]:
    """Tell the processes that this one starts which one it is."""
    os.environ[_PARENT] = str(os.getpid())
    try:
        yield
    finally:
        del os.environ[_PARENT]


def _end_with_parent() -> None:
    """Let a process that another one has started for the same run end with that one."""
    if os.environ.get("LOCAL_RANK", "0") == "0" or any(
        thread.name == _WATCHER for thread in threading.enumerate()
    ):
        return
    # which may have ended before this process got here
    parent, ending = int(os.environ.pop(_PARENT, os.getppid())), threading.Event()

    def watch() -> None:
        while not ending.wait(0.5):
            if os.getppid() != parent:
                os._exit(1)

    atexit.register(ending.set)  # no thread is left when the interpreter goes
    threading.Thread(target=watch, name=_WATCHER, daemon=True).start()


def total(fabric: Fabric, tensor: Tensor) -> Tensor:
    """The sum of ``tensor`` over all processes."""
    if fabric.world_size == 1:
        return tensor
    summed = fabric.all_reduce(tensor.to(fabric.device), reduce_op="sum")
    assert isinstance(summed, Tensor)
    return summed


def gather(fabric: Fabric, tensor: Tensor) -> Tensor:
    """The tensors of all P processes, ``(P, ...)``."""
    rows = torch.zeros(fabric.world_size, *tensor.shape, dtype=tensor.dtype)
    rows[fabric.global_rank] = tensor
    return total(fabric, rows)


def process_rank() -> int:
    """The number of this process among those that ``torchrun`` started, from 0."""
    return int(os.environ.get("RANK", 0))


def process_count() -> int:
    """The number of processes that ``torchrun`` started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", 1))


def is_first_process() -> bool:
    """Whether this is the first, or only, process of a run."""
    return not dist.is_available() or not dist.is_initialized() or dist.get_rank() == 0
