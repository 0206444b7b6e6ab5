import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import ConfigError, TreeError
from dgltrees.trees import Vocabulary
from dgltrees.trees.builders import from_nested
from tests.trees.nested import arrays, assert_shape, nested

TREES = st.lists(nested(["S", "NP"], ["a", "b"]), min_size=1, max_size=4)


def named(forest):
    names = [*forest.vocabs["label"].names, None]
    return [names[i] for i in forest.columns["label"]]


def as_pair(tree):
    return tree if isinstance(tree, str) else (tree[0], list(map(as_pair, tree[1:])))


def as_dict(tree):
    if isinstance(tree, str):
        return {"label": tree}
    return {"label": tree[0], "children": tuple(map(as_dict, tree[1:]))}


def as_children(tree):
    return tree if isinstance(tree, str) else list(map(as_children, tree[1:]))


@given(trees=TREES)
def test_the_forms_agree(trees):
    head = from_nested(*trees, form="head")
    assert_shape(head, trees)
    assert named(head) == arrays(trees)[2]
    for other in (
        from_nested(*map(as_pair, trees), form="pair"),
        from_nested(*map(as_dict, trees)),
    ):
        assert_shape(other, trees)
        assert named(other) == named(head)
    bare = from_nested(*map(as_children, trees))
    assert_shape(bare, trees)
    inner = head.degree > 0
    assert named(bare) == [None if i else name for i, name in zip(inner, named(head))]


def test_none_is_a_missing_child():
    forest = from_nested((None, "a", None, "b"))
    assert forest.pos.tolist() == [0, 1, 3]
    assert forest.parent.tolist() == [-1, 0, 0]


def test_labels_are_strings_or_numbers():
    forest = from_nested(("+", 1, np.int64(2), 0.5, {"label": None, "children": []}), form="head")
    assert named(forest) == ["+", "1", "2", "0.5", None]


def test_an_object_may_stand_twice():
    twin = ("a", "b")
    assert from_nested((twin, twin)).sizes.tolist() == [7]


def test_deep_and_wide():
    deep = "a"
    for _ in range(100_000):
        deep = (deep,)
    forest = from_nested(deep, tuple(range(100_000)))
    assert forest.sizes.tolist() == [100_001, 100_001]
    assert forest.depths.tolist() == [100_000, 1]


def cycle():
    inner = ["a"]
    inner.append(("b", inner))
    return ["c", inner]


@pytest.mark.parametrize(
    ("tree", "form", "message"),
    [
        (
            cycle(),
            "children",
            "tree 1, node 6: expected a tree, got an object that contains",
        ),
        ((), "head", "tree 1, node 0: expected (label, child, ...), got an empty tuple"),
        (("a", ["b"], "c"), "pair", "tree 1, node 0: expected (label, [child, ...]), got 3 items"),
        (("a", "b"), "pair", "tree 1, node 0: expected a list or tuple of children, got an object"),
        (("a", {"name": 1}), "head", "tree 1, node 1: expected the keys 'label' and 'children'"),
        (("a", {1, 2}), "head", "tree 1, node 1: expected a string or number as a label, got an"),
        ((("a",), "b"), "head", "tree 1, node 0: expected a string or number as a label, got an"),
        (None, "children", "tree 1, node 0: expected a string or number as a label, got an"),
        (("a", "b", "c", "d"), "head", "tree 1, node 3: expected a child position from 0 to 1"),
        (("a", "zz"), "head", "tree 1, node 1: expected one of the 4 known names"),
    ],
)
def test_bad_objects(tree, form, message):
    known = Vocabulary(["a", "b", "c", "d"], frozen=True)
    with pytest.raises(TreeError) as caught:
        from_nested("a", tree, form=form, vocabs={"label": known}, max_children=2)
    assert str(caught.value).startswith(message)


def test_wrong_settings():
    with pytest.raises(ConfigError, match="form: expected one of children, head, pair, got 'x'"):
        from_nested("a", form="x")
    with pytest.raises(ConfigError, match="for the columns label, got one for word"):
        from_nested("a", vocabs={"word": Vocabulary()})
    with pytest.raises(TreeError, match="^expected at least one tree, got none$"):
        from_nested()
