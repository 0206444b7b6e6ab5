"""N-gram models against Kneser-Ney smoothing with dictionaries."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from dgltrees.formats.sentences import Sentence
from dgltrees.papers.top_down.graphs import sentence_forest
from dgltrees.papers.top_down.models.ngram import NGram

Gram = tuple[int, ...]


def _counts(sentences: list[list[int]], root: int, order: int) -> list[Counter[Gram]]:
    """Occurrences of the longest n-grams, and the different words before the shorter ones."""
    padded = [[root] * (order - 1) + words for words in sentences]
    grams = (words[i : i + order] for words in padded for i in range(len(words) - order + 1))
    counts = [Counter(map(tuple, grams))]
    while len(counts) < order:
        counts.insert(0, Counter(gram[1:] for gram in counts[0]))
    return counts


def _p(word: int, context: Gram, counts: list[Counter[Gram]], words: int) -> float:
    """Modified Kneser-Ney, as Chen and Goodman write it."""
    k = len(context)
    shorter = _p(word, context[1:], counts, words) if k else 1 / words
    of_context = {gram[-1]: c for gram, c in counts[k].items() if gram[:-1] == context}
    if not of_context:
        return shorter
    n = Counter(counts[k].values())
    d = [0.0, 0.5, 1.0, 1.5]
    if all(n[i] for i in (1, 2, 3, 4)):
        y = n[1] / (n[1] + 2 * n[2])
        good = [0.0, *(i - (i + 1) * y * n[i + 1] / n[i] for i in (1, 2, 3))]
        d = good if min(good[1:]) > 0 else d
    total, c = sum(of_context.values()), of_context.get(word, 0)
    left = sum(d[min(each, 3)] for each in of_context.values())
    return (c - d[min(c, 3)] + left * shorter) / total


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("number", [2, 200])
def test_probabilities_are_those_of_kneser_ney(order: int, number: int) -> None:
    rng = np.random.default_rng(number)
    names = list("abcdefghijklmnopqrstuvwxyz")
    weight = np.arange(1.0, 27.0) ** -2
    letters = rng.choice(names, (number, 9), p=weight / weight.sum())
    texts = [row[: rng.integers(1, 9)].tolist() for row in letters]
    others = [list("abaz?"), ["?"], ["a"], list("ffabcab")]
    trees = sentence_forest([Sentence(words, [], {}, [], 0, {}) for words in texts + others])
    size, root = len(trees.vocabs["word"]), int(trees.columns["word"][0])
    ids = [trees.columns["word"][a + 1 : b].tolist() for a, b in pairwise(trees.offsets.tolist())]
    counts = _counts(ids[:number], root, order)
    grams = [(*[root] * (order - 1), *words) for words in ids[number:]]
    expected = [
        sum(math.log(_p(gram[i], gram[i - order + 1 : i], counts, size)) for i in places)
        for gram in grams
        for places in [range(order - 1, len(gram))]
    ]
    model = NGram(trees.select(np.arange(number)), order)
    result = model.log_probs(trees.select(np.arange(number, len(trees))))
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    context = grams[0][: order - 1]
    assert math.isclose(sum(_p(word, context, counts, size) for word in range(size)), 1.0)
