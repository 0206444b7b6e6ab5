"""Which nodes of a labeled tree are learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dgltrees.errors import ConfigError
from dgltrees.trees import Examples

__all__ = ["supervised"]


def supervised(data: Examples, which: str) -> Examples:
    """``data`` with the classes of all nodes, or of the roots alone and -1 elsewhere.

    Arguments:
        data: examples whose nodes have a column ``"target"``.
        which: ``"nodes"`` or ``"root"``.

    Raises:
        ConfigError: ``which`` is something else.
    """
    if which not in ("nodes", "root"):
        raise ConfigError(f"expected data.supervise to be nodes or root, got {which!r}")
    if which == "nodes":
        return data
    forest = data.forest
    target = np.where(forest.parent < 0, forest.columns["target"], -1)
    return replace(data, forest=replace(forest, columns={**forest.columns, "target": target}))
