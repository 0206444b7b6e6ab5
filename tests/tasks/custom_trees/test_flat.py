"""Flat features equal those of a slow walk, and are columns of a table for scikit-learn."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from dgltrees import (
    ConfigError,
    FlatFeatures,
    Forest,
    LabeledTrees,
    TreeError,
    TreePairs,
    Vocabulary,
)
from dgltrees.tasks.custom_trees.flat import frequent_names

TREES: list[dict[str, Any]] = [
    {"op": "join", "rows": 6.0, "at": [1.0, 2.0], "Plans": [{"op": "scan", "rows": 9.0}]},
    {
        "op": "sort",
        "Plans": [
            {"op": "join", "rows": -3.0, "Plans": [{"op": "scan"}, {"op": "scan", "rows": 0.5}]}
        ],
    },
    {"op": "scan", "rows": 2.0, "at": [0.0, -4.0]},
]


def walk(node: dict[str, Any], depth: int = 0) -> list[tuple[dict[str, Any], int]]:
    """Return the nodes of a tree and their depths."""
    below = [each for child in node.get("Plans", []) for each in walk(child, depth + 1)]
    return [(node, depth), *below]


def signed_log(x: float) -> float:
    return math.copysign(math.log1p(abs(x)), x)


def expected(tree: dict[str, Any]) -> dict[str, float]:
    """Compute the features of a tree, one node after another."""
    nodes = walk(tree)
    plain = [node for node, _ in nodes]
    features: dict[str, float] = {
        "depth": max(depth for _, depth in nodes),
        "nodes": len(nodes),
        "leaves": sum(not node.get("Plans") for node in plain),
        "most children": max(len(node.get("Plans", [])) for node in plain),
    }
    for name in ("rows", "at[0]", "at[1]"):

        def read(node: dict[str, Any], name: str = name) -> float | None:
            return (
                node.get("rows") if name == "rows" else node.get("at", [None, None])[name[3] == "1"]
            )

        known = [value for value in map(read, plain) if value is not None]
        total, largest = sum(known), max(known, default=0.0)
        features |= {f"sum {name}": total, f"max {name}": largest}
        features[f"mean {name}"] = total / max(len(known), 1)
        features |= {f"log sum {name}": signed_log(total), f"log max {name}": signed_log(largest)}
        root = read(tree) or 0.0
        features |= {f"root {name}": root, f"log root {name}": signed_log(root)}
        for op in ("join", "scan", "sort"):
            values = [read(node) for node in plain if node["op"] == op]
            of_op = [value for value in values if value is not None]
            features[f"log sum {name} of op={op}"] = signed_log(sum(of_op))
            features[f"log max {name} of op={op}"] = signed_log(max(of_op, default=0.0))
    for op in ("join", "scan", "sort"):
        features[f"op={op}"] = sum(node["op"] == op for node in plain)
        features[f"root op={op}"] = float(tree["op"] == op)
    return features


def test_features_equal_those_of_a_walk() -> None:
    flat = FlatFeatures().fit(TREES)
    table = pd.DataFrame(flat.transform(TREES), columns=flat.get_feature_names_out())
    wanted = pd.DataFrame([expected(tree) for tree in TREES])
    varying = wanted.columns[wanted.nunique() > 1]
    assert len(varying) > 40
    pd.testing.assert_frame_equal(table[varying], wanted[varying], check_dtype=False)
    assert {*table} == {*varying}


def test_a_pair_has_both_their_difference_and_their_product() -> None:
    forest = Forest.from_objects(TREES, "Plans")
    pairs = TreePairs(forest, forest[[1, 2, 0]])
    flat, single = FlatFeatures().fit(pairs), FlatFeatures().fit(forest)
    of_pairs = pd.DataFrame(flat.transform(pairs), columns=flat.get_feature_names_out())
    of_trees = pd.DataFrame(single.transform(forest), columns=single.get_feature_names_out())
    a, b = of_trees, of_trees.iloc[[1, 2, 0]].reset_index(drop=True)
    wanted = pd.concat(
        [
            a.add_suffix(" of 1"),
            b.add_suffix(" of 2"),
            (a - b).abs().add_prefix("difference of "),
            (a * b).add_prefix("product of "),
        ],
        axis=1,
    )
    varying = wanted.columns[wanted.nunique() > 1]
    pd.testing.assert_frame_equal(of_pairs[varying], wanted[varying])
    assert {*of_pairs} == {*varying}


def test_the_names_that_are_most_frequent_in_training_are_counted() -> None:
    vocab = Vocabulary(["once", "often", "never", "twice"])
    columns = {"n": np.array([1, 0, 3, 1, 3, 1, -1])}
    forest = Forest.build([-1, 0, 1, 2, 3, 4, 5], columns=columns, vocabs={"n": vocab})
    (ids,) = frequent_names(LabeledTrees(forest, {})).values()
    assert vocab.decode(ids) == ["often", "twice", "once", "never"]


def test_it_is_a_transformer_of_scikit_learn() -> None:
    trees, y = TREES * 4, [1.0, 2.0, 3.0] * 4
    model = make_pipeline(FlatFeatures(features=pd.Index(["op", "rows"])), Ridge())
    search = GridSearchCV(model, {"ridge__alpha": [0.1, 1.0]}, cv=2).fit(trees, y)
    assert search.predict(pd.Series(trees)).shape == (12,)
    flat = clone(model[0]).set_output(transform="pandas")
    assert list(flat.fit_transform(trees)) == flat.get_feature_names_out().tolist()
    other = [{"op": "new", "rows": 1.0, "Plans": [{"op": "scan"}]}]
    assert flat.transform(other).sum(axis=1).item() > 0  # a new category is counted nowhere
    assert not [name for name in flat.get_feature_names_out() if "new" in name]


def test_a_tree_of_one_node_has_the_features_of_all() -> None:
    flat = FlatFeatures().fit(TREES * 4)
    trees = [TREES[0], {"op": "scan", "rows": 3.0}]
    np.testing.assert_array_equal(flat.transform(trees)[1:], flat.transform(trees[1:]))


def test_an_empty_key_is_a_column() -> None:
    trees = [{"": n % 3, "x": n, "Plans": [{"": 1}]} for n in range(6)]
    for features in (None, ["", "x"], {"": "number"}):
        names = FlatFeatures(features=features).fit(trees).get_feature_names_out()
        assert len(names) == len({*names}) > 4


def test_trees_without_the_columns_are_refused() -> None:
    flat = FlatFeatures().fit(TREES)
    with pytest.raises(TreeError, match="op, rows, at"):
        flat.transform([{"cost": 1.0, "Plans": [{"cost": 2.0}]}])
    with pytest.raises(ConfigError, match=r"features to be a list .*, got 'op'; write .*=\['op'\]"):
        FlatFeatures(features="op").fit(TREES)
