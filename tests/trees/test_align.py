from __future__ import annotations

import numpy as np
import pytest

from dgltrees import TreeError
from dgltrees.trees import Examples, Forest, Vocabulary
from dgltrees.trees.examples import align
from tests.trees.nested import names_of


def part(names: list[str], **columns: object) -> Examples:
    vocab = Vocabulary()
    arrays = {"op": vocab.encode(names)} if names else {}
    forest = Forest.build([-1, 0], columns={**arrays}, vocabs={"op": vocab} if names else {})
    return Examples(forest, {name: np.array([value]) for name, value in columns.items()})


def test_parts_get_the_columns_and_names_of_all() -> None:
    text = np.array(["x"], object)
    parts = [part(["a", "b"], n=1), part([], v=[1.5, 2]), part(["c", "a"], n=0.5)]
    parts[1] = Examples(parts[1].forest, {**parts[1].columns, "text": text})
    joint = Examples.concat(align(parts))
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
        (part(["a", "b"]), Examples(Forest.build([-1], columns={"op": [1]})), "'op' to hold names"),
        (
            part([], n=1),
            part([], n=[1, 2]),
            "'n' to hold numbers, as in part 0, got vectors",
        ),
    ],
)
def test_columns_of_unlike_kinds(one: Examples, two: Examples, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        align([one, two])
    with pytest.raises(TreeError, match=r"as in a.csv, got .* in b.csv"):
        align([one, two], ["a.csv", "b.csv"])
