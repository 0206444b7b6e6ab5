"""All settings of a run: data, model and training loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import yaml

from dgltrees.errors import ConfigError
from dgltrees.settings.resolve import Options, nearest, overlay, schema
from dgltrees.settings.tasks import TASKS, get_task
from dgltrees.settings.values import Count, NonNegative, NonNegativeInt, Positive, Seed, plain

if TYPE_CHECKING:
    from dgltrees.tasks.task import Metric, Task


SECTIONS = ("data", "model", "training")
_MAPPINGS = ("optimizer_options", "features")  # settings that are mappings themselves


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of the training loop."""

    optimizer: str = "adadelta"
    """Name of an optimizer of torch.optim, such as adam or sgd, in upper or lower case."""
    lr: Positive | None = None
    """Learning rate; default: torch's, which is 1.0 for AdaDelta."""
    optimizer_options: dict[str, Any] = field(default_factory=dict)
    """More arguments of the optimizer: --training.optimizer_options.momentum 0.9, for example."""
    loss_reduction: Literal["mean", "sum"] = "mean"
    """Loss of a batch: the mean or the sum of the losses of its rows. With the sum, weight_decay
    and the optimizer's eps are smaller relative to the gradient."""
    weight_decay: NonNegative = 0.0
    """Weight of the L2 penalty on all parameters, an argument of torch's optimizer."""
    max_grad_norm: Positive | None = None
    """Largest norm of the gradient of all parameters; larger gradients are scaled down to it;
    default: no limit."""
    epochs: Count = 100
    """Largest number of passes over the training examples. A resumed run may have another number,
    unless the schedule is linear."""
    patience: Count | None = 5
    """Stop after this many epochs without a better validation value; null: never."""
    monitor: str | None = None
    """Validation metric that determines the best epoch; default: the task's first metric."""
    keep: Literal["best", "last"] = "best"
    """Epoch whose weights are kept: that with the best value of ``monitor``, or the last one, which
    is better if the learning rate falls and the validation examples are few."""
    schedule: Literal["constant", "linear", "halve"] = "constant"
    """Learning rate: constant, falling to 0 (linear), or halved when the validation loss rises."""
    batch_size: Count | None = 25
    """Number of examples per batch, over all processes; null: 32, or fewer (at least 4) for 30
    steps an epoch."""
    max_nodes: Count | None = None
    """Largest number of nodes per batch, over all processes; default: no limit."""
    bucket_batches: Count = 50
    """Number of random batches whose examples are sorted by ``bucket_by`` and divided into batches
    of similar examples; 1: every batch is a random sample."""
    bucket_by: Literal["depth", "size"] = "depth"
    """Order of the examples in a bucket: by depth and then by size, or only by size."""
    seed: Seed = 0
    """Seed of the initial parameters, the order of the examples and dropout."""
    save_every_n_steps: Count | None = None
    """Save the state for resuming after every N steps of an epoch; default: only after an epoch."""
    accelerator: Literal["auto", "cpu", "cuda", "gpu", "mps"] = "auto"
    """Kind of device; auto: a CUDA GPU if there is one, never mps, which has no double
    precision. A trained model predicts on the CPU where there is no such device."""
    precision: Literal["32-true", "64-true", "bf16-true", "16-mixed", "bf16-mixed"] = "32-true"
    """Precision of all numbers (true), or only of matrix products (mixed)."""
    compile: bool | None = None
    """Compile cells with numba, which takes about ten seconds per cell the first time; default: if
    training nodes times epochs are 4 million or more."""
    threads: Count | None = None
    """CPU threads of each process; default: one, and two for cells of 524,288 parameters or more. A
    resumed run has the number that it began with. Other torch code of the process has this number
    after a training or ``load``, too; ``torch.set_num_threads`` changes it."""
    num_workers: NonNegativeInt = 0
    """Processes that prepare batches in advance, for each training process; 0: the training process
    prepares them."""
    deterministic: bool = True
    """Use torch's deterministic algorithms, so that runs are reproducible."""
    logger: Literal["csv", "tensorboard", "wandb", "mlflow"] | None = None
    """Another log of the metrics of each epoch: files in the run directory (csv, tensorboard) or a
    service whose library is installed (wandb, mlflow); default: none."""

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """Return the settings without effect: of buckets of one batch, or if no epoch is chosen."""
        unread = {}
        if values["bucket_batches"] == 1:
            unread["bucket_by"] = "with training.bucket_batches 1"
        if values["keep"] == "last":
            unread["patience"] = "with training.keep last"
        return unread


@dataclass(frozen=True)
class StatefulTraining(TrainingSettings):
    """Settings of the training loop over running text, where a batch continues the previous one."""

    hidden: ClassVar[tuple[str, ...]] = (
        *("max_nodes", "bucket_batches", "bucket_by", "save_every_n_steps"),
    )

    batch_size: Count = 25
    """Number of parts of the text that are read in parallel, over all processes."""


@dataclass(frozen=True)
class GroupedTraining(TrainingSettings):
    """Settings of the training loop over groups of examples."""

    batch_size: Count | None = 25
    """Number of examples in a batch, over all processes, in whole groups; a larger group is a batch
    by itself. null: 32, or fewer (at least 4) for 30 steps an epoch."""


