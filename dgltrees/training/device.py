"""The device and the processes of a run, and reproducible results."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import Tensor, nn
from tqdm import tqdm

from dgltrees.errors import ConfigError
from dgltrees.settings.layers import TrainingSettings
from dgltrees.tasks.task import Task

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from lightning_fabric.loggers import Logger

_TRUE = {"64-true": torch.float64, "bf16-true": torch.bfloat16}
_MIXED = {"16-mixed": torch.float16, "bf16-mixed": torch.bfloat16}
_ONEDNN = torch.backends.mkldnn.enabled
"""Whether torch uses oneDNN unless a precision forbids it."""


class OneDevice:
    """One device and a precision, with the part of Fabric's interface that predictions use.

    Importing lightning-fabric, with torch's compiler, takes longer than most predictions.

    Arguments:
        accelerator: the kind of device, a value of ``training.accelerator`` other than auto. Where
            there is none, it is the CPU: a model trained on a GPU predicts on every machine.
        precision: a value of ``training.precision``.

    Attributes:
        device: the device.
    """

    global_rank, world_size = 0, 1

    def __init__(self, accelerator: str, precision: str) -> None:
        has_mps = torch.backends.mps.is_available()
        kind = accelerator
        if accelerator == "gpu":
            kind = "mps" if has_mps else "cuda"
        available = torch.cuda.is_available() if kind == "cuda" else kind == "mps" and has_mps
        self.device = torch.device(kind, 0) if available else torch.device("cpu")
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        self._true, self._mixed = _TRUE.get(precision), _MIXED.get(precision)
        if not available and self._mixed is not None:  # as Fabric: processors have no float16
            self._mixed = torch.bfloat16

    def setup_module(self, model: nn.Module) -> None:
        """Move a model to the device, and convert it to the precision of its parameters."""
        model.to(device=self.device, dtype=self._true)

    def autocast(self) -> AbstractContextManager[None]:
        """Return a context in which torch computes in the precision."""
        if self._mixed is not None:
            return torch.autocast(self.device.type, dtype=self._mixed)
        return nullcontext() if self._true is None else _default_dtype(self._true)


_DTYPE = threading.RLock()


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    with _DTYPE:  # torch has one default for all threads
        before = torch.get_default_dtype()
        torch.set_default_dtype(dtype)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


def check_processes(task: Task) -> None:
    """Raise ConfigError if ``torchrun`` has started several processes for a task that needs one."""
    if task.stateful and _by_torchrun() and process_count() > 1:
        raise ConfigError(
            f"expected one process for the task {task.name}, whose text is read in order, got "
            f"{process_count()}; start it without torchrun"
        )


def make_fabric(settings: TrainingSettings, *, logger: Logger | None = None) -> Fabric:
    """Set up the device of this process, and join the processes that ``torchrun`` has started."""
    # imports torch's compiler, which takes seconds, and which only training needs
    from lightning_fabric import Fabric
    from lightning_fabric.utilities.exceptions import MisconfigurationException

    _set_up_process(settings)
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # no advice on Tensor Cores
    started = _by_torchrun()
    devices = int(os.environ["LOCAL_WORLD_SIZE"]) if started else 1
    try:
        fabric = Fabric(
            accelerator=_accelerator(settings.accelerator),
            devices=devices,
            num_nodes=process_count() // devices if started else 1,
            precision=settings.precision,
            loggers=logger,
        )
        fabric.launch()
    except (MisconfigurationException, RuntimeError, ValueError) as error:
        raise ConfigError(
            f"cannot use training.accelerator {settings.accelerator}, training.precision "
            f"{settings.precision} on this machine: {error}"
        ) from None
    if fabric.world_size > 1:
        atexit.register(_leave)
    return fabric


def one_device(settings: TrainingSettings) -> OneDevice:
    """Set up a single device for predictions, for any number of processes."""
    _set_up_process(settings, predicts=True)
    return OneDevice(_accelerator(settings.accelerator), settings.precision)


def _set_up_process(settings: TrainingSettings, *, predicts: bool = False) -> None:
    """Set the options of torch that are global in a process."""
    _check_size(settings, predicts)
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    # Gradients vanish on their way down deep trees, and processors are slow at numbers near zero.
    torch.set_flush_denormal(True)
    # without AVX-512, oneDNN refuses LSTMs in bfloat16
    usable = "16" not in settings.precision or torch.ops.mkldnn._is_mkldnn_bf16_supported()
    torch.backends.mkldnn.set_flags(_ONEDNN and usable)  # type: ignore[no-untyped-call]
    if settings.deterministic:  # what CUDA's matrix products need to be repeatable
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _by_torchrun() -> bool:
    return "TORCHELASTIC_RUN_ID" in os.environ


def _accelerator(name: str) -> str:
    """Return the kind of device; auto is CUDA, or the CPU.

    It is never MPS, which lacks the double precision of standardised numbers and metrics.
    """
    if name != "auto":
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"


@cache
def name_torchrun(gpus: int) -> None:
    """Print, once, the command that trains on all GPUs if only one of several is used."""
    if gpus > 1:
        command = f"torchrun --standalone --nproc-per-node {gpus} -m dgltrees train ..."
        tqdm.write(f"dgltrees: one of {gpus} GPUs is used; to use all: {command}", file=sys.stderr)


def _leave() -> None:
    """Close the connections to the other processes, whose threads would abort at exit."""
    if dist.is_initialized():
        dist.destroy_process_group()


def _check_size(settings: TrainingSettings, predicts: bool) -> None:
    """Raise ConfigError if there are too many processes or threads for this machine."""
    cores = os.cpu_count() or 1
    most = max(16, 4 * cores)
    for name in ("threads", "num_workers"):
        value = getattr(settings, name)
        if value is not None and value > most and not (predicts and name != "threads"):
            raise ConfigError(
                f"expected training.{name} to be at most {most} on this machine, which has {cores} "
                f"cores, got {value}"
            )


def total(fabric: Fabric | OneDevice, tensor: Tensor) -> Tensor:
    """Return the sum of ``tensor`` over all processes."""
    if isinstance(fabric, OneDevice) or fabric.world_size == 1:
        return tensor
    summed = fabric.all_reduce(tensor.to(fabric.device), reduce_op="sum")
    assert isinstance(summed, Tensor)
    return summed


def gather(fabric: Fabric, tensor: Tensor) -> Tensor:
    """Return the tensors of all P processes, ``(P, ...)``."""
    rows = torch.zeros(fabric.world_size, *tensor.shape, dtype=tensor.dtype)
    rows[fabric.global_rank] = tensor
    return total(fabric, rows)


def process_rank() -> int:
    """Return the index of this process among those that ``torchrun`` started, from 0."""
    return int(os.environ.get("RANK", 0))


def process_count() -> int:
    """Return the number of processes that ``torchrun`` started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", 1))


def is_first_process() -> bool:
    """Return whether this is the first, or only, process of a run."""
    return not dist.is_available() or not dist.is_initialized() or dist.get_rank() == 0


@contextmanager
def deterministic(enabled: bool) -> Iterator[None]:
    """Use torch's deterministic algorithms within a ``with`` block, if ``enabled``."""
    before = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    fill = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    if enabled:
        torch.use_deterministic_algorithms(True)
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warn_only)
        torch.utils.deterministic.fill_uninitialized_memory = fill  # type: ignore[attr-defined]
