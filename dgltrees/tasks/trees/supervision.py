"""Which nodes of a labeled tree are learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dgltrees.trees import Examples

__all__ = ["root_labels"]


def root_labels(data: Examples) -> Examples:
    """``data`` with the classes (node column ``"target"``) of the roots alone, -1 elsewhere."""
    forest = data.forest
    target = np.where(forest.parent < 0, forest.columns["target"], -1)
    return replace(data, forest=replace(forest, columns={**forest.columns, "target": target}))
