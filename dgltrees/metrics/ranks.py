"""How well scores order the entries of groups: MAP, MRR, NDCG, pairs, and Kendall's tau.

Own code, because torchmetrics' retrieval measures leave the order of equal scores to the sort,
which trec_eval decides by the documents' names.
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


TOP = 10
"""The ranks that ``ndcg_10`` counts."""
_PAIRS = 4_000_000  # about so many at a time


def order_metrics(
    targets: NDArray[np.float64], scores: NDArray[np.float64], groups: NDArray[np.int64]
) -> dict[str, Any]:
    """The means over groups of :func:`ndcg`, average precision, reciprocal rank and pairs.

    ``map`` and ``mrr`` (see :func:`~dgltrees.metrics.ranks.ranking`) take the entries with the
    highest target of a group for its right answers; of equal scores the wrong ones come first.

    Arguments:
        targets: ``(R,)``; in no group are all equal. The higher the better.
        scores: ``(R,)``, by which the groups are ordered, the highest first.
        groups: ``(R,)`` the number of each entry's group, in any order.
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
    r"""``(G,)`` the normalised discounted cumulative gain of each group.

    .. math:: DCG = \sum_{r=1}^{k} \frac{g_r}{\log_2(1 + r)}

    by the DCG of the best order (Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR
    techniques", TOIS 2002, section 2.2, with the discount of scikit-learn). The gain g is the
    target; where targets are negative, as of costs, it is what a target is above the lowest of its
    group. Entries of equal score have the mean of their discounts. Own code, as scikit-learn's
    ``ndcg_score``, which it agrees with, takes one group a call.

    Arguments:
        targets, scores: ``(R,)``; no group has the gain 0 alone.
        groups: ``(R,)``, from 0 to G - 1, each with an entry.
        top: k, the ranks that count; 0 for all.
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
    """``pair_accuracy`` and ``kendall``, means over groups.

    The first is the share of the pairs with unlike targets that the scores order rightly, those
    with equal scores counted half; the second Kendall's tau-b, 0 where all scores are equal.

    Arguments:
        targets, scores, groups: see :func:`ndcg`.
    """
    order = np.argsort(groups, kind="stable")
    targets, scores, groups = targets[order], scores[order], groups[order]
    sizes = np.bincount(groups)
    ends = lasts(sizes) + 1
    number = np.zeros((3, len(sizes)))  # of unlike targets, unlike scores, right less wrong ones
    block = offsets_of(sizes**2)[:-1] // _PAIRS  # groups that are compared at a time
    for first, last in zip(run_offsets(block)[:-1], run_offsets(block)[1:] - 1):
        rows = slice(ends[first] - sizes[first], ends[last])
        y, s, g = targets[rows], scores[rows], groups[rows]
        group = torch.from_numpy(g)
        higher, lower = (side.numpy() for side in higher_and_lower(torch.from_numpy(y), group))
        unlike, _ = higher_and_lower(torch.from_numpy(s), group)
        right = np.sign(s[higher] - s[lower])
        number[0] += np.bincount(g[higher], minlength=len(sizes))
        number[1] += np.bincount(g[unlike.numpy()], minlength=len(sizes))
        number[2] += np.bincount(g[higher], right, minlength=len(sizes))
    of_targets, of_scores, concordant = number
    return {
        "pair_accuracy": float(np.mean(0.5 + concordant / (2 * of_targets))),
        "kendall": float(np.mean(concordant / np.sqrt(of_targets * np.maximum(of_scores, 1)))),
    }


def _highest(values: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """``(G,)`` the highest value of each group."""
    highest = np.full(int(groups.max()) + 1, -np.inf)
    np.maximum.at(highest, groups, values)
    return highest
