"""Checkpoints from which a run resumes: parameters, optimizer, random states, progress."""

from __future__ import annotations

import dataclasses
import json
import math
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.errors import ConfigError, called
from dgltrees.tasks.task import Columns
from dgltrees.training.device import gather
from dgltrees.training.files import checking, not_finite, read_tensors, write_tensors
from dgltrees.training.optimizers import load_optimizer, optimizer_state
from dgltrees.training.rundir import RunDirectory

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass
class Progress:
    """The progress of a run in its training.

    Arguments:
        epoch: number of finished epochs.
        step: number of finished batches of the current epoch.
        loss, rows: sum of the losses of the current epoch so far, and the number of its rows.
        best: the best validation value.
        best_epoch: the epoch, from 1, whose weights are kept.
        history: the lines of ``metrics.jsonl``.
        schedule: the state of the learning rate schedule.
    """

    epoch: int = 0
    step: int = 0
    loss: float = 0.0
    rows: int = 0
    best: float | None = None
    best_epoch: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    schedule: dict[str, Any] = field(default_factory=dict)

    @property
    def mean_loss(self) -> float:
        """The mean loss of the current epoch so far; 0 before its first row."""
        return self.loss / max(self.rows, 1)


_STATE, _READABLE, _PREVIOUS = "resume.safetensors", "resume.json", "resume.previous.safetensors"


def save_checkpoint(
    run: RunDirectory,
    fabric: Fabric,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
) -> None:
    """Write the state to a file of the run, atomically, and a readable part next to it.

    The state before is kept, in case that the new file is damaged later.

    Every process must call this function. The first process writes, including the random states of
    all processes. :func:`check_finite` checks beforehand that a run can continue from the state.
    """
    states = gather(fabric, _random_state(fabric.device))  # (P, bytes)
    if fabric.is_global_zero:
        run.check_is_there()
        tensors, plain = optimizer_state(optimizer)
        about = {
            "world": fabric.world_size,
            "optimizer": plain,
            "progress": dataclasses.asdict(progress),
            "precision": fabric.strategy.precision.state_dict(),  # the scale of 16-mixed
        }
        named = {f"optimizer.{name}": tensor for name, tensor in tensors.items()}
        named.update({f"model.{name}": tensor for name, tensor in model.state_dict().items()})
        named["random"] = states
        if (run / _STATE).exists():
            (run / _STATE).replace(run / _PREVIOUS)
        write_tensors(run / _STATE, named, {"state": json.dumps(about)})
        run.write_values(_READABLE, about)
    fabric.barrier()


def load_checkpoint(
    run: RunDirectory, fabric: Fabric, model: nn.Module, optimizer: torch.optim.Optimizer
) -> Progress | None:
    """Restore model, optimizer and random states from a run."""
    path, previous = run / _STATE, run / _PREVIOUS
    if not path.exists():  # or a kill came before it was written
        path = previous
    if not path.exists():
        if len(epochs := run.metrics()) > 1:  # a kill in the first epoch leaves one at most
            raise ConfigError(
                f"missing {_STATE} in {run.path}, a run of {len(epochs)} epochs; restore it, or "
                "choose another directory"
            )
        return None
    try:
        tensors, texts = read_tensors(path)
    except ConfigError as error:
        try:
            progress = json.loads(read_tensors(previous)[1]["state"])["progress"]
        except ConfigError:  # damaged too, or missing
            raise ConfigError(f"{error}; no epoch can be resumed") from None
        raise ConfigError(
            f"{error}; or resume after epoch {progress['epoch']}, step {progress['step']}, with "
            f"the checkpoint before: {shlex.join(['mv', str(previous), str(path)])}"
        ) from None
    with checking(path):
        about = json.loads(texts["state"])
        world = about["world"]
    if world != fabric.world_size:
        raise ConfigError(
            f"expected {world} processes, with which {run.path} was started, got "
            f"{fabric.world_size}; use the same number"
        )
    parts: dict[str, dict[str, Tensor]] = {"model": {}, "optimizer": {}}
    with checking(path):
        for name, tensor in tensors.items():
            part, _, key = name.partition(".")
            if key:
                parts[part][key] = tensor
    with checking(path, with_code=True):
        model.load_state_dict(parts["model"])
        load_optimizer(optimizer, parts["optimizer"], about["optimizer"])
    with checking(path):
        _set_random_state(tensors["random"][fabric.global_rank], fabric.device)
        progress = Progress(**about["progress"])
        if about.get("precision"):  # empty if the run began where there is no 16-mixed
            fabric.strategy.precision.load_state_dict(about["precision"])
    if fabric.is_global_zero:  # a kill may have come between the two files
        run.write_values(_READABLE, about)
    return progress


LARGEST_LOSS = 1e9
"""Mean loss of an example above which training has diverged; targets are of order 1."""


def check_finite(model: nn.Module, progress: Progress, finite: int) -> None:
    """Check that training can continue."""
    epoch, cure = f"epoch {progress.epoch + 1}", _cure()
    if not math.isfinite(progress.loss):
        raise ConfigError(
            f"the training loss is {progress.loss} in {epoch}, step {finite + 1}; {cure}"
        )
    if abs(progress.mean_loss) > LARGEST_LOSS:
        raise ConfigError(
            f"the mean training loss is {progress.mean_loss:.3g} in {epoch}, step "
            f"{progress.step}: training has diverged; {cure}"
        )
    if names := not_finite(model.state_dict()):
        raise ConfigError(
            f"{', '.join(names[:3])} are not finite in {epoch}, step {progress.step}; {cure}"
        )


def check_predictions(outputs: Columns, epoch: int) -> None:
    """Check that the predictions of a model after an epoch, from 1, are finite."""
    for name, values in outputs.items():
        wrong = ~np.isfinite(values)
        if name.startswith("prediction") and wrong.any():
            raise ConfigError(
                f"{int(wrong.sum())} of {wrong.size} predictions are not finite after epoch "
                f"{epoch}: training has diverged; {_cure()}"
            )


def _cure() -> str:
    return f"lower {called('training.lr')} or set training.max_grad_norm"


def _random_state(device: torch.device) -> Tensor:
    """Return the states of torch's random generators in this process, as bytes."""
    state = torch.get_rng_state()
    if device.type == "cuda":
        state = torch.cat([state, torch.cuda.get_rng_state(device)])
    return state


def _set_random_state(state: Tensor, device: torch.device) -> None:
    size = len(torch.get_rng_state())
    torch.set_rng_state(state[:size].clone())  # torch reads a slice from the start of its storage
    if device.type == "cuda" and len(state) > size:  # it is not if the run began on the CPU
        torch.cuda.set_rng_state(state[size:].clone(), device)
