"""Data sets, parts of one with the same columns, and pairs of trees."""

import numpy as np
import pytest

from dgltrees import Forest, LabeledTrees, TreeError, TreePairs, Vocabulary
from dgltrees.trees.labeled import align
from tests.trees.nested import names_of
from tests.worlds import chain, star


def pairs() -> LabeledTrees:
    forest = Forest.concat([chain(1), chain(2), chain(3), star(3)])
    return LabeledTrees(forest, {"target": np.array([4, 7])}, 2, Vocabulary(["yes", "no"]))


def test_pairs() -> None:
    data = pairs()
    assert len(data) == 2
    assert data.sizes.tolist() == [3, 7]
    assert data.depths.tolist() == [1, 2]
    batch, columns = data.batch([1, 0])
    assert batch.sizes.tolist() == [3, 4, 1, 2]
    assert columns["target"].tolist() == [7, 4]
    name = np.array(["a", "b"], object)
    text = repr(LabeledTrees(data.forest, {"n": np.zeros(2), "name": name}, data.arity))
    assert text == f"LabeledTrees({data.forest}, columns: n (float64), name (strings))"
    chosen = LabeledTrees.concat([data.select([1]), data.select([0])])
    assert chosen.forest.sizes.tolist() == [3, 4, 1, 2]
    assert chosen.columns["target"].tolist() == [7, 4]


def test_numbers_that_do_not_go_together() -> None:
    with pytest.raises(TreeError, match="expected 2 trees per example, got 1 trees"):
        LabeledTrees(chain(2), arity=2)
    with pytest.raises(TreeError, match="expected column 'target' to have 1 rows, one per example"):
        LabeledTrees(chain(2), {"target": np.zeros(3)})
    with pytest.raises(TreeError, match="expected parts with the same arity"):
        LabeledTrees.concat([pairs(), LabeledTrees(pairs().forest, {"target": np.zeros(4)})])


def part(names: list[str], **columns: object) -> LabeledTrees:
    vocab = Vocabulary()
    arrays = {"op": vocab.encode(names)} if names else {}
    forest = Forest.build([-1, 0], columns={**arrays}, vocabs={"op": vocab} if names else {})
    return LabeledTrees(forest, {name: np.array([value]) for name, value in columns.items()})


def test_parts_get_the_columns_and_names_of_all() -> None:
    text = np.array(["x"], object)
    parts = [part(["a", "b"], n=1), part([], v=[1.5, 2]), part(["c", "a"], n=0.5)]
    parts[1] = LabeledTrees(parts[1].forest, {**parts[1].columns, "text": text})
    joint = LabeledTrees.concat(align(parts))
    assert names_of(joint.forest, "op") == ["a", "b", None, None, "c", "a"]
    assert joint.forest.vocabs["op"].names == ["a", "b", "c"]
    np.testing.assert_array_equal(joint.columns["n"], [1, np.nan, 0.5])
    np.testing.assert_array_equal(joint.columns["v"], [[np.nan] * 2, [1.5, 2], [np.nan] * 2])
    assert joint.columns["text"].tolist() == [None, "x", None]
    assert parts[0].forest.vocabs["op"].names == ["a", "b"]


def test_equal_vocabularies_stay() -> None:
    one, two = part(["a", "b"]), part(["a", "b"])
    for aligned in align([one, two]):
        assert aligned.forest.vocabs["op"] is one.forest.vocabs["op"]


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        (
            part(["a", "b"]),
            LabeledTrees(Forest.build([-1], columns={"op": [1]})),
            "'op' to hold names",
        ),
        (part([], n=1), part([], n=[1, 2]), "'n' to hold numbers, as in part 0, got vectors"),
    ],
)
def test_columns_of_unlike_kinds(one: LabeledTrees, two: LabeledTrees, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        align([one, two])
    with pytest.raises(TreeError, match=r"as in a.csv, got .* in b.csv"):
        align([one, two], ["a.csv", "b.csv"])


def forest_of(*names: str) -> Forest:
    """A tree per name, with as many nodes as the name has letters."""
    roots = [{"n": name[0], "children": [{"n": letter} for letter in name[1:]]} for name in names]
    return Forest.from_objects(roots, columns=["n"])


PAIRS = TreePairs(forest_of("ab", "c", "d"), forest_of("c", "da", "e"))


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
    with pytest.raises(TreeError, match="expected 3 second trees, one per first tree, got 2"):
        TreePairs(forest_of("a", "b", "c"), forest_of("a", "b"))
    with pytest.raises(TreeError, match="expected forests, got a list; Forest.from_objects makes"):
        TreePairs([{"n": 1}], [{"n": 2}])  # type: ignore[arg-type]
    numbers = Forest.from_objects([{"n": 1}], columns=["n"])
    with pytest.raises(TreeError, match="column 'n' to hold names, as in first, got numbers in se"):
        TreePairs(forest_of("a"), numbers).examples()
    texts = Forest.build([-1], columns={"n": np.array(["a"])})
    with pytest.raises(TreeError, match="column 'n' to hold texts, as in first, got numbers in s"):
        TreePairs(texts, numbers).examples()
