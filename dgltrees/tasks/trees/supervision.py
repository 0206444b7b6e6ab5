"""The nodes of a labeled tree whose labels are learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dgltrees.trees import Examples

__all__ = ["root_labels"]


def root_labels(data: Examples) -> Examples:
    """Keep only the roots' classes (node column ``"target"``); other nodes get -1."""
    forest = data.forest
    target = np.where(forest.parent < 0, forest.columns["target"], -1)
    return replace(data, forest=forest.with_columns({**forest.columns, "target": target}))
