"""The k best trees against all trees."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import ConfigError
from dgltrees.papers.top_down.models.kbest_trees import kbest_projective
from tests.papers.top_down.samples import is_projective, total, trees
from tests.trees.dependencies import random_heads

WORDS = 6
ALL = {words: list(trees(words)) for words in range(1, WORDS)}


def kbest(scores: np.ndarray, k: int) -> tuple[list[tuple[int, ...]], list[float]]:
    """The trees that there are, and their sums."""
    sizes = torch.tensor([len(scores) - 1])
    given = torch.from_numpy(scores)[None]
    found, sums = kbest_projective(given, sizes, k)
    there = ~torch.isinf(sums[0])
    return list(map(tuple, found[0, there].tolist())), sums[0, there].tolist()


@given(
    words=st.integers(1, WORDS - 1),
    k=st.sampled_from([1, 2, 3, 7, 20, 150]),
    ties=st.booleans(),
    barred=st.floats(0, 0.6),
    seed=st.integers(0, 2**32 - 1),
)
def test_all_trees(words: int, k: int, ties: bool, barred: bool, seed: int) -> None:
    """The right sums in the right order, each of another tree: with ties any of them."""
    rng = np.random.default_rng(seed)
    shape = (words + 1, words + 1)
    scores = rng.integers(-2, 3, shape).astype(float) if ties else rng.normal(size=shape)
    scores[rng.random(shape) < barred] = -np.inf
    every = filter(is_projective, ALL[words])
    sums = {tree: total(tree, scores) for tree in every}
    best = sorted((s for s in sums.values() if s > -math.inf), reverse=True)[:k]
    found, totals = kbest(scores, k)
    assert totals == pytest.approx(best)
    assert len(set(found)) == len(found)
    assert [sums[tree] for tree in found] == pytest.approx(totals)


@given(words=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
def test_a_tree_that_is_favoured_is_found(words: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = [-1, *random_heads(rng, words, True)]
    scores = rng.normal(size=(words + 1, words + 1))
    scores[range(1, words + 1), tree[1:]] += 100.0
    found, _ = kbest(scores, 3)
    assert found[0] == tuple(tree)


def test_sentences_of_a_batch_do_not_meet() -> None:
    rng = np.random.default_rng(0)
    sizes = torch.tensor([3, 9, 1, 6])
    scores = torch.from_numpy(rng.normal(size=(4, 10, 10)))
    heads, totals = kbest_projective(scores, sizes, 5)
    for b, size in enumerate(sizes.tolist()):
        alone, sums = kbest_projective(
            scores[b : b + 1, : size + 1, : size + 1], torch.tensor([size]), 5
        )
        assert torch.equal(heads[b, :, : size + 1], alone[0])
        assert (heads[b, :, size + 1 :] == -1).all()
        torch.testing.assert_close(totals[b], sums[0])


def test_errors() -> None:
    with pytest.raises(ConfigError, match="expected k to be at least 1, got 0"):
        kbest_projective(torch.zeros(1, 2, 2), torch.tensor([1]), 0)
