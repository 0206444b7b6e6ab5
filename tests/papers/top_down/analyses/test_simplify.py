"""Words replaced by simpler ones, under scores that are known."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dgltrees import ConfigError, Forest
from dgltrees.papers.top_down.analyses.simplify import simplify
from tests.trees.dependencies import HEADS, forest_of

COSTS = np.random.default_rng(0).permutation(50).astype(np.float64)


def score(forest: Forest) -> NDArray[np.float64]:
    """Minus the costs of all words of each tree."""
    costs = np.where(forest.parent < 0, 0.0, COSTS[forest.columns["word"]])
    return -np.add.reduceat(costs, forest.offsets[:-1])


def test_the_cheapest_candidate_replaces_a_word() -> None:
    whole = forest_of([HEADS])
    words = whole.columns["word"]
    candidates = {int(word): [0, int(word), 3] for word in np.unique(words[1:])[::2]}
    result = simplify(whole, candidates, score)
    expected = [
        min([*candidates.get(w, []), w], key=lambda each: COSTS[each]) for w in words[1:].tolist()
    ]
    assert result.forest.columns["word"].tolist() == [int(words[0]), *expected]
    assert result.forest.parent.tolist() == whole.parent.tolist()
    assert result.score == score(result.forest)[0]
    changed = np.flatnonzero(result.forest.columns["word"] != words)
    assert result.replaced == tuple(changed.tolist())
    assert len(changed) > 0
    assert whole.columns["word"].tolist() == words.tolist()


def test_errors() -> None:
    with pytest.raises(ConfigError, match="expected one tree to simplify, got 2 trees"):
        simplify(forest_of([[0], [0]]), {}, score)
