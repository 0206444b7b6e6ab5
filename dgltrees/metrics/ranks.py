"""Ranking metrics of scores within groups: MAP, MRR, NDCG, pair accuracy and Kendall's tau.

The metrics of torchmetrics are not used: for equal scores their result depends on the sorting
algorithm, whereas trec_eval orders equal scores by document name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dgltrees.trees.sampler import higher_and_lower
from dgltrees.trees.segments import lasts, offsets_of, owner, run_offsets, starts, within


def ranking(
    scores: NDArray[np.float64],
    relevant: NDArray[np.bool_],
    group: NDArray[np.int64],
    tie: NDArray[np.int64],
) -> dict[str, Any]:
    r"""Return mean average precision and mean reciprocal rank over groups.

    .. math::

        AP = \frac{1}{|R|} \sum_{k \in R} \frac{|\{j \in R : j \le k\}|}{k}, \quad
        RR = \frac{1}{\min R}

    where R is the set of ranks of a group's correct answers. Groups without a correct answer are
    excluded from the means, and counted.

    Arguments:
        scores: ``(E,)`` scores, compared as 32-bit floats as in trec_eval; the highest score has
            rank 1.
        relevant: ``(E,)`` whether an entry is a correct answer.
        group: ``(E,)`` the group of each entry, such as its question.
        tie: ``(E,)`` order of equal scores within a group, highest first; trec_eval uses the
            alphabetical rank of the document name.

    Returns:
        ``map`` and ``mrr`` (0 if no group has a correct answer), and the number of groups with
        (``questions``) and without (``dropped``) a correct answer.
    """
    _, group = np.unique(group, return_inverse=True)
    hits = np.bincount(group, weights=relevant).astype(np.int64)
    rank = rank_within(scores, group, tie)
    right = np.flatnonzero(relevant)
    right = right[np.lexsort((rank[right], group[right]))]  # by group, then by rank
    of, at = group[right], rank[right]
    first = starts(hits)  # where the right answers of each group begin
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
    """Return the rank of each entry in its group, from 1, ``(E,)``.

    Arguments:
        scores, group, tie: see :func:`ranking`.
    """
    order = np.lexsort((-tie, -scores.astype(np.float32), group))
    rank = np.empty(len(group), np.int64)
    rank[order] = within(np.bincount(group)) + 1
    return rank


TOP = 10
"""The cutoff of ``ndcg_10``."""
_PAIRS = 4_000_000  # compared at a time, about


def order_metrics(
    targets: NDArray[np.float64], scores: NDArray[np.float64], groups: NDArray[np.int64]
) -> dict[str, Any]:
    """Return ranking metrics averaged over groups.

    ``map`` and ``mrr`` (see :func:`~dgltrees.metrics.ranks.ranking`) count the entries with the
    highest target of a group as correct. Among equal scores, the incorrect entries are ranked
    first.

    Arguments:
        targets: ``(R,)``, not all equal within a group; higher is better.
        scores: ``(R,)``; the highest score is ranked first.
        groups: ``(R,)`` the group of each entry, in any order.

    Returns:
        ``ndcg``, ``ndcg_10``, ``map``, ``mrr``, ``pair_accuracy``, ``kendall`` and the number of
        ``groups``.

    Example:
        >>> import numpy as np
        >>> targets, scores = np.array([1.0, 0, 0, 2]), np.array([0.9, 0.1, 0.6, 0.4])
        >>> metrics = order_metrics(targets, scores, np.array([0, 0, 1, 1]))
        >>> metrics["mrr"], metrics["pair_accuracy"]
        (0.75, 0.5)
    """
    _, groups = np.unique(groups, return_inverse=True)
    best = targets == _highest(targets, groups)[groups]
    ranks = ranking(scores, best, groups, (~best).astype(np.int64))
    return {
        "ndcg": float(ndcg(targets, scores, groups).mean()),
        f"ndcg_{TOP}": float(ndcg(targets, scores, groups, TOP).mean()),
        "map": ranks["map"],
        "mrr": ranks["mrr"],
        **pair_metrics(targets, scores, groups),
        "groups": int(groups.max()) + 1,
    }


def ndcg(
    targets: NDArray[np.float64],
    scores: NDArray[np.float64],
    groups: NDArray[np.int64],
    top: int = 0,
) -> NDArray[np.float64]:
    r"""Return the normalised discounted cumulative gain of each group, ``(G,)``.

    .. math:: DCG = \sum_{r=1}^{k} \frac{g_r}{\log_2(1 + r)}

    divided by the DCG of the ideal order (Järvelin and Kekäläinen, "Cumulated gain-based evaluation
    of IR techniques", TOIS 2002, section 2.2, with the discount of scikit-learn). The gain g is the
    target. If a target is negative, as for costs, the gain is the difference from the lowest target
    of the group. Entries of equal score share the mean of their discounts. The values equal those
    of scikit-learn's ``ndcg_score``, which computes one group per call.

    Arguments:
        targets, scores: ``(R,)``; at least one gain of each group is not 0.
        groups: ``(R,)``, 0 to G - 1, none of them empty.
        top: cutoff k; 0 for all ranks.

    Example:
        >>> import numpy as np
        >>> targets, scores = np.array([1.0, 0, 0, 2]), np.array([0.9, 0.1, 0.6, 0.4])
        >>> ndcg(targets, scores, np.array([0, 0, 1, 1])).round(3).tolist()
        [1.0, 0.631]
    """
    gains = targets
    if targets.min(initial=0.0) < 0:
        gains = targets + _highest(-targets, groups)[groups]
    sizes = np.bincount(groups)
    rank = within(sizes) + 1
    discount = np.where(rank <= (top or len(rank)), 1 / np.log2(1 + rank), 0.0)

    def dcg(by: NDArray[np.float64]) -> NDArray[np.float64]:
        order = np.lexsort((-by, groups))
        runs = run_offsets(groups[order], by[order])
        means = np.add.reduceat(discount, runs[:-1]) / np.diff(runs)
        terms = gains[order] * means[owner(np.diff(runs))]
        return np.asarray(np.add.reduceat(terms, starts(sizes)))

    return dcg(scores) / dcg(gains)


def pair_metrics(
    targets: NDArray[np.float64], scores: NDArray[np.float64], groups: NDArray[np.int64]
) -> dict[str, float]:
    """Return ``pair_accuracy`` and ``kendall``, averaged over groups.

    ``pair_accuracy`` is the fraction of pairs with different targets that the scores order
    correctly; pairs with equal scores count half. ``kendall`` is Kendall's tau-b, 0 if all scores
    of a group are equal.

    Arguments:
        targets, scores, groups: see :func:`ndcg`.
    """
    order = np.argsort(groups, kind="stable")
    targets, scores, groups = targets[order], scores[order], groups[order]
    sizes = np.bincount(groups)
    ends = lasts(sizes) + 1
    number = np.zeros((3, len(sizes)))  # different targets, different scores, right minus wrong
    block = offsets_of(sizes**2)[:-1] // _PAIRS  # groups that are compared at a time
    for first, last in zip(run_offsets(block)[:-1], run_offsets(block)[1:] - 1):
        rows = slice(ends[first] - sizes[first], ends[last])
        y, s, g = targets[rows], scores[rows], groups[rows]
        group = torch.from_numpy(g)
        higher, lower = (side.numpy() for side in higher_and_lower(torch.from_numpy(y), group))
        different, _ = higher_and_lower(torch.from_numpy(s), group)
        right = np.sign(s[higher] - s[lower])
        number[0] += np.bincount(g[higher], minlength=len(sizes))
        number[1] += np.bincount(g[different.numpy()], minlength=len(sizes))
        number[2] += np.bincount(g[higher], right, minlength=len(sizes))
    of_targets, of_scores, concordant = number
    return {
        "pair_accuracy": float(np.mean(0.5 + concordant / (2 * of_targets))),
        "kendall": float(np.mean(concordant / np.sqrt(of_targets * np.maximum(of_scores, 1)))),
    }


def _highest(values: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the highest value of each group, ``(G,)``."""
    highest = np.full(int(groups.max()) + 1, -np.inf)
    np.maximum.at(highest, groups, values)
    return highest
