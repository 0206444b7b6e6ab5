"""The search for the best part of a sentence, against all parts."""

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dgltrees import ConfigError, Forest
from dgltrees.cells.initial import uniform
from dgltrees.papers.top_down.analyses.compress import compress
from dgltrees.papers.top_down.graphs import generation_batch, generation_forest
from dgltrees.papers.top_down.models.tree_lm import TreeLM
from tests.trees.dependencies import HEADS, forest_of, random_heads

MODEL: list[TreeLM] = []


def score(forest: Forest) -> NDArray[np.float64]:
    """The log-probability by a model with strong opinions."""
    if not MODEL:
        torch.manual_seed(0)
        MODEL.append(TreeLM(40, 4, left_dependents=True).double())
        uniform(MODEL[0], 1.5)
    with torch.no_grad():
        return MODEL[0].log_prob(generation_batch(generation_forest(forest))).numpy()


def all_parts(heads: list[int], words: int) -> list[tuple[int, ...]]:
    """All sets of so many words that have, with each word, its head."""
    every = range(1, len(heads) + 1)
    return [
        part
        for part in combinations(every, words)
        if all(heads[w - 1] == 0 or heads[w - 1] in part for w in part)
    ]


def part_of(heads: list[int], part: tuple[int, ...]) -> Forest:
    """The tree of some words, which keep their names."""
    whole = forest_of([heads])
    number = {0: 0, **{w: i for i, w in enumerate(part, 1)}}
    return Forest.build(
        [-1, *(number[heads[w - 1]] for w in part)],
        columns={"word": whole.columns["word"][[0, *part]]},
        vocabs=whole.vocabs,
    )


@given(seed=st.integers(0, 10_000), words=st.integers(1, 9), kept=st.integers(1, 9))
def test_a_wide_beam_finds_the_best(seed: int, words: int, kept: int) -> None:
    heads = random_heads(np.random.default_rng(seed), words, True)
    found = compress(forest_of([heads]), kept, score, beam=200)
    assert found.exact
    parts = all_parts(heads, min(words, kept))
    scores = [float(score(part_of(heads, part))[0]) for part in parts]
    assert found.score == pytest.approx(max(scores))
    best = part_of(heads, parts[int(np.argmax(scores))])
    assert found.forest.columns["word"].tolist() == best.columns["word"].tolist()
    assert found.forest.parent.tolist() == best.parent.tolist()


@pytest.mark.parametrize("kept", [2, 5, 8])
def test_a_narrow_beam_keeps_the_rules(kept: int) -> None:
    """Its parts are connected, have the root and are as long; its score is theirs."""
    narrow = compress(forest_of([HEADS]), kept, score, beam=1)
    wide = compress(forest_of([HEADS]), kept, score, beam=500)
    assert narrow.score <= wide.score
    assert wide.exact
    assert not narrow.exact
    for found in (narrow, wide):
        assert found.forest.num_nodes == kept + 1
        assert found.score == pytest.approx(float(score(found.forest)[0]))
        words = tuple(int(w) for w in found.forest.columns["word"][1:])
        assert words in all_parts(HEADS, kept)


def test_short_sentences_stay() -> None:
    whole = forest_of([[2, 0, 2]])
    found = compress(whole, 3, score)
    assert found.forest.parent.tolist() == whole.parent.tolist()
    assert found.exact
    assert compress(forest_of([[0, 0, 1]]), 1, score).forest.num_nodes == 3  # both below ROOT stay


def test_errors() -> None:
    for trees, words, beam in ((2, 3, 8), (1, 0, 8), (1, 3, 0)):
        with pytest.raises(ConfigError, match=rf"got {trees} trees, max_words={words} and beam"):
            compress(forest_of([[0]] * trees), words, score, beam=beam)
