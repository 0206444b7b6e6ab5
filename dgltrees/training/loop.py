"""The training loop, which starts or resumes a run; resumed runs have the same results."""

from __future__ import annotations

import copy
import dataclasses
import math
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm import tqdm

from dgltrees.errors import ConfigError, called
from dgltrees.settings import nearest
from dgltrees.settings.layers import Settings
from dgltrees.tasks.splits import Splits
from dgltrees.tasks.task import Metric
from dgltrees.training.checkpoint import (
    Progress,
    check_finite,
    check_predictions,
    load_checkpoint,
    save_checkpoint,
)
from dgltrees.training.device import deterministic, total
from dgltrees.training.evaluation import run_model
from dgltrees.training.loading import Loader, part_of_batch, training_sampler, whole_groups
from dgltrees.training.loggers import log_epoch, log_past
from dgltrees.training.optimizers import make_optimizer
from dgltrees.training.rundir import RunDirectory
from dgltrees.trees import LabeledTrees, TreeBatch

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass
class HalveOnPlateau:
    """A schedule that halves the learning rate when the validation loss stops falling.

    The first epoch whose loss is not better than the best by ``factor`` starts the halving at every
    epoch; the next such epoch ends the training. An epoch that is worse than the best is undone:
    training continues from the best epoch's parameters.

    Source: Zhang, Lu and Lapata (2016), after Mikolov et al. (2010).

    Arguments:
        factor: an epoch is better if the best loss so far is at least this many times its loss.
        best: the best loss so far.
        halving: whether the rate is halved at every epoch.
        over: whether training has ended.
    """

    factor: float = 1.0001
    best: float | None = None
    halving: bool = False
    over: bool = False

    def after(self, loss: float) -> bool:
        """Update with an epoch's validation loss; return whether the epoch must be undone."""
        worse = self.best is not None and loss > self.best
        improved = self.best is None or loss * self.factor <= self.best
        self.over = self.halving and not improved
        self.halving = self.halving or not improved
        self.best = loss if self.best is None else min(loss, self.best)
        return worse


@dataclass(frozen=True)
class Prepared:
    """Settings, data and model of a run before training; ``max_children`` is resolved."""

    settings: Settings
    splits: Splits
    test: LabeledTrees | None
    model: nn.Module


OnEpoch = Callable[[dict[str, Any], Settings, float, bool], None]
"""Called after each epoch with its metrics, the settings, its duration in seconds, and whether it
is the best so far."""

_MEASURED = 2.0  # seconds of training by which its length is estimated
_CHECKED = 100  # training examples whose predictions are checked
_ANNOUNCED = 60.0  # seconds from which on it is announced


