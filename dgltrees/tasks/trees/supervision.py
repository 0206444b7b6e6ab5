"""The nodes of a labeled tree whose labels are learned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dgltrees.tasks.settings import DataSettings
from dgltrees.trees import Examples

__all__ = ["SupervisedSettings", "root_labels"]


@dataclass(frozen=True)
class SupervisedSettings(DataSettings):
    """The data of trees whose nodes all have labels."""

    supervise: Literal["nodes", "root"] = "nodes"
    """Learn from the labels of all nodes, or of the root alone."""


def root_labels(data: Examples) -> Examples:
    """Keep only the roots' classes (node column ``"target"``); other nodes get -1."""
    forest = data.forest
    target = np.where(forest.parent < 0, forest.columns["target"], -1)
    return replace(data, forest=forest.with_columns({**forest.columns, "target": target}))