class Settings:
    """All settings of a run.

    ``Settings({"task": "listops", "model": {"cell": "gru"}})`` has the same names as YAML and the
    command line. Settings that are not given have their defaults.

    Arguments:
        values: ``task``, the name of the ``preset`` if there is one, and the sections ``data``,
            ``model`` and ``training``, each a mapping from names to values. Names with a dot may be
            nested mappings.

    Attributes:
        task: the task.
        data: the settings of its data.
        model: the options of its model.
        training: the settings of the training loop.
        sections: the options of each section.

    Raises:
        ConfigError: a setting has no effect with this task and model (the error names the nearest
            one that has), or a value is not allowed.

    Example:
        >>> settings = Settings({"task": "regress", "model": {"cell": "gru"}})
        >>> settings.model["cell"], settings.training.epochs
        ('gru', 100)
    """

    task: Task
    data: Any
    model: Options
    training: TrainingSettings

    def __init__(self, values: Mapping[str, Any]) -> None:
        for key, section in values.items():
            if key not in ("task", "preset", *SECTIONS):
                raise ConfigError(f"unknown setting {key}; {nearest(key, ['task', *SECTIONS])}")
            if key in SECTIONS and not isinstance(section, Mapping):
                raise ConfigError(f"expected {key} to be a mapping of settings, got {section!r}")
        self.preset = values.get("preset", "")
        self.task = get_task(values.get("task", ""))
        sources = section_sources(self.task)
        self.sections = {
            name: Options(sources[name], flat(values.get(name, {})), name, _reader(self.task))
            for name in SECTIONS
        }
        self.data = self.sections["data"].of(self.task.data)
        self.model = self.sections["model"]
        self.training = self.sections["training"].of(sources["training"])
        self._check()

    def _check(self) -> None:
        names = [metric.name for metric in self.task.metrics]
        if self.monitor not in names:
            raise ConfigError(
                f"expected training.monitor to be one of {', '.join(names)}, which the task "
                f"{self.task.name} reports, got {self.monitor!r}"
            )
        if self.training.schedule == "halve" and not self.monitor.endswith("loss"):
            losses = [name for name in names if name.endswith("loss")]
            raise ConfigError(
                f"expected training.monitor to be {' or '.join(losses)} with training.schedule "
                f"halve, got {self.monitor!r}"
            )
        if self.training.schedule == "halve" and self.training.keep == "last":
            raise ConfigError(
                "expected training.keep to be best with training.schedule halve, which undoes an "
                "epoch that is worse than the best, got 'last'"
            )

    @property
    def monitor(self) -> str:
        """Name of the metric that determines the best epoch."""
        return self.training.monitor or self.task.metrics[0].name

    @property
    def monitored(self) -> Metric:
        """The metric that determines the best epoch."""
        return {metric.name: metric for metric in self.task.metrics}[self.monitor]

    @property
    def compared(self) -> Metric:
        """The metric that compares runs: the monitored one, or the task's first metric.

        It is the first one if a loss is monitored that does not select an epoch.
        """
        selects = self.training.keep == "best" and self.training.schedule != "halve"
        is_loss = self.monitor.endswith("loss")
        return self.task.metrics[0] if is_loss and not selects else self.monitored

    def replace(self, section: str, **values: Any) -> Settings:
        """Return the settings with other values of a section; drop those without effect."""
        return Settings(layered(self.to_dict(), {section: values}))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as nested plain values, as in YAML."""
        return {
            "preset": self.preset,
            "task": self.task.name,
            **{name: nested(self.sections[name]) for name in SECTIONS},
        }

    def to_yaml(self) -> str:
        """Return the settings as YAML text."""
        text: str = yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True)
        return text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        return f"Settings({self.to_dict()})"


def section_sources(task: Task) -> dict[str, Any]:
    """Return the class of each section's settings in a task."""
    training = StatefulTraining if task.stateful else TrainingSettings
    if task.whole_groups:
        training = GroupedTraining
    return {"data": task.data, "model": task.model, "training": training}


def nearest_setting(name: str, task: str, otherwise: str, start: str = "") -> str:
    """Return ``"did you mean model.hidden_size?"`` for a similar name, else ``otherwise``."""
    names = [
        f"{start}{section}.{option}"
        for section, source in section_sources(get_task(task)).items()
        for option in schema(source)
    ]
    equal = [each for each in names if each.endswith(f".{name}")]
    return nearest(f".{name}", equal or names, otherwise)


def layered(values: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
    """Merge settings with a layer that overrides them.

    Settings of the layer must have an effect with the resulting task and model. Other settings that
    no longer have an effect are dropped, such as the rank of a base preset with another aggregator.
    A layer with other training files also drops the validation and test files.
    """
    merged: dict[str, Any] = {**values, **layer}
    if "task" not in merged:
        raise ConfigError(f"missing task; give one of {', '.join(TASKS)}")
    task = get_task(merged["task"])
    sources = section_sources(task)
    for name in SECTIONS:
        below, above = flat(values.get(name, {})), flat(layer.get(name, {}))
        if name == "data" and "train" in above:
            below = {key: value for key, value in below.items() if key not in ("valid", "test")}
        merged[name] = overlay(sources[name], below, above, name, _reader(task))
    return merged


def _reader(task: Task) -> str:
    """Return the name of the user of the settings in errors."""
    return f"the task {task.name}"


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested mappings as names with dots; a setting that is a mapping is not split.

    Scalars and arrays of NumPy become Python's; see :func:`~dgltrees.settings.values.plain`.
    """
    names: dict[str, Any] = {}
    for key, value in plain(values).items():
        first, _, rest = key.partition(".")
        if first in _MAPPINGS and rest:
            names.setdefault(first, {})[rest] = value
        elif isinstance(value, Mapping) and key not in _MAPPINGS:
            names.update(flat(value, f"{prefix}{key}."))
        else:
            names[prefix + key] = value
    return names


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return names with dots as nested mappings."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        *outer, last = name.split(".")
        inner = found
        for key in outer:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return found