class Trainer:
    """The training of a model, in one of possibly several processes.

    The loss of a step is the mean or the sum over the rows of the whole batch. Each process
    computes its part, so the result does not depend on the number of processes.

    Arguments:
        ready: settings, data and model, in its initial state.
        fabric: device and processes, launched.
        run: the run directory; with None, only the best weights are kept, in memory.
        bar: show a progress bar; default: only in a terminal.
        on_epoch: called after each epoch; default: prints a line.

    Raises:
        ConfigError: a setting cannot be used.
    """

    def __init__(
        self,
        ready: Prepared,
        fabric: Fabric,
        run: RunDirectory | None,
        bar: bool | None = None,
        on_epoch: OnEpoch | None = None,
    ) -> None:
        self.ready = ready
        settings, splits, model = ready.settings, ready.splits, ready.model
        self.task, self.splits, self.settings = ready.settings.task, splits, settings.training
        self.monitor = settings.monitored
        self.fabric, self.run, self.bar = fabric, run, bar
        self.on_epoch = on_epoch or print_epoch
        self.majority = self.task.majority(splits.train)
        self.plain = model
        self.parameters = list(model.parameters())  # a walk over all modules
        self.plain_optimizer = make_optimizer(
            self.settings, self.parameters, on_processor=fabric.device.type == "cpu"
        )
        self.rates = [group["lr"] for group in self.plain_optimizer.param_groups]
        self.model, self.optimizer = fabric.setup(model, self.plain_optimizer)
        self.sampler = training_sampler(settings, splits.train)
        self.loader = Loader(self.task, splits.train, self.settings.num_workers)
        if self.settings.schedule == "halve" and splits.valid is None:
            raise ConfigError(
                "missing validation examples for training.schedule halve; set data.valid or "
                "data.valid_fraction"
            )
        self.labeled = self.task.labeled(splits.train)  # (R,)
        self.weights = self.task.weights(splits.train)  # (R,)
        self.groups = whole_groups(self.task, splits.train)  # (E,)
        self.progress = Progress()  # of a new run
        self._announces = bar is not False and fabric.is_global_zero
        self._times: list[float] = []  # the ends of the first steps
        self._best: dict[str, Tensor] = {}
        self.valid_report: dict[str, Any] = {}  # of the calibrated model
        self.interrupted = False
        # dropout differs between processes
        torch.manual_seed(self.settings.seed + fabric.global_rank)
        if run is not None:
            self._resume(run)

    def _resume(self, run: RunDirectory) -> None:
        progress = load_checkpoint(run, self.fabric, self.plain, self.plain_optimizer)
        if progress is not None:
            self.progress = progress
            if progress.best_epoch:
                run.weights()  # if they are damaged, the error comes before the remaining epochs
            if self.fabric.is_global_zero:
                run.write_metrics(progress.history)
                log_past(self.fabric, progress.history)

    def fit(self) -> Progress:
        """Train until the epochs or the patience are used up, and return the progress.

        If a training in memory is interrupted (Ctrl-C), it ends with the epoch to keep so far, and
        a warning. One in a run directory can be resumed.
        """
        with deterministic(self.settings.deterministic):
            try:
                while not self._over():
                    self._epoch()
            except KeyboardInterrupt:
                if not self._best:
                    raise
                self.interrupted = True
                warnings.warn(
                    f"the training was interrupted in epoch {self.progress.epoch + 1} of "
                    f"{self.settings.epochs}; the model is that of epoch "
                    f"{self.progress.best_epoch}",
                    stacklevel=2,
                )
        self._check_best()
        if self.progress.best_epoch == self.progress.epoch and not self.task.stateful:
            some = self.splits.train[:_CHECKED]
            outputs = run_model(self.plain, self.task, some, self.fabric)
            check_predictions(outputs, self.progress.epoch)
        return self.progress

    def _check_best(self) -> None:
        """Raise ConfigError if no epoch can be the best."""
        if self.progress.best is None:
            last = self.progress.history[-1]
            values = {
                name: last[f"valid_{name}"] for name in self._finite if f"valid_{name}" in last
            }
            raise ConfigError(
                f"expected an epoch with a finite {' and '.join(values)} on the validation "
                f"examples, got none ({', '.join(map(str, values.values()))} in the last); lower "
                f"{called('training.lr')}, or choose another training.monitor"
            )

    @property
    def _finite(self) -> list[str]:
        """The validation metrics that must be finite in the best epoch."""
        return list(dict.fromkeys([self.monitor.name, "loss", "perplexity"]))

    def _over(self) -> bool:
        state, patience = self.progress, self.settings.patience
        waited = state.epoch - state.best_epoch
        early = patience is not None and waited >= patience
        ended = HalveOnPlateau(**state.schedule).over
        return state.epoch >= self.settings.epochs or early or ended

    def _epoch(self) -> None:
        """Finish the current epoch: its remaining batches, its evaluation and its checkpoint."""
        state, started = self.progress, time.perf_counter()
        self.sampler.set_epoch(state.epoch)
        batches = self.sampler.batches()
        self.model.train()
        loss = torch.tensor(state.loss, dtype=torch.float64, device=self.fabric.device)
        hidden = None if self.bar is None else not self.bar
        remaining = batches[state.step :]
        rank, world = self.fabric.global_rank, self.fabric.world_size
        parts = [part_of_batch(ids, self.groups, rank, world) for ids in remaining]
        loaded = self.loader([mine for mine, _ in parts])
        bar = tqdm(
            zip(loaded, remaining, parts),
            desc=f"epoch {state.epoch + 1}",
            initial=state.step,
            total=len(batches),
            leave=False,
            disable=hidden if self.fabric.is_global_zero else True,
        )
        every = self.settings.save_every_n_steps
        finite = torch.tensor(state.step, device=self.fabric.device)  # steps with a finite loss
        for (batch, targets), ids, (mine, counts) in bar:
            if self.settings.schedule == "linear":
                self._decay(state.epoch + state.step / len(batches))
            step_loss, rows = self._step(ids, mine, batch, targets, counts)
            loss += step_loss
            finite += loss.isfinite()
            state.step, state.rows = state.step + 1, state.rows + rows
            if self._announces:
                self._announce(len(batches))
            if every and state.step % every == 0 and state.step < len(batches):
                self._check(loss, finite)
                self._save()
        self._check(loss, finite)
        self._finish_epoch(started)

    def _check(self, loss: Tensor, finite: Tensor) -> None:
        """Raise ConfigError if the training has diverged; see :func:`check_finite`."""
        self.progress.loss = float(loss)
        check_finite(self.plain, self.progress, int(finite))

    def _announce(self, batches: int) -> None:
        """Print the estimated duration of a long training once, after its first steps.

        The very first step may compile the cell and is ignored.
        """
        self._times.append(time.perf_counter())
        spent, state = self._times[-1] - self._times[0], self.progress
        if len(self._times) < 2 or spent < _MEASURED:
            return
        self._announces = False
        steps = (self.settings.epochs - state.epoch) * batches - state.step
        seconds = spent / (len(self._times) - 1) * steps
        if seconds >= _ANNOUNCED:
            early = "" if self.settings.patience is None else ", or less if it stops early"
            tqdm.write(
                f"dgltrees: {self.settings.epochs} epochs take about {duration(seconds)}{early}",
                file=sys.stderr,
            )

    def _step(
        self, ids: NDArray[Any], mine: NDArray[Any], batch: TreeBatch, targets: Tensor, counts: bool
    ) -> tuple[Tensor, int]:
        """Update the model on a batch; return the total loss before it, and the number of rows.

        Each loss is multiplied by the weight of its row, if rows have weights.
        """
        task, fabric, examples = self.task, self.fabric, self.splits.train
        rows = int(self.labeled[task.rows(examples, ids)].sum())
        with fabric.autocast():
            rollout = task.rollout(self.plain, batch.to(fabric.device))
        losses = task.losses(self.model, rollout, targets.to(fabric.device))
        if self.weights is not None:
            losses = losses * torch.from_numpy(self.weights[task.rows(examples, mine)]).to(losses)
        loss = losses.sum()
        # Data parallel training takes the mean of the processes' gradients: undo its division.
        weight = float(counts) * fabric.world_size
        if self.settings.loss_reduction == "mean":
            weight /= task.loss_denominator(len(ids), max(1, rows))
        self.optimizer.zero_grad()
        part = loss * weight
        fabric.backward(part if fabric.world_size == 1 else part + _touch(self.parameters))
        _fill_gradients(self.parameters)
        bound = self.settings.max_grad_norm
        if bound is not None:
            fabric.clip_gradients(
                self.model, self.optimizer, max_norm=bound, error_if_nonfinite=False
            )
        self.optimizer.step()
        return total(fabric, (loss.detach() * float(counts)).double()), rows

    def _finish_epoch(self, started: float) -> None:
        state, self._announces = self.progress, False  # the line of the epoch says it
        line: dict[str, Any] = {"epoch": state.epoch + 1, "train_loss": state.mean_loss}
        if self.splits.valid is not None:
            report = self._evaluate(self.splits.valid)
            line.update({f"valid_{name}": value for name, value in report.items()})
            value = self._monitored(report)
            value = value if self.monitor.higher_is_better else -value
            if not all(math.isfinite(report.get(name, 0.0)) for name in self._finite):
                value = -math.inf  # it cannot be the best epoch
        else:
            value = float(state.epoch)  # the last epoch is the best
        state.epoch, state.step, state.loss, state.rows = state.epoch + 1, 0, 0.0, 0
        state.history.append(line)
        is_better = value > (-math.inf if state.best is None else state.best)
        if is_better:
            state.best = value
        if is_better or (self.settings.keep == "last" and value > -math.inf):
            state.best_epoch = state.epoch
            self._keep_best()
        if self.settings.schedule == "halve":
            self._halve(line[f"valid_{self.monitor.name}"])
        if self.run is not None and self.fabric.is_global_zero:
            self.run.write_metrics(state.history)
        self._save()
        if self.fabric.is_global_zero:
            log_epoch(self.fabric, line)
            seconds = time.perf_counter() - started
            self.on_epoch(copy.deepcopy(line), self.ready.settings, seconds, is_better)

    def _monitored(self, report: dict[str, Any]) -> float:
        """Return the value in a report that determines the best epoch."""
        name, chosen = self.monitor.name, self.settings.monitor
        if name in report:
            return float(report[name])
        names = [metric.name for metric in self.task.metrics if metric.name in report]
        if chosen is not None:
            raise ConfigError(
                f"expected training.monitor to be {' or '.join(names)}, the metrics of this model "
                f"on these data, got {chosen!r}"
            )
        cure = f"set training.monitor to {' or '.join(names)}" if names else "correct the task"
        numbers = [key for key, value in report.items() if isinstance(value, float)]
        raise ConfigError(
            f"expected the task {self.task.name} to report its first metric {name!r} on these "
            f"data, got {', '.join(numbers)}; {nearest(name, numbers, cure)}"
        )

    def _decay(self, epochs: float) -> None:
        """Set the learning rate of the next step, given the (fractional) number of past epochs."""
        left = 1.0 - epochs / self.settings.epochs
        for group, rate in zip(self.plain_optimizer.param_groups, self.rates):
            group["lr"] = rate * left

    def _halve(self, loss: float) -> None:
        """Let the schedule undo the epoch and set the learning rate of the next epoch."""
        schedule = HalveOnPlateau(**self.progress.schedule)
        if schedule.after(loss):
            self._check_best()
            self.fabric.barrier()  # the first process has written the best weights by now
            self.load_best(calibrated=False)
        if schedule.halving:
            for group in self.plain_optimizer.param_groups:
                group["lr"] /= 2
        self.progress.schedule = dataclasses.asdict(schedule)

    def _evaluate(self, data: LabeledTrees) -> dict[str, Any]:
        outputs = run_model(self.plain, self.task, data, self.fabric)
        check_predictions(outputs, self.progress.epoch + 1)
        return self.task.report(data, outputs, self.majority)

    def calibrate(self) -> None:
        """Adapt the probabilities of the model that is kept to the validation examples.

        ``valid_report`` then has its metrics on these examples, as an evaluation would.
        """
        if not self.task.calibrates or not self.progress.best_epoch:
            return
        if self.splits.valid is not None:
            self.fabric.barrier()  # the first process has written the weights by now
            self.load_best()
            outputs = run_model(self.plain, self.task, self.splits.valid, self.fabric)
            self.task.calibrate(self.plain, self.splits.valid, outputs)
            self._keep_best()
            self.valid_report = self._evaluate(self.splits.valid)

    def _keep_best(self) -> None:
        weights = self.plain.state_dict()
        if self.run is None:
            self._best = {name: tensor.detach().clone() for name, tensor in weights.items()}
        elif self.fabric.is_global_zero:
            self.run.save_weights(weights)

    def load_best(self, *, calibrated: bool = True) -> None:
        """Load the weights of the best epoch into the model."""
        weights = {**(self._best if self.run is None else self.run.weights())}
        if not calibrated:
            state = self.plain.state_dict()
            weights.update({n: v for n, v in state.items() if n.endswith(".temperature")})
        self.plain.load_state_dict(weights)

    def _save(self) -> None:
        if self.run is not None:
            state = self.plain, self.plain_optimizer, self.progress
            save_checkpoint(self.run, self.fabric, *state)


