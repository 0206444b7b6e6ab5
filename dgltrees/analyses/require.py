"""What an analysis needs of a trained run, and the error where a run does not have it."""

from __future__ import annotations

from typing import TypeVar

from dgltrees.errors import ConfigError
from dgltrees.training.trained import TrainedModel

T = TypeVar("T")


def require(run: TrainedModel, part: object, kind: type[T], expected: str) -> T:
    """A part of a run, if it is of the class that an analysis works on.

    Arguments:
        run: the run.
        part: its task, its model or a part of these; None where it has no such part.
        kind: the class.
        expected: the runs that have one, for the error: ``"a parser"``.

    Returns:
        ``part``.

    Raises:
        ConfigError: ``part`` is of another class.
    """
    if not isinstance(part, kind):
        name = run.task.display_name(run.settings.model)
        raise ConfigError(
            f"expected {expected}{run.place}, got a run of the task {run.task.name} ({name})"
        )
    return part
