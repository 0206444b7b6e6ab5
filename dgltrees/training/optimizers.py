"""The optimizers of torch by name, and their state without pickle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import Parameter, signature
from typing import Any, Union, get_args

import torch
from torch import Tensor, nn

from dgltrees.errors import ConfigError
from dgltrees.settings.layers import TrainingSettings
from dgltrees.settings.values import expected, from_text

# These two do not work with minibatches of dense gradients.
_UNSUITED = {"LBFGS", "SparseAdam"}

# Torch has a step of all parameters in one call for these on processors, a third of the time.
_FUSED = {"adam", "adamw"} if torch.__version__ >= (2, 4) else set()  # type: ignore[operator]
_KINDS_OF_STEP = {"fused", "foreach", "capturable", "differentiable"}


def optimizer_names() -> dict[str, type[torch.optim.Optimizer]]:
    """Return torch's optimizers by their names in lower case."""
    names = sorted(dir(torch.optim), key=str.lower)  # torch before 2.6 has no __all__ there
    kinds = ((name, getattr(torch.optim, name)) for name in names)
    return {
        name.lower(): kind
        for name, kind in kinds
        if isinstance(kind, type)
        and issubclass(kind, torch.optim.Optimizer)
        and kind is not torch.optim.Optimizer
        and name not in _UNSUITED
    }


def make_optimizer(
    settings: TrainingSettings,
    parameters: Iterable[nn.Parameter],
    *,
    on_processor: bool = False,
) -> torch.optim.Optimizer:
    """Return the optimizer of the settings."""
    kinds = optimizer_names()
    name = settings.optimizer.lower()
    if name not in kinds:
        raise ConfigError(
            f"expected training.optimizer to be one of {', '.join(sorted(kinds))}, "
            f"got {settings.optimizer!r}"
        )
    options = _typed(kinds[name], settings.optimizer_options)
    if settings.lr is not None:
        options["lr"] = settings.lr
    decays = "weight_decay" in signature(kinds[name]).parameters and "weight_decay" not in options
    if settings.weight_decay or decays:  # that of AdamW and Muon is not 0 by default
        options["weight_decay"] = settings.weight_decay
    if on_processor and name in _FUSED and not options.keys() & _KINDS_OF_STEP:
        options["fused"] = True
    try:
        return kinds[name](list(parameters), **options)
    except (LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(
            f"training.optimizer {name} does not accept the options {options}: {error}"
        ) from None


def check_optimizer(settings: TrainingSettings) -> None:
    """Raise ConfigError if the optimizer of the settings cannot be made."""
    make_optimizer(settings, [nn.Parameter(torch.zeros(1, 1))])


def _typed(optimizer: type[torch.optim.Optimizer], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of an optimizer with the types of its arguments; unknown ones unchanged.

    Torch checks few of them: ``foreach="maybe"`` would count as true.
    """
    arguments, typed = signature(optimizer).parameters, dict(options)
    for name in arguments.keys() & options.keys():
        kind, value = _option_type(arguments[name]), options[name]
        typed[name] = from_text(kind, value) if isinstance(value, str) else value
        words = expected(kind, typed[name])
        if words is not None:
            raise ConfigError(
                f"expected training.optimizer_options.{name} to be {words}, got {value!r}"
            )
    return typed


def _option_type(argument: Parameter) -> Any:
    """Return the type of an optimizer's argument, from its default if it is not annotated."""
    default, annotation = argument.default, argument.annotation
    if default is None:
        return Union[get_args(annotation) or (Any,)]  # noqa: UP007
    if isinstance(default, tuple):
        members = tuple(type(None) if member is None else float for member in default)
        return list[members]  # type: ignore[valid-type]
    if isinstance(default, (bool, str)) or annotation is int:
        return type(default)
    return float if isinstance(default, (int, float)) else Any


def optimizer_state(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the optimizer's state as tensors ``"{parameter}.{name}"`` and as plain values.

    The plain values are the options of the groups and all states that are not tensors.
    """
    state = optimizer.state_dict()
    tensors: dict[str, Tensor] = {}
    plain: dict[str, Any] = {}
    for index, values in state["state"].items():
        for name, value in values.items():
            (tensors if isinstance(value, Tensor) else plain)[f"{index}.{name}"] = value
    return tensors, {"groups": state["param_groups"], "state": plain}


def load_optimizer(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], plain: Mapping[str, Any]
) -> None:
    """Restore the state that :func:`optimizer_state` returned."""
    state: dict[int, dict[str, Any]] = {}
    for key, value in {**tensors, **plain["state"]}.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": plain["groups"]})
