"""What columns hold, as inferred and as asked for, and further trees read alike."""

from typing import Any

import numpy as np
import pytest

from dgltrees import ConfigError, Forest, TreeError, Vocabulary
from dgltrees.trees.columns import Column, choose_columns, infer_columns, name_of
from dgltrees.trees.schema import NUMBERS, Schema

NODES = 40


def forest(**columns: Any) -> Forest:
    """Two trees of 20 nodes each; lists of texts become names."""
    arrays: dict[str, Any] = {}
    vocabs: dict[str, Vocabulary] = {}
    for name, values in columns.items():
        if isinstance(values, list) and any(isinstance(value, str) for value in values):
            vocabs[name] = Vocabulary([v for v in dict.fromkeys(values) if v is not None])
            values = [-1 if v is None else vocabs[name].names.index(v) for v in values]
        arrays[name] = np.asarray(values)
    parent = np.tile(np.maximum(np.arange(20) - 1, -1), 2)
    return Forest.build(parent, offsets=[0, 20, 40], columns=arrays, vocabs=vocabs)


TEXTS = [f"filter number {i} of a plan" for i in range(NODES)]
COLUMNS: dict[str, tuple[Any, str, int]] = {
    "few names": (["a", "b"] * 20, "category", 1),
    "few names with spaces": (["Seq Scan", "Hash Join"] * 20, "category", 1),
    "texts": (TEXTS, "text", 1),
    "names with parts": ([f"get{chr(65 + i % 25)}_name" for i in range(NODES)], "text", 1),
    "node types with parts": ([f"Node{chr(65 + i % 21)}Type" for i in range(NODES)], "category", 1),
    "booleans": (np.arange(NODES) % 3 == 0, "number", 1),
    "whole numbers": (np.arange(NODES), "number", 1),
    "negative and heavy": (np.r_[-1.0, np.ones(38), 1e9], "number", 1),
    "counts, with zeros": (np.arange(NODES) % 11, "number", 1),
    "orders of magnitude, with zeros": (np.r_[np.zeros(10), np.logspace(-2, 2, 30)], "log", 1),
    "heavy tail": (np.r_[np.ones(39), 1e9], "log", 1),
    "missing numbers": (np.r_[np.full(20, np.nan), np.ones(20)], "number", 1),
    "vectors": (np.ones((NODES, 3)), "vector", 3),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_kinds_are_inferred_from_values(name: str) -> None:
    values, kind, size = COLUMNS[name]
    assert infer_columns(forest(**{name: values})) == (Column(name, kind, size),)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (None, {"name": "category", "number": "number"}),
        (["number"], {"number": "number"}),
        ({"number": "log"}, {"name": "category", "number": "log"}),
        ({"number": "category"}, {"name": "category", "number": "category"}),
        ({"name": "text"}, {"name": "text", "number": "number"}),
        ({"name": "none"}, {"number": "number"}),
    ],
)
def test_columns_and_kinds_can_be_chosen(
    wanted: list[str] | dict[str, str] | None, expected: dict[str, str]
) -> None:
    trees = forest(name=["a", "b"] * 20, number=np.arange(NODES), target=np.arange(NODES))
    chosen = choose_columns(trees, wanted, without=["target"])
    assert {each.name: each.kind for each in chosen} == expected


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (["cost"], r"data.features to name columns of the trees \(name, number, v\), got 'cost'"),
        (["target"], "to name inputs, got 'target', a target .of trees or nodes. or group; le"),
        ({"number": "float"}, "data.features.number to be one of category, number, log"),
        ({"name": "number"}, "column 'name' to hold a number, as data.features says, got names"),
        ({"v": "number"}, "column 'v' to hold a number, as data.features says, got a vector"),
        ({"number": "text"}, "column 'number' to hold strings, got numbers"),
        ([], "at least one input column in addition to the target"),
    ],
)
def test_a_wrong_choice_of_columns_is_named(wanted: Any, message: str) -> None:
    numbers = np.arange(NODES)
    trees = forest(name=["a", "b"] * 20, number=numbers, v=np.ones((NODES, 2)), target=numbers)
    with pytest.raises((ConfigError, TreeError), match=message):
        choose_columns(trees, wanted, without=["target"])


def schema(trees: Forest, *, unknown: bool = True) -> Schema:
    """The schema of trees, its vocabularies filled and frozen."""
    inputs = choose_columns(trees, None)
    unknown_name = "<unk>" if unknown else None
    vocabs = {c.name: Vocabulary(unknown=unknown_name) for c in inputs if not c.numeric}
    made = Schema(vocabs, inputs)
    made.read(trees)
    for vocab in vocabs.values():
        vocab.freeze()
    return made


