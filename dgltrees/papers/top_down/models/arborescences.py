"""The k best dependency trees, projective or not.

Y. J. Chu and T. H. Liu, "On the shortest arborescence of a directed graph", 1965; J. Edmonds,
"Optimum branchings", 1967; R. McDonald, F. Pereira, K. Ribarov and J. Hajič, "Non-projective
Dependency Parsing using Spanning Tree Algorithms", HLT 2005. E. L. Lawler, "A procedure for
computing the k best solutions", 1972.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees.errors import ConfigError
from dgltrees.trees.depth import depths

__all__ = ["kbest_arborescences", "maximum_arborescence"]

Floats = NDArray[np.float64]
Heads = NDArray[np.int64]


def kbest_arborescences(
    scores: ArrayLike, k: int = 1, *, single_root: bool = True
) -> tuple[Heads, Floats]:
    """The k trees with the highest sums of arc scores; the search is exact.

    After each tree, the other trees of its set are split by the first word that has another head
    (Lawler), and the best tree of each part is computed; that is n trees for each of the k.

    Arguments:
        scores: ``(n + 1, n + 1)``, the score of the arc to word d (row) from head h (column); word
            0 is ROOT. An arc with -inf is in no tree.
        k: the number of trees.
        single_root: whether exactly one word is below ROOT; otherwise one or more.

    Returns:
        ``(K, n + 1)`` the head of each word, best tree first, -1 at ROOT, where K <= k is the
        number of trees; and ``(K,)`` the sums.

    Raises:
        ConfigError: ``k`` is not positive.
    """
    if k < 1:
        raise ConfigError(f"expected k to be at least 1, got {k}")
    all_scores = np.array(scores, dtype=np.float64)
    n = len(all_scores)
    best: list[tuple[Heads, float]] = []
    queue: list[tuple[float, int, int, Heads, Floats]] = []
    pushed = 0

    def push(allowed: Floats, first: int) -> None:
        nonlocal pushed
        heads = maximum_arborescence(allowed, single_root=single_root)
        if heads is not None:
            total = all_scores[np.arange(1, n), heads[1:]].sum()
            heapq.heappush(queue, (-total, pushed, first, heads, allowed))
            pushed += 1

    push(all_scores, 1)
    while queue and len(best) < k:
        loss, _, first, heads, allowed = heapq.heappop(queue)
        best.append((heads, -loss))
        if len(best) == k:
            break
        for d in range(first, n):  # words before d keep their heads, d has another one
            other = allowed.copy()
            other[d, heads[d]] = -np.inf
            push(other, d)
            allowed = allowed.copy()
            allowed[d, np.arange(n) != heads[d]] = -np.inf
    trees = np.array([heads for heads, _ in best], dtype=np.int64).reshape(-1, n)
    return trees, np.array([total for _, total in best])


def maximum_arborescence(scores: Floats, *, single_root: bool = True) -> Heads | None:
    """The tree with the highest sum of arc scores, by Chu-Liu/Edmonds; None if there is none.

    Arguments:
        scores, single_root: see :func:`kbest_arborescences`.

    Returns:
        ``(n + 1,)`` the head of each word, -1 at ROOT.
    """
    weight = scores.astype(np.float64)
    np.fill_diagonal(weight, -np.inf)
    weight[0] = -np.inf
    if single_root:  # any tree with one word below ROOT is better now than any with two
        finite = weight[np.isfinite(weight)]
        spread = np.ptp(finite) if len(finite) else 0.0
        weight[:, 0] -= 1.0 + 2.0 * spread * len(weight)
    heads = _edmonds(weight)
    if heads is None or (single_root and (heads == 0).sum() > 1):
        return None
    return heads


def _edmonds(weight: Floats) -> Heads | None:
    """Contract cycles of best heads until there are none, then expand them again."""
    weight = weight.copy()
    alive = np.ones(len(weight), dtype=bool)
    contracted: list[tuple[int, NDArray[np.int64], Heads, Heads, Heads]] = []
    while True:
        heads: Heads = weight.argmax(1)
        heads[0] = -1
        heads[~alive] = 0  # a word within a cycle hangs anywhere meanwhile
        words = np.flatnonzero(alive)[1:]
        if np.isinf(weight[words, heads[words]]).any():
            return None
        cycle = _cycle(heads)
        if cycle is None:
            break
        into = weight[cycle] - weight[cycle, heads[cycle]][:, None]  # what another head costs
        entered = cycle[into.argmax(0)]  # by head: the word of the cycle that it takes over
        left = cycle[weight[:, cycle].argmax(1)]  # by word: its best head within the cycle
        one = int(cycle[0])  # stands for all
        contracted.append((one, cycle, heads[cycle], entered, left))
        weight[one], weight[:, one] = into.max(0), weight[:, cycle].max(1)
        weight[one, cycle] = -np.inf
        weight[cycle[1:]] = weight[:, cycle[1:]] = -np.inf
        alive[cycle[1:]] = False
    for one, cycle, inner, entered, left in reversed(contracted):
        outer = heads[one]
        below = np.flatnonzero(heads == one)
        heads[below] = left[below]
        heads[cycle] = inner
        heads[entered[outer]] = outer
    return heads


def _cycle(heads: Heads) -> NDArray[np.int64] | None:
    """The words of one cycle, if there is one."""
    lost = depths(heads) < 0  # on a cycle or below one
    if not lost.any():
        return None
    at = int(lost.argmax())
    for _ in range(len(heads)):
        at = int(heads[at])
    cycle = [at]
    while heads[cycle[-1]] != at:
        cycle.append(int(heads[cycle[-1]]))
    return np.array(cycle)