def _fill_gradients(parameters: Sequence[nn.Parameter]) -> None:
    """Give parameters that a batch did not use a gradient of zeros.

    The optimizer then treats all parameters equally.
    """
    for parameter in parameters:
        if parameter.requires_grad and parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)


def _touch(parameters: Sequence[nn.Parameter]) -> Tensor:
    """Return a zero that depends on every parameter; data parallel training waits for all."""
    return torch.stack([p.sum() * 0 for p in parameters if p.requires_grad]).sum()


def print_epoch(line: dict[str, Any], settings: Settings, seconds: float, best: bool) -> None:
    """Print one line about an epoch on standard error; ``*`` marks the best so far."""
    epoch, epochs = line["epoch"], settings.training.epochs
    parts = [f"epoch {epoch:{len(str(epochs))}d}/{epochs}", f"train loss {line['train_loss']:.4f}"]
    report = {k.removeprefix("valid_"): v for k, v in line.items() if k.startswith("valid_")}
    parts += [f"valid {text}" for text in shown_metrics(report, settings, 1)]
    parts.append(f"{seconds:.1f} s" if seconds < 60 else duration(seconds))
    if epoch < epochs:
        parts[-1] += f", at most {duration(seconds * (epochs - epoch))} left"
    tqdm.write("  ".join(parts) + ("  *" if best else ""), file=sys.stderr)


def shown_metrics(report: dict[str, Any], settings: Settings, number: int) -> list[str]:
    """Return the first metrics of a report as strings, such as ``"accuracy 0.9412"``.

    The compared metric comes first, losses come last.
    """
    metrics = dict.fromkeys([settings.compared, *settings.task.metrics])
    texts = []
    for metric in sorted(metrics, key=lambda each: each.name.endswith("loss")):
        if metric.name in report:
            texts.append(f"{metric.title} {report[metric.name]:{metric.format}}")
            if number > 1 and metric.baseline in report:
                title, baseline = Metric(metric.baseline).title, report[metric.baseline]
                texts[-1] += f" ({title} {baseline:{metric.format}})"
    return texts[:number]


def duration(seconds: float) -> str:
    """Return a time with its unit: seconds, minutes or hours."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
