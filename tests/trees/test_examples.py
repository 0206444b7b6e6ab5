"""Data sets of single trees and of pairs."""

from __future__ import annotations

import numpy as np
import pytest

from dgltrees import Examples, Forest, TreeError, Vocabulary
from tests.worlds import chain, star


def pairs() -> Examples:
    forest = Forest.concat([chain(1), chain(2), chain(3), star(3)])
    return Examples(forest, {"target": np.array([4, 7])}, 2, Vocabulary(["yes", "no"]))


def test_pairs() -> None:
    data = pairs()
    assert len(data) == 2
    assert data.sizes.tolist() == [3, 7]
    assert data.depths.tolist() == [1, 2]
    batch, columns = data.batch([1, 0])
    assert batch.sizes.tolist() == [3, 4, 1, 2]
    assert columns["target"].tolist() == [7, 4]
    chosen = Examples.concat([data.select([1]), data.select([0])])
    assert chosen.forest.sizes.tolist() == [3, 4, 1, 2]
    assert chosen.columns["target"].tolist() == [7, 4]


def test_numbers_that_do_not_go_together() -> None:
    with pytest.raises(TreeError, match="expected 2 trees per example, got 1 trees"):
        Examples(chain(2), arity=2)
    with pytest.raises(TreeError, match="expected column 'target' to have a row per example, 1"):
        Examples(chain(2), {"target": np.zeros(3)})
    with pytest.raises(TreeError, match="expected parts with the same arity"):
        Examples.concat([pairs(), Examples(pairs().forest, {"target": np.zeros(4)})])
