"""The table of tasks."""

from __future__ import annotations

from dgltrees.errors import ConfigError
from dgltrees.tasks.boolsent import BOOLSENT
from dgltrees.tasks.inex import INEX
from dgltrees.tasks.labeled import CLASSIFY, LABEL
from dgltrees.tasks.listops import LISTOPS
from dgltrees.tasks.logic import LOGIC
from dgltrees.tasks.logic_sequence import LOGIC_SEQUENCE
from dgltrees.tasks.mee import MEE
from dgltrees.tasks.parser import PARSER
from dgltrees.tasks.ptb import PTB
from dgltrees.tasks.snli import SNLI
from dgltrees.tasks.sst import SST
from dgltrees.tasks.sst_phrases import SST_PHRASES
from dgltrees.tasks.task import Task
from dgltrees.tasks.tree_lm import TREE_LM
from dgltrees.tasks.wikiqa import WIKIQA

__all__ = ["TASKS", "Task", "get_task"]

_ALL: tuple[Task, ...] = (
    *(LISTOPS, LOGIC, SST, INEX, BOOLSENT, CLASSIFY, LABEL, TREE_LM, PARSER),
    *(SNLI, WIKIQA, SST_PHRASES, MEE, LOGIC_SEQUENCE, PTB),
)
TASKS = {task.name: task for task in _ALL}
"""All tasks by name."""


def get_task(name: str) -> Task:
    """The task called ``name``.

    Raises:
        ConfigError: there is none.
    """
    if name not in TASKS:
        raise ConfigError(f"expected task to be one of {', '.join(TASKS)}, got {name!r}")
    return TASKS[name]
