"""Where the trees of records are: found by one rule, or refused with the argument to give."""

from typing import Any

import pytest

from dgltrees import TreeError
from dgltrees.trees.builders import nest_nodes
from dgltrees.trees.layout import infer_layout

NODE = {"op": "a", "cost": 1}
TREE = {**NODE, "Plans": [{**NODE, "Plans": [NODE]}, NODE]}
TRIGGERS = [{"Trigger Name": "t1", "Time": 0.4}, {"Trigger Name": "t2", "Time": 0.2}]
WORKERS = [{"Worker Number": number} for number in range(9)]


@pytest.mark.parametrize(
    ("records", "layout"),
    [
        # the key that recurs, whatever other lists there are
        ([{"Plan": {**TREE, "Workers": WORKERS}, "Triggers": TRIGGERS}], ("Plan", "Plans")),
        ([{"a": {**NODE, "kids": [{"kids": [NODE]}], "notes": WORKERS}}], ("a", "kids")),
        (
            [{"timings": WORKERS, "children": [{"timings": [], "children": []}]}],
            ("", "children"),
        ),
        ([{"x": [{"x": [{}]}], "inputs": WORKERS}], ("", "x")),
        # of several that recur, the one with a known name
        ([{"inputs": [{"inputs": [{}]}], "notes": [{"notes": [{}]}]}], ("", "inputs")),
        # without recurrence, the known name
        (
            [{"Plan": {"Node Type": "Gather", "Plans": [{}]}, "Triggers": TRIGGERS}],
            ("Plan", "Plans"),
        ),
        ([{**NODE, "inputs": [{"x": 1}], "args": WORKERS}], ("", "inputs")),
        ([{"tree": {"children": [{"x": 1}], "times": WORKERS}, "y": 3}], ("tree", "children")),
        # PostgreSQL's plans of a single node
        ([{"Plan": {"Node Type": "Result"}, "Triggers": TRIGGERS}], ("Plan", "Plans")),
        ([{"Plan": {"Node Type": "Gather", "Workers": WORKERS}}], ("Plan", "Plans")),
        # otherwise a single candidate that shares a key
        ([{"name": "a"}, {"name": "a", "kids": [{"name": "b"}]}], ("", "kids")),
        ([{"a": {"b": {"n": 1, "kids": [{"n": 2}, None]}}, "c": [1]}], ("a.b", "kids")),
        # a root in a list of one, and trees after many single nodes
        ([{"time": 1, "operator": [{"children": [{"children": []}]}]}], ("operator", "children")),
        ([NODE] * 150 + [{**NODE, "parts": [NODE]}], ("", "parts")),
        ([[{"Plan": TREE}], {"Plan": NODE}], ("Plan", "Plans")),
    ],
)
def test_the_children_and_the_root_are_found(records: list[Any], layout: tuple[str, str]) -> None:
    assert infer_layout(records) == (layout[0], (layout[1],))
    assert infer_layout(records[::-1]) == (layout[0], (layout[1],))
    assert infer_layout(records, [layout[0]]) == ("", (layout[1],))
    assert infer_layout(records, keys=[layout[1]]) == (layout[0], (layout[1],))


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (
            [{"children": [{"x": 1}]}, {"Plans": [{"x": 1}, {}]}],
            'under Plans (2 objects), children (1 objects); children_key="Plans"',
        ),
        ([{"n": 1, "kids": [{"n": 1}], "notes": [{"n": 2}]}], "under kids (1 objects), notes (1"),
        (
            [{"a": 1, "rows": [{"b": 1}, {"b": 2}]}],
            'rows (2 objects); children_key="rows" names it',
        ),
        (
            [{"a": [{"a": [{}]}], "b": [{"b": [{}]}]}],
            "expected one key whose lists hold the children, got lists of objects under a (2 obj",
        ),
        (
            [{"query_block": {"id": 1, "nested_loop": [{"table": {}}, {"table": {}}]}}],
            "got lists of objects under nested_loop (2 objects)",
        ),
        # more of the same lists elsewhere
        (
            [{"x": [{"x": []}], "up": [{"x": [{}]}]}],
            "got some in nodes under 'up'; children_key=[\"x\"",
        ),
        (
            [{"Plans": [{"Plans": [], "sub": {"Plans": [NODE]}}]}],
            'got some in nodes under \'sub\'; children_key=["Plans", "sub"] reads these as childr',
        ),
        # several roots in a record
        (
            [{"a": TREE, "b": TREE}],
            "'Plans' in 'a' (1 records), 'b' (1 records); give tree_path=\"a\", or ['a',",
        ),
        (
            [{"plan": TREE}, {"json": {"plan": TREE}}],
            "in 'plan' (1 records), 'json.plan' (1 records); give tree_path=\"plan\"",
        ),
        (
            [{"stages": [TREE, TREE]}],
            "in lists of objects (1 records); write a record for each tree",
        ),
        # children that are single objects
        (
            [{"op": "+", "left": {"op": "x", "n": 1}, "right": {"op": "y"}, "by": {"name": "A"}}],
            "under 'left', 'right'; children_key=[\"left\", \"right\"] reads them",
        ),
        (
            [{"operator": "a", "input": {"operator": "b", "input": {"operator": "c"}}}],
            "like their parents under 'input'; children_key=[\"input\"] reads them as children",
        ),
        (
            [
                {
                    "stage": 1,
                    "inputs": [{"stage": 2, "inputs": [], "in": {"stage": 1, "in": {"n": 1}}}],
                }
            ],
            'children_key=["inputs", "in"] reads them as children, "inputs" as columns',
        ),
        # lists of nodes
        (
            [{"tree": [{"token": "a", "children": [1, 2]}, {"token": "b"}, {"token": "c"}]}],
            'children under \'tree\'; children_key="children" and tree_path="tree"',
        ),
        (
            [[{"type": "Module", "children": [1]}, {"type": "x"}, 0]],
            'children_key="children" reads them',
        ),
        ([{"type": "Module", "children": [1]}, {"type": "x"}], "the indices of their children; ch"),
        (
            [{"plan": [{"class": "A", "num-children": 1}, {"class": "B", "num-children": 0}]}],
            'children under \'plan\'; children_key="num-children" and tree_path="plan"',
        ),
    ],
)
def test_doubtful_records_are_refused(records: list[Any], message: str) -> None:
    with pytest.raises(TreeError) as caught:
        infer_layout(records)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_single_nodes_and_objects_that_are_columns() -> None:
    for record in ({"op": 1}, {"op": 1, "children": []}, {"name": "a", "author": {"name": "b"}}):
        assert infer_layout([record]) is None
    similar = {"id": 1, "name": "a"}
    records = [{**similar, "user": similar, "query": {**similar}, "plan": TREE}]
    assert infer_layout(records) == ("plan", ("Plans",))  # they are next to the tree


