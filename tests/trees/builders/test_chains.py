"""Sequences as chains."""

from __future__ import annotations

import numpy as np
import pytest

from dgltrees import TreeError
from dgltrees.trees import Vocabulary
from dgltrees.trees.builders import chains


def test_a_word_is_the_child_of_the_next() -> None:
    forest = chains([3, 1, 2], {"word": np.arange(6)}, {"word": Vocabulary("abcdef")})
    assert forest.parent.tolist() == [1, 2, -1, -1, 1, -1]
    assert forest.offsets.tolist() == [0, 3, 4, 6]
    assert forest.depths.tolist() == [2, 0, 1]


def test_a_sentence_without_words() -> None:
    with pytest.raises(TreeError, match="tree 1: expected at least one word in a sentence"):
        chains([1, 0], {"word": np.zeros(1, int)})
