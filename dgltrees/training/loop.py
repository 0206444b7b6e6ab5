"""The training loop: it begins or goes on in a run directory and ends in the same metrics."""

from __future__ import annotations

import dataclasses
import math
import sys
import time
from typing import Any, Optional

import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm import tqdm

from dgltrees.errors import ConfigError
from dgltrees.options import nearest
from dgltrees.tasks.splits import Splits
from dgltrees.tasks.task import Metric, Task
from dgltrees.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from dgltrees.training.determinism import deterministic
from dgltrees.training.evaluation import run_model
from dgltrees.training.halve_on_plateau import HalveOnPlateau
from dgltrees.training.loading import Loader
from dgltrees.training.optimizers import make_optimizer
from dgltrees.training.processes import total
from dgltrees.training.rundir import RunDirectory
from dgltrees.training.sampling import training_sampler
from dgltrees.training.settings import Settings
from dgltrees.trees import Examples, TreeBatch

__all__ = ["Trainer"]


class Trainer:
    """Trains a model on one process of possibly many.

    The loss of a step is the sum over the rows of the whole batch, divided by their number; each
    process computes its part, and the result does not depend on how many there are.

    Arguments:
        settings: all settings of the run.
        splits: training and validation examples.
        model: the model, in its initial state.
        fabric: device and processes, launched.
        run: the directory where everything is written.
        majority: training's most frequent classes.
        bar: whether to show a progress bar; by default where there is a terminal.

    Raises:
        ConfigError: a setting cannot be used.
    """

    def __init__(
        self,
        settings: Settings,
        splits: Splits,
        model: nn.Module,
        fabric: Fabric,
        run: RunDirectory,
        majority: dict[str, int],
        bar: Optional[bool] = None,
    ) -> None:
        self.task, self.splits, self.settings = settings.task, splits, settings.training
        self.monitor = settings.monitored
        self.fabric, self.run, self.majority, self.bar = fabric, run, majority, bar
        self.plain = model
        self.plain_optimizer = make_optimizer(self.settings, model.parameters())
        self.rates = [group["lr"] for group in self.plain_optimizer.param_groups]
        self.model, self.optimizer = fabric.setup(model, self.plain_optimizer)
        window = getattr(settings.data, "window", 0)
        self.sampler = training_sampler(self.task, splits.train, self.settings, window)
        self.loader = Loader(self.task, splits.train, self.settings.workers)
        if self.settings.schedule == "halve" and splits.valid is None:
            raise ConfigError("training.schedule halve needs validation examples, got none")
        self.labeled = self.task.targets(splits.train) >= 0  # (R,)
        self.progress = Progress()
        # dropout differs between processes
        torch.manual_seed(self.settings.seed + fabric.global_rank)
        if (run / "resume.safetensors").exists():
            self.progress = load_checkpoint(
                run / "resume.safetensors", fabric, self.plain, self.plain_optimizer
            )
            if fabric.is_global_zero:
                run.write_metrics(self.progress.history)

    def fit(self) -> Progress:
        """Train until the epochs or the patience are used up."""
        with deterministic(self.settings.deterministic):
            while not self._over():
                self._epoch()
        return self.progress

    def _over(self) -> bool:
        state, patience = self.progress, self.settings.patience
        waited = state.epoch - state.best_epoch
        early = patience is not None and state.best is not None and waited >= patience
        ended = HalveOnPlateau(**state.schedule).over
        return state.epoch >= self.settings.epochs or early or ended

    def _epoch(self) -> None:
        """The rest of the running epoch, its evaluation and its checkpoint."""
        state, started = self.progress, time.perf_counter()
        self.sampler.set_epoch(state.epoch)
        batches = self.sampler.batches()
        self.model.train()
        loss = torch.tensor(state.loss, dtype=torch.float64, device=self.fabric.device)
        hidden = None if self.bar is None else not self.bar
        remaining = batches[state.step :]
        loaded = self.loader([self._mine(ids) for ids in remaining])
        bar = tqdm(
            zip(loaded, remaining),
            desc=f"epoch {state.epoch + 1}",
            initial=state.step,
            total=len(batches),
            leave=False,
            disable=hidden if self.fabric.is_global_zero else True,
        )
        every = self.settings.checkpoint_steps
        for (batch, targets), ids in bar:
            if self.settings.schedule == "linear":
                self._decay(state.epoch + state.step / len(batches))
            step_loss, rows = self._step(ids, batch, targets)
            loss += step_loss
            state.step, state.rows = state.step + 1, state.rows + rows
            if every and state.step % every == 0 and state.step < len(batches):
                state.loss = float(loss)
                self._save()
        state.loss = float(loss)
        self._finish_epoch(time.perf_counter() - started)

    def _mine(self, ids: NDArray[Any]) -> NDArray[Any]:
        """The part of this process; without one it runs an example for its gradients' sake."""
        mine = ids[self.fabric.global_rank :: self.fabric.world_size]
        return mine if len(mine) else ids[:1]

    def _step(self, ids: NDArray[Any], batch: TreeBatch, targets: Tensor) -> tuple[Tensor, int]:
        """The updates of a batch; the sum of all processes' losses before them and their rows.

        Arguments:
            ids: the examples of all processes.
            batch, targets: of this one's part.
        """
        task, fabric = self.task, self.fabric
        count = max(1, int(self.labeled[task.rows(self.splits.train, ids)].sum()))
        # Data parallel training takes the mean of the processes' gradients: undo its division. A
        # process without a part of its own counts for nothing.
        share = float(fabric.global_rank < len(ids)) * fabric.world_size
        share /= task.loss_denominator(len(ids), count)
        targets = targets.to(fabric.device)
        with fabric.autocast():
            rollouts = task.rollouts(self.plain, batch.to(fabric.device), targets)
        losses = [self._update(each, targets, share) for each in rollouts]
        loss = losses[0] * float(fabric.global_rank < len(ids))
        return total(fabric, loss.double()), count

    def _update(self, rollout: Any, targets: Tensor, share: float) -> Tensor:
        """One update; the sum of this process's losses, of which its gradients are ``share``."""
        fabric = self.fabric
        losses = self.task.losses(self.model, rollout, targets).sum()
        loss = losses * share
        self.optimizer.zero_grad()
        fabric.backward(loss if fabric.world_size == 1 else loss + _touch(self.plain))
        _fill_gradients(self.plain)
        if self.settings.clip is not None:
            fabric.clip_gradients(
                self.model, self.optimizer, max_norm=self.settings.clip, error_if_nonfinite=False
            )
        self.optimizer.step()
        return losses.detach()

    def _finish_epoch(self, seconds: float) -> None:
        state = self.progress
        line: dict[str, Any] = {"epoch": state.epoch + 1, "train_loss": state.loss / state.rows}
        if not math.isfinite(line["train_loss"]):
            raise ConfigError(
                f"the training loss is {line['train_loss']} in epoch {line['epoch']}; lower "
                "training.lr or set training.clip"
            )
        if self.splits.valid is not None:
            report = self._evaluate(self.splits.valid)
            line.update({f"valid_{name}": value for name, value in report.items()})
            value = _monitored(report, self.monitor, self.task, self.settings.monitor)
            value = value if self.monitor.higher_is_better else -value
        else:
            value = float(state.epoch)  # the last epoch is the best
        state.epoch, state.step, state.loss, state.rows = state.epoch + 1, 0, 0.0, 0
        state.history.append(line)
        if state.best is None or value > state.best:
            state.best, state.best_epoch = value, state.epoch
            if self.fabric.is_global_zero:
                self.run.save_weights(self.plain.state_dict())
        if self.settings.schedule == "halve":
            self._halve(line[f"valid_{self.monitor.name}"])
        if self.fabric.is_global_zero:
            self.run.write_metrics(state.history)
            print_epoch(line, self.task, seconds, best=state.best_epoch == state.epoch)
        self._save()

    def _decay(self, epochs: float) -> None:
        """Set the learning rate of the next step, after so many epochs."""
        left = 1.0 - epochs / self.settings.epochs
        for group, rate in zip(self.plain_optimizer.param_groups, self.rates):
            group["lr"] = rate * left

    def _halve(self, loss: float) -> None:
        """Let the schedule undo the epoch and set the learning rate of the next."""
        schedule = HalveOnPlateau(**self.progress.schedule)
        if schedule.after(loss):
            self.fabric.barrier()  # the first process has written the best weights by now
            self.plain.load_state_dict(self.run.weights())
        if schedule.halving:
            for group in self.plain_optimizer.param_groups:
                group["lr"] /= 2
        self.progress.schedule = dataclasses.asdict(schedule)

    def _evaluate(self, data: Examples) -> dict[str, Any]:
        outputs = run_model(self.plain, self.task, data, self.fabric)
        return self.task.report(data, outputs, self.majority)

    def _save(self) -> None:
        save_checkpoint(
            self.run / "resume.safetensors",
            self.fabric,
            self.plain,
            self.plain_optimizer,
            self.progress,
        )