def test_several_keys_are_given() -> None:
    record = {"expr": {"op": "+", "left": {"op": "x"}, "right": {"op": "*", "left": {"op": 1}}}}
    assert infer_layout([record], keys=["left", "right"]) == ("expr", ("left", "right"))


@pytest.mark.parametrize(
    ("nodes", "key"),
    [
        ([{"n": 0, "k": [1, 3]}, {"n": 1, "k": [2]}, {"n": 2}, {"n": 3}, 0], "k"),
        ([{"n": 2}, {"n": 0, "k": [2, 3]}, {"n": 1, "k": [0]}, {"n": 3, "k": []}], "k"),
        ([{"n": 0, "k": 2}, {"n": 1, "k": 1}, {"n": 2, "k": 0}, {"n": 3}], "k"),
    ],
)
def test_lists_of_nodes_are_nested(nodes: list[Any], key: str) -> None:
    leaf = {"n": 2, "k": []}
    assert nest_nodes(nodes, key) == {"n": 0, "k": [{"n": 1, "k": [leaf]}, {"n": 3, "k": []}]}


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            [{"k": [1]}, {"k": [0]}],
            "expected one root, and other nodes once under 'k', got 0 roots",
        ),
        (
            [{"k": [1, 1]}, {}],
            "expected one root, and other nodes once under 'k', got 1 roots of 2",
        ),
        ([{"k": [2]}, {}], "node 0: expected indices of nodes under 'k', from 0 to 1, got 2"),
        ([{"k": [1]}, 3], "node 1: expected an object for each node, got 3"),
        (
            [{"k": 1}, {"k": 0}, {"k": 0}],
            "node 2: expected 2 nodes by the numbers under 'k', got 3",
        ),
        ([{"k": 2}, {"k": 0}], "expected more nodes by the numbers under 'k', got 2"),
    ],
)
def test_lists_that_are_no_trees(nodes: list[Any], message: str) -> None:
    with pytest.raises(TreeError) as caught:
        nest_nodes(nodes, "k")
    assert str(caught.value).startswith(message)


def test_a_deep_list_and_a_deep_record() -> None:
    nodes: list[dict[str, Any]] = [{"num-children": 1} for _ in range(10_000)]
    nodes[-1]["num-children"] = 0
    root = nest_nodes(nodes, "num-children")
    assert infer_layout([root]) == ("", ("num-children",))
    while root["num-children"]:  # freed one by one: older Pythons free what is nested by recursion
        root = root["num-children"][0]
    shared = {"x": 1, "children": [NODE]}
    record: dict[str, Any] = {"children": [shared, shared]}
    record["children"][0]["children"].append(record)
    assert infer_layout([record]) == ("", ("children",))
