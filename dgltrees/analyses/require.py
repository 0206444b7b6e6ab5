"""The check that a trained model is of the kind that an analysis needs."""

from __future__ import annotations

from typing import TypeVar

from dgltrees.errors import ConfigError
from dgltrees.training.trained import TrainedModel

T = TypeVar("T")


def require(run: TrainedModel, part: object, kind: type[T], expected: str) -> T:
    """Return a part of a trained model if it is of the class that an analysis needs."""
    if not isinstance(part, kind):
        name = run.task.display_name(run.settings.model)
        raise ConfigError(
            f"expected {expected}{run.place}, got a run of the task {run.task.name} ({name})"
        )
    return part
