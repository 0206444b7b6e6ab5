from __future__ import annotations

import numpy as np
import pytest

from dgltrees import Forest, TreeError, TreePairs


def forest(*names: str) -> Forest:
    """A tree per name, with as many nodes as the name has letters."""
    roots = [{"n": name[0], "children": [{"n": letter} for letter in name[1:]]} for name in names]
    return Forest.from_objects(roots, columns=["n"])


PAIRS = TreePairs(forest("ab", "c", "d"), forest("c", "da", "e"))


def test_examples_have_both_trees_of_a_pair_beside_each_other() -> None:
    examples = PAIRS.examples()
    assert (len(examples), examples.arity) == (3, 2)
    names = examples.forest.vocabs["n"].decode(examples.forest.columns["n"])
    assert "".join(names) == "abccdade"
    assert examples.forest.sizes.tolist() == [2, 1, 1, 2, 1, 1]


@pytest.mark.parametrize(
    ("index", "sizes"),
    [
        (1, [1, 2]),
        (-1, [1, 1]),
        (slice(0, 2), [2, 1, 1, 2]),
        (np.array([2, 0]), [1, 1, 2, 1]),
        (np.array([True, False, False]), [2, 1]),
    ],
)
def test_some_of_the_pairs(index: object, sizes: list[int]) -> None:
    some = PAIRS[index]  # type: ignore[index]
    assert some.examples().forest.sizes.tolist() == sizes
    assert len(some) == len(sizes) // 2


def test_pairs_are_a_sequence() -> None:
    assert [pair.examples().forest.num_nodes for pair in PAIRS] == [3, 3, 2]
    assert repr(PAIRS).startswith("TreePairs(Forest(3 trees, 4 nodes, columns: n (4 names)), ")


def test_what_cannot_be_paired() -> None:
    with pytest.raises(TreeError, match="as many second trees as first ones, 3, got 2"):
        TreePairs(forest("a", "b", "c"), forest("a", "b"))
    numbers = Forest.from_objects([{"n": 1}], columns=["n"])
    with pytest.raises(TreeError, match="column 'n' to hold names, as in first, got numbers in se"):
        TreePairs(forest("a"), numbers).examples()