def test_further_trees_have_the_ids_of_training_and_all_numbers_side_by_side() -> None:
    train = forest(kind=["a", "b"] * 20, note=TEXTS, cost=np.arange(40.0), v=np.ones((NODES, 2)))
    plan = schema(train)
    other = forest(
        note=["number 3 unheard"] * 39 + [None],
        cost=np.r_[np.nan, np.arange(39)],
        v=np.zeros((NODES, 2)),
        kind=["b", "c", None, "a"] * 10,
        more=np.arange(NODES),
    )
    read = plan.read(other)
    kinds = plan["kind"].names
    assert [kinds[i] if i >= 0 else None for i in read.columns["kind"][:4]] == [
        *("b", "<unk>", None, "a")
    ]
    assert set(read.columns) == {"kind", "note", NUMBERS}
    numbers = read.columns[NUMBERS]
    assert numbers.shape == (NODES, 3)
    assert np.isnan(numbers[0, 0])
    assert numbers[1:, 0].tolist() == list(range(39))
    words = plan["note"].names
    assert [words[i] for i in read.columns["note"][0, :3]] == ["number", "3", "<unk>"]
    assert (read.columns["note"][39] == -1).all()
    assert (read.columns["note"][0, 3:] == -1).all()
    numbers = plan.read(forest(note=np.full(NODES, 3.0), kind=["a"] * NODES))  # a number is a word
    assert numbers.columns["note"][0, :2].tolist() == [words.index("3"), -1]


def test_a_column_that_is_not_there_is_missing_everywhere() -> None:
    plan = schema(forest(kind=["a", "b"] * 20, cost=np.arange(40.0), note=TEXTS))
    nothing = np.full(40, np.nan)
    read = plan.read(forest(kind=nothing, cost=nothing, note=nothing))
    assert all((read.columns[name] == -1).all() for name in ("kind", "note"))
    read = plan.read(forest(kind=["a"] * 40))
    assert np.isnan(read.columns[NUMBERS]).all()
    assert (plan.read(forest(cost=np.ones(40))).columns["kind"] == -1).all()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"other": np.ones(40)}, "columns of the training data, kind, cost, got trees with other"),
        ({"kind": np.ones((40, 2))}, r"as in training, got vectors, such as \[1.0, 1.0\]"),
        (
            {"cost": [None] * 25 + ["dear"] * 15},
            "tree 1, node 5: expected column 'cost' to hold numbers, as in training, got names, "
            "such as 'dear'; correct it",
        ),
        ({"cost": np.ones((40, 2))}, "column 'cost' to have 1 numbers per node"),
        ({"cost": np.r_[np.ones(25), np.inf, np.ones(14)]}, "tree 1, node 5: .*, got inf;"),
        ({"cost": np.r_[np.ones(25), 1e300, np.ones(14)]}, "numbers between -1e.30 and 1e.30 in "),
        ({"kind": ["z"] * 40}, "in column 'kind': expected one of the 2 known names"),
    ],
)
def test_trees_of_another_schema_are_refused(columns: dict[str, Any], message: str) -> None:
    plan = schema(forest(kind=["a", "b"] * 20, cost=np.arange(40.0)), unknown=False)
    with pytest.raises(TreeError, match=message):
        plan.read(forest(**columns))


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1234567, "1234567"),
        (1234568.0, "1234568"),
        (0.1234567, "0.1234567"),
        (True, "true"),
        (np.bool_(False), "false"),
        ("a", "a"),
        (None, None),
        (float("nan"), None),
    ],
)
def test_names_keep_all_digits_of_a_number(value: Any, name: Any) -> None:
    assert name_of(value) == name


def test_codes_that_differ_in_their_last_digit_are_different_categories() -> None:
    codes = np.where(np.arange(NODES) % 2, 1234567, 1234568)
    inputs = choose_columns(forest(code=codes), {"code": "category"})
    read = Schema({"code": Vocabulary()}, inputs).read(forest(code=codes))
    assert len(np.unique(read.columns["code"])) == 2


def test_negative_numbers_have_no_logarithm() -> None:
    plan = schema(forest(cost=np.r_[np.ones(39), 1e9]))
    with pytest.raises(TreeError, match="tree 0, node 3: expected numbers of at least 0"):
        plan.read(forest(cost=np.r_[np.ones(3), -1.0, np.ones(36)]))


def test_a_schema_comes_back_from_plain_values() -> None:
    plan = schema(forest(kind=["a", "b"] * 20, v=np.ones((NODES, 2))))
    again = Schema.from_dict(plan.vocabs, Schema(plan, plan.inputs, ["y"]).to_dict())
    assert (again.inputs, again.targets) == (plan.inputs, ("y",))
