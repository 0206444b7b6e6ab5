"""All settings of a run: those of its task's data and model, and of the training loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import yaml

from dgltrees._files import PathLike, replacing
from dgltrees.errors import ConfigError
from dgltrees.settings.options import options_of
from dgltrees.settings.resolve import Options, nearest, overlay, schema
from dgltrees.settings.tasks import TASKS, get_task
from dgltrees.settings.values import Count, NonNegative, NonNegativeInt, Positive, Seed, plain

if TYPE_CHECKING:
    from dgltrees.tasks.task import Metric, Task


SECTIONS = ("data", "model", "training")
_MAPPINGS = ("optimizer_options", "features")  # settings that are mappings themselves


@dataclass(frozen=True)
class TrainingSettings:
    """The training loop."""

    hidden: ClassVar[tuple[str, ...]] = ("pretrained_lr",)

    optimizer: str = "adadelta"
    """Optimizer of torch.optim by name, such as adam or sgd, in upper or lower case."""
    lr: Positive | None = None
    """Learning rate; by default torch's, which is 1.0 for AdaDelta."""
    pretrained_lr: Positive | None = None
    """Learning rate of the pretrained encoder with ``data.fine_tune``; by default 3e-5."""
    optimizer_options: dict[str, Any] = field(default_factory=dict)
    """More arguments of the optimizer: --training.optimizer_options.momentum 0.9, for example."""
    weight_decay: NonNegative = 0.0
    """Weight of the L2 penalty on all parameters, given to torch's optimizer."""
    clip: Positive | None = None
    """Largest norm of the gradient of all parameters together; by default no bound."""
    epochs: Count = 100
    """Passes over the training examples at most."""
    patience: Count | None = 5
    """Stop after so many epochs without a better validation value; null: never."""
    monitor: str | None = None
    """Validation metric that decides which epoch is the best; by default the task's first."""
    schedule: Literal["constant", "linear", "halve"] = "constant"
    """Learning rate: constant, falling to 0 (linear), or halved when the validation loss rises."""
    batch_size: Count = 25
    """Examples in a batch, over all processes; of a running text, into how many parts it is cut
    that are read side by side."""
    max_nodes: Count | None = None
    """Nodes in a batch at most, over all processes; by default no bound."""
    pool: Count = 50
    """Batches in a pool within which similar examples are batched together; 1 for none."""
    bucket_by: Literal["depth", "size"] = "depth"
    """By what examples are similar: by depth and then by size, or by size alone."""
    seed: Seed = 0
    """Seed of the initial parameters, the order of the examples and dropout."""
    checkpoint_steps: Count | None = None
    """Steps between two writes of the resume state within an epoch; by default none."""
    accelerator: Literal["auto", "cpu", "cuda", "gpu", "mps"] = "auto"
    """Kind of device; auto takes a CUDA GPU where there is one, and never mps, which has no double
    precision."""
    precision: Literal["32-true", "64-true", "bf16-true", "16-mixed", "bf16-mixed"] = "32-true"
    """Type of the parameters and states: that of all numbers (true), or of products (mixed)."""
    compile: bool | None = None
    """Compile cells with numba, which takes some ten seconds for each the first time; by default
    if the training nodes times the epochs are 4 million or more."""
    threads: Count | None = None
    """CPU threads of each process; by default one, and two for cells of 524,288 parameters or more.
    A resumed run has as many as it began with."""
    workers: NonNegativeInt = 0
    """Processes that make batches ahead, beside each training process; 0: none."""
    deterministic: bool = True
    """Use torch's deterministic algorithms, so that a run can be repeated."""
    logger: Literal["csv", "tensorboard", "wandb", "mlflow"] | None = None
    """Where to log the metrics of each epoch besides: to files in the run directory (csv,
    tensorboard) or a service, whose library has to be installed; by default nowhere."""

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """Examples that nothing is chosen from are in no order."""
        return {"bucket_by": "with training.pool 1"} if values["pool"] == 1 else {}


@dataclass(frozen=True)
class StatefulTraining(TrainingSettings):
    """The training loop over running text, whose batches continue where the last one ended."""

    hidden: ClassVar[tuple[str, ...]] = (
        *("max_nodes", "pool", "bucket_by", "checkpoint_steps"),
        *TrainingSettings.hidden,
    )


@dataclass(frozen=True)
class PretrainedTraining(TrainingSettings):
    """The training loop of tasks that may have a pretrained encoder."""

    hidden: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True)
class GroupedTraining(PretrainedTraining):
    """The training loop over groups of examples that are learned together."""

    batch_size: Count = 25
    """Examples in a batch, over all processes, of as many whole groups as fit; a larger group is a
    batch by itself."""