def _monitored(report: dict[str, Any], monitor: Metric, task: Task, chosen: Optional[str]) -> float:
    """The value that decides which epoch is the best.

    Arguments:
        report: of the validation examples.
        monitor: the metric.
        task: what has reported.
        chosen: the setting ``training.monitor``; None where the task's first metric is taken.

    Raises:
        ConfigError: it is not reported of these data and this model.
    """
    if monitor.name in report:
        return float(report[monitor.name])
    names = [metric.name for metric in task.metrics if metric.name in report]
    cure = f"set training.monitor to {' or '.join(names)}" if names else "correct the task"
    if chosen is not None:
        raise ConfigError(
            f"expected training.monitor to be {' or '.join(names)}, which this model reports of "
            f"these data, got {chosen!r}"
        )
    numbers = [name for name, value in report.items() if isinstance(value, float)]
    raise ConfigError(
        f"expected the task {task.name} to report {monitor.name!r}, its first metric, of these "
        f"data, got {', '.join(numbers)}; {nearest(monitor.name, numbers, cure)}"
    )


def _fill_gradients(model: nn.Module) -> None:
    """A gradient of zeros where a batch reached no part of a parameter.

    The optimizer treats all parameters alike, whatever is in a batch.
    """
    for parameter in model.parameters():
        if parameter.requires_grad and parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)


def _touch(model: nn.Module) -> Tensor:
    """Zero, with every parameter in its graph, since data parallel training waits for all."""
    return torch.stack([p.sum() * 0 for p in model.parameters() if p.requires_grad]).sum()


def print_epoch(line: dict[str, Any], task: Task, seconds: float, best: bool) -> None:
    """Print one line about an epoch on standard error; ``*`` marks the best so far."""
    parts = [f"epoch {line['epoch']:3d}", f"train loss {line['train_loss']:.4f}"]
    for metric in task.metrics:
        if f"valid_{metric.name}" in line:
            parts.append(f"valid {metric.title} {line[f'valid_{metric.name}']:{metric.format}}")
    if "valid_majority" in line:
        parts.append(f"(majority {line['valid_majority']:.4f})")
    parts.append(f"{seconds:.1f} s")
    tqdm.write("  ".join(parts) + ("  *" if best else ""), file=sys.stderr)
