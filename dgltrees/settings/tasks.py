"""The table of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dgltrees.errors import ConfigError
from dgltrees.registry import Registry, missing_paper
from dgltrees.settings.values import suggestion

if TYPE_CHECKING:
    from dgltrees.tasks.task import Task


TASKS: Registry[Task] = Registry(
    "tasks",
    {
        "classify": "dgltrees.tasks.custom_trees.classes:CLASSIFY",
        "classify-pairs": "dgltrees.tasks.custom_trees.classes:CLASSIFY_PAIRS",
        "classify-nodes": "dgltrees.tasks.custom_trees.classes:CLASSIFY_NODES",
        "regress": "dgltrees.tasks.custom_trees.numbers:REGRESS",
        "regress-pairs": "dgltrees.tasks.custom_trees.numbers:REGRESS_PAIRS",
        "regress-nodes": "dgltrees.tasks.custom_trees.numbers:REGRESS_NODES",
        "rank": "dgltrees.tasks.custom_trees.ranks:RANK",
    },
    "dgltrees.tasks.task:wrong_task",
)
"""All tasks by name."""


def get_task(name: str) -> Task:
    """Return the task with a name."""
    if name not in TASKS:
        missing = missing_paper(name)
        if missing:
            raise ConfigError(f"the task {name} belongs to {missing}")
        raise ConfigError(
            f"expected task to be one of {', '.join(TASKS)}, got {name!r}{suggestion(name, TASKS)}"
        )
    return TASKS[name]