class Settings:
    """All settings of a run.

    ``Settings({"task": "listops", "model": {"cell": "gru"}})`` has the same names as YAML and the
    command line; what is not named has its default.

    Arguments:
        values: ``task``, and the sections ``data``, ``model`` and ``training``, each a mapping from
            names to values; names with a dot may be mappings within mappings.
        preset: name of the preset the settings come from.

    Attributes:
        task: the task.
        data: the settings of its data.
        model: the options of its model.
        training: the settings of the training loop.
        sections: the options of each section.

    Raises:
        ConfigError: a setting is not read by this task and model, naming the nearest that is; or a
            value is not one that the setting may have.
    """

    task: Task
    data: Any
    model: Options
    training: TrainingSettings

    def __init__(self, values: Mapping[str, Any], *, preset: str = "") -> None:
        for key, section in values.items():
            if key not in ("task", "preset", *SECTIONS):
                raise ConfigError(f"unknown setting {key}; {nearest(key, ['task', *SECTIONS])}")
            if key in SECTIONS and not isinstance(section, Mapping):
                raise ConfigError(f"expected {key} to be a mapping of settings, got {section!r}")
        self.preset = preset or values.get("preset", "")
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
        if self.training.pretrained_lr is not None and not self.is_fine_tuned:
            raise ConfigError(
                "training.pretrained_lr is not read without data.fine_tune; leave it out"
            )
        if self.training.schedule == "halve" and not self.monitor.endswith("loss"):
            losses = [name for name in names if name.endswith("loss")]
            raise ConfigError(
                f"expected training.monitor to be {' or '.join(losses)} with training.schedule "
                f"halve, got {self.monitor!r}"
            )

    @property
    def is_fine_tuned(self) -> bool:
        """Whether a pretrained encoder is trained with the model."""
        return bool(self.sections["data"].get("fine_tune"))

    @property
    def monitor(self) -> str:
        """Name of the metric that decides which epoch is the best."""
        return self.training.monitor or self.task.metrics[0].name

    @property
    def monitored(self) -> Metric:
        """The metric that decides which epoch is the best."""
        return {metric.name: metric for metric in self.task.metrics}[self.monitor]

    @property
    def compared(self) -> Metric:
        """The metric by which runs are compared: the monitored one, or the task's first.

        The first where the schedule ``halve`` leaves no choice but to monitor a loss.
        """
        return self.task.metrics[0] if self.training.schedule == "halve" else self.monitored

    def replace(self, section: str, **values: Any) -> Settings:
        """The same settings with other values of a section; what is not read any more goes."""
        return Settings(layered(self.to_dict(), {section: values}), preset=self.preset)

    def to_dict(self) -> dict[str, Any]:
        """Nested plain values, as YAML holds them."""
        return {
            "preset": self.preset,
            "task": self.task.name,
            **{name: nested(self.sections[name]) for name in SECTIONS},
        }

    def to_yaml(self) -> str:
        """YAML text, from whose values :class:`Settings` makes the same."""
        text: str = yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True)
        return text

    def save(self, path: PathLike) -> None:
        """Write the settings as YAML."""
        with replacing(path) as file:
            file.write(self.to_yaml())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.to_yaml())

    def __repr__(self) -> str:
        return f"Settings({self.to_dict()})"


def section_sources(task: Task) -> dict[str, Any]:
    """The class of each section's settings in a task."""
    data: Any = task.data
    training = StatefulTraining if task.stateful else TrainingSettings
    if "fine_tune" in options_of(data):
        training = GroupedTraining if task.whole_groups else PretrainedTraining
    return {"data": data, "model": task.model, "training": training}


def nearest_setting(name: str, task: str, otherwise: str, start: str = "") -> str:
    """``"did you mean model.hidden_size?"`` for ``hidden_size``; ``otherwise`` if none is similar.

    Arguments:
        name: the name of a setting without its section.
        task: the name of the task.
        otherwise: the text where no setting of the task has a similar name.
        start: the text before each full name, such as the dashes of a flag.
    """
    names = [
        f"{start}{section}.{option}"
        for section, source in section_sources(get_task(task)).items()
        for option in schema(source)
    ]
    equal = [each for each in names if each.endswith(f".{name}")]
    return nearest(f".{name}", equal or names, otherwise)


def layered(values: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with a layer of others above them.

    What the layer says must be read by the task and model that result; what stood below and is not
    read any more (the rank of a base preset, say, with another aggregator) goes. With other
    training files, the validation and test files from below do not count.

    Arguments:
        values: settings that stand, nested or flat within their sections.
        layer: settings above them.

    Raises:
        ConfigError: a setting of the layer is not read, or has a wrong value.
    """
    merged: dict[str, Any] = {**values, **layer}
    if "task" not in merged:
        raise ConfigError(f"expected a task, one of {', '.join(TASKS)}, got none")
    task = get_task(merged["task"])
    sources = section_sources(task)
    for name in SECTIONS:
        below, above = flat(values.get(name, {})), flat(layer.get(name, {}))
        if name == "data" and "train" in above:
            below = {key: value for key, value in below.items() if key not in ("valid", "test")}
        merged[name] = overlay(sources[name], below, above, name, _reader(task))
    return merged


def _reader(task: Task) -> str:
    """What errors call the reader of the settings."""
    return f"the task {task.name}"


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Mappings within mappings as names with dots; a setting that is a mapping stays together.

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
    """Names with dots as mappings within mappings."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        *outer, last = name.split(".")
        inner = found
        for key in outer:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return found
