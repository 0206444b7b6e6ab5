"""Tasks: each defines the data, the model, the loss and the metrics of one experiment."""

from dgltrees.tasks.custom_trees.base import CustomTreesTask
from dgltrees.tasks.custom_trees.classes import CLASSIFY, ClassesTask
from dgltrees.tasks.custom_trees.inspect import Inspection, inspect_trees
from dgltrees.tasks.custom_trees.numbers import REGRESS, NumbersTask
from dgltrees.tasks.custom_trees.ranks import RANK, RankTask
from dgltrees.tasks.custom_trees.settings import (
    ClassesData,
    ClassesModel,
    CustomTreesData,
    NumbersModel,
    RankData,
    RankModel,
)
from dgltrees.tasks.task import Batches, Columns, Metric, Reader, Task

__all__ = [
    "CLASSIFY",
    "RANK",
    "REGRESS",
    "Batches",
    "ClassesData",
    "ClassesModel",
    "ClassesTask",
    "Columns",
    "CustomTreesData",
    "CustomTreesTask",
    "Inspection",
    "Metric",
    "NumbersModel",
    "NumbersTask",
    "RankData",
    "RankModel",
    "RankTask",
    "Reader",
    "Task",
    "inspect_trees",
]
