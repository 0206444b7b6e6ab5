"""All settings of a run, from Python, YAML or flags, and back to YAML."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import jsonargparse
import yaml

from dgltrees._files import PathLike, replacing
from dgltrees.commands.flags import file_flags, parse_flags
from dgltrees.errors import ConfigError
from dgltrees.tasks.ranges import COUNT, NONNEGATIVE, POSITIVE, SEED, check, one_of
from dgltrees.tasks.rrnet.policy_settings import PolicySettings
from dgltrees.tasks.settings import DataSettings, ModelSettings

__all__ = [
    "Settings",
    "TrainingSettings",
    "check_keys",
    "model_settings",
    "parse",
    "parser",
    "settings_from",
]

_COUNTS = "epochs patience batch_size max_nodes pool window checkpoint_steps devices nodes threads"
_TRAINING = {
    "lr": POSITIVE,
    "l2": NONNEGATIVE,
    "clip": POSITIVE,
    "monitor": one_of(["accuracy", "loss", "joint_loss", "uas", "las", "map", "mrr"]),
    "schedule": one_of(["constant", "linear", "halve"]),
    "alike": one_of(["depth", "size"]),
    "seed": SEED,
    "workers": NONNEGATIVE,
    **dict.fromkeys(_COUNTS.split(), COUNT),
}


@dataclass
class TrainingSettings:
    """The settings of the training loop.

    Attributes:
        optimizer: an optimizer of torch by name, in any case.
        lr: learning rate; without it torch's default, which is 1.0 for AdaDelta.
        optimizer_options: more arguments of the optimizer, such as momentum.
        l2: weight of the penalty l2/2 * |p|^2 on all parameters, given to torch as weight_decay:
            its gradient joins the loss's before the optimizer's step (AdamW decouples it).
        clip: largest norm of the gradient of all parameters together, the penalty aside.
        epochs: passes over the training examples at most.
        patience: stop after so many epochs without a better validation value.
        monitor: the validation value that decides: "accuracy", "loss", "joint_loss" (tree-lm with
            ends or stops), a parser's "uas", "las", or "map", "mrr" (wikiqa).
        schedule: "constant"; "linear": the learning rate falls step by step, to 0 at the end of
            ``epochs``; or "halve": it is halved at every epoch from the first on whose validation
            loss does not improve; the next such epoch ends the training, and a worse one is
            undone. That wants ``monitor: loss`` or joint_loss.
        batch_size: examples in a batch, over all processes; streams of the text (ptb).
        max_nodes: nodes in a batch at most, over all processes.
        pool: batches in a pool within which examples that are alike meet; 1 for none.
        alike: what that means: like "depth" first, then size; or "size" alone.
        window: words of each stream in a batch, as far as gradients go back (ptb).
        seed: decides the initial parameters, the order of the examples and dropout.
        checkpoint_steps: write the resume state after so many steps, besides at every epoch.
        accelerator: "cpu", "cuda", "auto" and what else lightning-fabric knows.
        devices: processes on each machine, each with a device of its own.
        nodes: machines.
        strategy: how they work together: "auto" or "ddp".
        precision: "32-true", "bf16-mixed", "64-true" and what else lightning-fabric knows.
        threads: CPU threads of each process, which small trees keep busy with 1 best; null for
            torch's default.
        workers: processes beside each that make its batches ahead, which pays where a batch takes
            them long; 0 makes each before its step.
        deterministic: use torch's deterministic algorithms, so that a run can be repeated.
    """

    optimizer: str = "adadelta"
    lr: Optional[float] = None
    optimizer_options: dict[str, Any] = field(default_factory=dict)
    l2: float = 0.0
    clip: Optional[float] = None
    epochs: int = 100
    patience: Optional[int] = 5
    monitor: str = "accuracy"
    batch_size: int = 25
    max_nodes: Optional[int] = None
    schedule: str = "constant"
    pool: int = 50
    alike: str = "depth"
    window: int = 35
    seed: int = 0
    checkpoint_steps: Optional[int] = None
    accelerator: str = "auto"
    devices: int = 1
    nodes: int = 1
    strategy: str = "auto"
    precision: str = "32-true"
    threads: Optional[int] = 1
    workers: int = 0
    deterministic: bool = True

    def __post_init__(self) -> None:
        check("training", self, _TRAINING)
        if self.schedule == "halve" and self.monitor not in ("loss", "joint_loss"):
            raise ConfigError(
                "expected training.monitor to be loss or joint_loss with training.schedule halve, "
                f"got {self.monitor!r}"
            )


@dataclass
class Settings:
    """All settings of a run.

    Attributes:
        preset: the preset the settings come from.
        task: what is learned.
        data: the data.
        model: the model.
        training: the training loop.
    """

    preset: str = ""
    task: str = "listops"
    data: DataSettings = field(default_factory=DataSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)

    def to_dict(self) -> dict[str, Any]:
        """Nested plain values, as YAML holds them."""
        return dataclasses.asdict(self)

    def to_yaml(self) -> str:
        """YAML text that :func:`settings_from` takes when loaded."""
        text: str = yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True)
        return text

    def save(self, path: PathLike) -> None:
        """Write the settings as YAML."""
        with replacing(path) as file:
            file.write(self.to_yaml())


_SECTIONS = {"data": DataSettings, "model": ModelSettings, "training": TrainingSettings}
_POLICY = "model.policy"


def parser(prog: str, defaults: Optional[Mapping[str, Any]] = None) -> jsonargparse.ArgumentParser:
    """A parser of the flags ``--data.…``, ``--model.…`` and ``--training.…``.

    Arguments:
        prog: the command, for its help.
        defaults: nested values that stand where no flag is given.

    Raises:
        ConfigError: ``defaults`` holds an unknown key or a value of a wrong type.
    """
    made = jsonargparse.ArgumentParser(prog=prog, exit_on_error=False)
    made.add_class_arguments(Settings, skip={"preset"})
    made.add_argument("--preset", type=str, default="", help=jsonargparse.SUPPRESS)
    if defaults:
        check_keys(defaults)
        try:
            values = made.parse_object(dict(defaults), env=False).as_dict()
        except (jsonargparse.ArgumentError, TypeError, ValueError) as error:
            raise ConfigError(" ".join(str(error).split())) from None
        made.set_defaults(_flat(values))
    return made


def settings_from(values: Mapping[str, Any]) -> Settings:
    """Settings from nested plain values; what is not given has its default.

    Raises:
        ConfigError: an unknown key or a value of a wrong type, naming it.
    """
    made = parser("dgltrees", values)
    return _build(made.get_defaults().as_dict())


def parse(
    made: jsonargparse.ArgumentParser, argv: Sequence[str]
) -> tuple[Settings, dict[str, Any]]:
    """Settings from flags, and the values of the flags that are no settings.

    Raises:
        ConfigError: an unknown flag or a value of a wrong type, naming it.
    """
    values = parse_flags(made, file_flags(argv)).as_dict()
    fields = {f.name for f in dataclasses.fields(Settings)}
    return _build(values), {k: v for k, v in values.items() if k not in fields}


def check_keys(values: Mapping[str, Any]) -> None:
    """Raise ConfigError for a key that is no setting, with the nearest one that is."""
    known = {f.name for f in dataclasses.fields(Settings)} - set(_SECTIONS)
    for section, kind in _SECTIONS.items():
        known |= {f"{section}.{f.name}" for f in dataclasses.fields(kind)}
    known |= {f"{_POLICY}.{f.name}" for f in dataclasses.fields(PolicySettings)}
    for key in _flat(values):
        if key.startswith("training.optimizer_options."):
            continue
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.7)
            section = key.partition(".")[0]
            alike = near or sorted(k for k in known if k.startswith(f"{section}.")) or _SECTIONS
            raise ConfigError(f"unknown setting {key}; did you mean {', '.join(alike)}?")


def _build(values: Mapping[str, Any]) -> Settings:
    return Settings(
        preset=values["preset"],
        task=values["task"],
        data=DataSettings(**values["data"]),
        model=model_settings(values["model"]),
        training=TrainingSettings(**values["training"]),
    )


def model_settings(values: Mapping[str, Any]) -> ModelSettings:
    """The settings of a model from nested plain values."""
    policy = PolicySettings(**values.get("policy", {}))
    return ModelSettings(**{**values, "policy": policy})


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested keys joined by dots, the sections and the policy alone taken apart."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and prefix + key in (*_SECTIONS, _POLICY):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat
