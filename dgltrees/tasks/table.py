"""The table of tasks."""

from __future__ import annotations

from dgltrees.errors import ConfigError
from dgltrees.tasks.language_models.ptb import PTB
from dgltrees.tasks.language_models.tree_lm import TREE_LM
from dgltrees.tasks.language_models.tree_shape import TREE_SHAPE
from dgltrees.tasks.own_trees.classes import CLASSIFY, CLASSIFY_PAIRS, LABEL
from dgltrees.tasks.own_trees.numbers import REGRESS, REGRESS_NODES, REGRESS_PAIRS
from dgltrees.tasks.own_trees.ranks import RANK
from dgltrees.tasks.parser import PARSER
from dgltrees.tasks.rrnet.logic_sequence import LOGIC_SEQUENCE
from dgltrees.tasks.rrnet.mee import MEE
from dgltrees.tasks.sentences.snli import SNLI
from dgltrees.tasks.sentences.sst_phrases import SST_PHRASES
from dgltrees.tasks.sentences.wikiqa import WIKIQA
from dgltrees.tasks.task import Task
from dgltrees.tasks.trees.boolsent import BOOLSENT
from dgltrees.tasks.trees.inex import INEX
from dgltrees.tasks.trees.listops import LISTOPS
from dgltrees.tasks.trees.logic import LOGIC
from dgltrees.tasks.trees.sst import SST

__all__ = ["TASKS", "Task", "get_task"]

_ALL: tuple[Task, ...] = (
    *(LISTOPS, LOGIC, SST, INEX, BOOLSENT, TREE_LM, TREE_SHAPE, PARSER),
    *(SNLI, WIKIQA, SST_PHRASES, MEE, LOGIC_SEQUENCE, PTB),
    *(CLASSIFY, CLASSIFY_PAIRS, LABEL, REGRESS, REGRESS_PAIRS, REGRESS_NODES, RANK),
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
