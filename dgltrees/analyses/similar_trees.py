"""Similar trees: nearest neighbours by the cosine of the model's tree vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dgltrees.analyses.require import require
from dgltrees.errors import ConfigError
from dgltrees.tasks.custom_trees.base import CustomTreesTask
from dgltrees.training.trained import Source, TrainedModel


def similar_trees(
    run: TrainedModel, source: Source, queries: Sequence[int], *, number: int = 5
) -> list[dict[str, Any]]:
    """Return the nearest neighbours of some trees, by the cosine of their vectors.

    Arguments:
        run: a model of custom trees.
        source: files, or trees, to search.
        queries: indices of query trees among them; a query is not its own neighbour.
        number: number of neighbours per query.

    Returns:
        For each query a dictionary with ``query`` and ``nearest``, a list of dictionaries with
        ``example``, the index of the neighbour, and ``cosine``.

    Raises:
        ConfigError: the model is of another task, there is no query or no such tree, or ``number``
            is not positive.
        TreeError: the trees cannot be read.

    Example:
        >>> from dgltrees import Forest, TreeRegressor
        >>> rows = [{"op": "add", "children": [{"op": "one"}, {"op": "two"}]}, {"op": "one"}]
        >>> trees = Forest.from_objects(rows * 2, "children", ["op"])
        >>> model = TreeRegressor(epochs=2, validation_fraction=0.0).fit(trees, [3.0, 1.0] * 2)
        >>> similar_trees(model.run_, trees, queries=[0], number=1)
        [{'query': 0, 'nearest': [{'example': 2, 'cosine': 1.0}]}]
    """
    from sklearn.metrics.pairwise import cosine_similarity

    require(run, run.task, CustomTreesTask, "a model of custom trees")
    if not queries or number < 1:
        raise ConfigError(
            f"expected queries and a number of at least 1, got {len(queries)} queries and {number}"
        )
    vectors = run.encode(source)
    wrong = next((query for query in queries if not 0 <= query < len(vectors)), None)
    if wrong is not None:
        raise ConfigError(f"expected queries from 0 to {len(vectors) - 1}, got {wrong}")
    cosines = cosine_similarity(vectors[np.asarray(queries)], vectors)  # (Q, T)
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
