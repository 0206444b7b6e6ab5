"""Trees that a model finds similar: the nearest ones by the cosine of their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.analyses.require import require
from dgltrees.errors import ConfigError
from dgltrees.tasks.custom_trees.base import CustomTreesTask
from dgltrees.training.trained import Source, TrainedModel


def similar_trees(
    run: TrainedModel,
    source: Source,
    queries: Sequence[int],
    *,
    number: int = 5,
) -> list[dict[str, Any]]:
    """The nearest trees to each query, by the cosine of their vectors.

    Arguments:
        run: a run of custom trees.
        source: files, or trees, in which is searched.
        queries: numbers of these trees, from 0; a query is not its own neighbour.
        number: the number of neighbours per query.

    Returns: for each query a dictionary with ``query`` and ``nearest``, a list of ``example``, the
    number of the tree, and ``cosine``.

    Raises:
        ConfigError: the run is of another task, there is no query or no such tree, or ``number`` is
            not positive.
        TreeError: the trees cannot be read.
    """
    require(run, run.task, CustomTreesTask, "a model of custom trees")
    if not queries or number < 1:
        raise ConfigError(
            f"expected queries and a number of at least 1, got {len(queries)} queries and {number}"
        )
    vectors = _unit(run.encode(source))
    wrong = next((query for query in queries if not 0 <= query < len(vectors)), None)
    if wrong is not None:
        raise ConfigError(f"expected queries from 0 to {len(vectors) - 1}, got {wrong}")
    cosines = vectors[np.asarray(queries)] @ vectors.T  # (Q, T)
    cosines[np.arange(len(queries)), queries] = -np.inf  # the query comes last
    order = np.argsort(-cosines, axis=1, kind="stable")[:, : min(number, len(vectors) - 1)]
    return [
        {
            "query": query,
            "nearest": [
                {"example": i, "cosine": round(float(row[i]), 6)} for i in nearest.tolist()
            ],
        }
        for query, row, nearest in zip(queries, cosines, order)
    ]


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny))
