"""MAP and MRR of a ranking of the sentences of each question, as trec_eval computes them.

Own code, because torchmetrics' retrieval measures leave the order of equal scores to the sort,
which trec_eval decides by the documents' names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.trees.segments import starts, within

__all__ = ["rank_within", "ranking"]


def ranking(
    scores: NDArray[np.float64],
    relevant: NDArray[np.bool_],
    group: NDArray[np.int64],
    tie: NDArray[np.int64],
) -> dict[str, Any]:
    r"""Mean average precision and mean reciprocal rank over the groups that have a right answer.

    .. math::

        AP = \frac{1}{|R|} \sum_{k \in R} \frac{|\{j \in R : j \le k\}|}{k}, \quad
        RR = \frac{1}{\min R}

    where R are the ranks of a group's right answers. Groups without any are dropped before the
    mean, and counted.

    Arguments:
        scores: ``(E,)``, compared as 32-bit floats like in trec_eval; the largest ranks first.
        relevant: ``(E,)``, which entries are right answers.
        group: ``(E,)``, the group of each entry, such as its question.
        tie: ``(E,)``, breaks ties between equal scores of a group, the greatest first; in trec_eval
            it is the rank of the document's name in alphabetical order.

    Returns: ``map``, ``mrr`` (0 if no group has a right answer), ``questions``, the number of
    groups with
        a right answer, and ``dropped``, the number of groups without.
    """
    _, group = np.unique(group, return_inverse=True)
    hits = np.bincount(group, weights=relevant).astype(np.int64)
    rank = rank_within(scores, group, tie)
    right = np.flatnonzero(relevant)
    right = right[np.lexsort((rank[right], group[right]))]  # by group, then by rank
    of, at = group[right], rank[right]
    first = starts(hits)  # of each group's right answers, where they begin
    nth = np.arange(len(right)) - first[of] + 1
    has_answer = hits > 0
    precision = (
        np.bincount(of, weights=nth / at, minlength=len(hits))[has_answer] / hits[has_answer]
    )
    return {
        "map": float(precision.mean()) if has_answer.any() else 0.0,
        "mrr": float((1.0 / at[nth == 1]).mean()) if has_answer.any() else 0.0,
        "questions": int(has_answer.sum()),
        "dropped": int((~has_answer).sum()),
    }


def rank_within(
    scores: NDArray[np.float64], group: NDArray[np.int64], tie: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The rank of each entry in its group, from 1, ``(E,)``; arguments as in :func:`ranking`."""
    order = np.lexsort((-tie, -scores.astype(np.float32), group))
    rank = np.empty(len(group), np.int64)
    rank[order] = within(np.bincount(group)) + 1
    return rank
