"""N-gram language models, the baseline KN5 of Table 1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgltrees.settings import Count
from dgltrees.trees import Forest
from dgltrees.trees.segments import Ints, owner, within

Floats = NDArray[np.float64]


class _Order(NamedTuple):
    """The k-grams of one k, by sorted keys: V times the row of a shorter context, plus a word.

    Attributes:
        contexts: ``(C,)`` the contexts of k - 1 words: their last k - 2 words, then the first one.
        grams: ``(G,)`` the k-grams: their contexts, then the word.
        share: ``(G,)`` the discounted counts, divided by the count of the context.
        rest: ``(C,)`` the sum of the discounts, divided by the count of the context.
    """

    contexts: Ints
    grams: Ints
    share: Floats
    rest: Floats


class NGram:
    r"""An n-gram model with interpolated modified Kneser-Ney smoothing.

    Chen and Goodman, "An Empirical Study of Smoothing Techniques for Language Modeling" (1998),
    section 3. With a context u of k - 1 words,

    .. math::

        p_k(w | u) = \frac{c(u w) - D(c(u w))}{c(u)} + \frac{\sum_v D(c(u v))}{c(u)} p_{k-1}(w | u')

    where u' is u without its first word; :math:`p_0` is uniform; c counts occurrences for k = n,
    and for k < n the different words before u w; D has a value for each of the counts 1, 2, and 3
    or more. ROOT precedes a sentence. Its end is not predicted.

    Arguments:
        forest: the training sentences: words in order after ROOT, with a node column ``word``.
        order: n.
    """

    def __init__(self, forest: Forest, order: Count) -> None:
        self.order, V = order, len(forest.vocabs["word"])
        self.words, self.orders = V, list[_Order]()
        words, before = self._positions(forest)
        contexts, context = np.zeros(1, np.int64), np.zeros_like(words)
        levels = []
        for k in range(order):
            if k:
                contexts, context = np.unique(context * V + before[k - 1], return_inverse=True)
            keys = context * V + words
            levels.append((contexts, *np.unique(keys, return_index=True, return_inverse=True)))
        for k, (contexts, grams, _, gram) in enumerate(levels):
            counts = np.bincount(gram if k == order - 1 else gram[levels[k + 1][2]])
            context, discount = grams // V, _discounts(counts)[np.minimum(counts, 3)]
            total, off = (np.bincount(context, each) for each in (counts, discount))
            share = (counts - discount) / total[context]
            self.orders.append(_Order(contexts, grams, share, off / total))

    def log_probs(self, forest: Forest) -> Floats:
        """Return the log-probability of each sentence, ``(T,)``, with the ids of the training."""
        words, before = self._positions(forest)
        p, context = np.full(len(words), 1 / self.words), np.zeros_like(words)
        seen = np.ones(len(words), dtype=bool)
        for k, order in enumerate(self.orders):
            if k:
                context, found = _find(order.contexts, context * self.words + before[k - 1])
                seen &= found
            gram, found = _find(order.grams, context * self.words + words)
            longer = np.where(found, order.share[gram], 0.0) + order.rest[context] * p
            p = np.where(seen, longer, p)
        scores = np.zeros(len(forest))
        np.add.at(scores, owner(forest.sizes - 1), np.log(p))
        return scores

    def _positions(self, forest: Forest) -> tuple[Ints, list[Ints]]:
        """Return the words, ``(M,)``, and the n - 1 words before each, the nearest first."""
        word, place = np.asarray(forest.columns["word"], np.int64), within(forest.sizes)
        rows = np.flatnonzero(place)
        back = (np.minimum(place[rows], k) for k in range(1, self.order))
        return word[rows], [word[rows - steps] for steps in back]


def _discounts(counts: Ints) -> Floats:
    """Return D for the counts 0, 1, 2, and 3 or more; for tiny data the fixed ones of KenLM."""
    n = np.bincount(np.minimum(counts, 5), minlength=6)
    if n[1:5].all():
        i, y = np.arange(1, 4), n[1] / (n[1] + 2 * n[2])
        discounts = i - (i + 1) * y * n[2:5] / n[1:4]
        if (discounts > 0).all():
            return np.append(0.0, discounts)
    return np.array([0.0, 0.5, 1.0, 1.5])


def _find(keys: Ints, wanted: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the rows of some keys, and whether they are there."""
    rows = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return rows, keys[rows] == wanted
