import csv
import json
from pathlib import Path

import numpy as np
import pytest

from dgltrees import TreeError
from dgltrees.formats import RecordLayout, guess_format, read
from tests.formats.test_jsonl import PLAN, lines
from tests.trees.nested import assert_same, names_of, write

LAYOUT = RecordLayout(tree_path="json.Plan", children_key="Plans")


def table(path: Path) -> Path:
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "json", "sql"])
        rows.writerow([7, json.dumps([PLAN], indent=1), "SELECT 1"])
        rows.writerow([8, json.dumps({"Plan": {"Rows": 1}}), ""])
    return path


def test_plans_in_a_column(tmp_path: Path) -> None:
    path = table(tmp_path / "plans.csv")
    assert guess_format(path) == "rows"
    examples = read(path, "rows", layout=LAYOUT)
    plain = read(
        write(tmp_path, lines(PLAN, {"Plan": {"Rows": 1}})),
        "jsonl",
        layout=RecordLayout(tree_path="Plan", children_key="Plans"),
    )
    assert examples.forest.columns.keys() == plain.forest.columns.keys()
    np.testing.assert_array_equal(examples.forest.parent, plain.forest.parent)
    assert examples.columns["line"][0] == 2
    assert examples.columns["line"][1] == 2 + json.dumps([PLAN], indent=1).count("\n") + 1
    assert examples.columns["id"].tolist() == ["7", "8"]
    assert examples.columns["sql"].tolist() == ["SELECT 1", None]
    np.testing.assert_array_equal(examples.columns["json.Execution Time"], [12, np.nan])
    assert examples.columns["json.Settings.jit"].tolist() == ["off", None]


def test_the_depth_of_a_plan_is_no_node_table(tmp_path: Path) -> None:
    path = tmp_path / "plans.csv"
    path.write_text('json,depth\n"{""op"": ""a""}",1\n')
    examples = read(path)
    assert names_of(examples.forest, "op") == ["a"]
    assert examples.columns["depth"].tolist() == [1]
    path.write_text('plan\n"[\n {""Plan"": {""op"": 1, ""Plans"": [{""op"": 2}]}}]"\n')  # pretty
    assert read(path).forest.columns["op"].tolist() == [1, 2]


def test_parquet_says_the_same(tmp_path: Path) -> None:
    from pyarrow import csv, parquet

    text = table(tmp_path / "plans.csv")
    options = csv.ParseOptions(newlines_in_values=True)
    parquet.write_table(csv.read_csv(text, parse_options=options), tmp_path / "plans.parquet")
    assert guess_format(tmp_path / "plans.parquet") == "rows"
    examples, plain = (
        read(path, "rows", layout=LAYOUT) for path in (tmp_path / "plans.parquet", text)
    )
    for each in (examples, plain):
        each.columns["line"][:] = [1, 2]
    assert examples.columns["sql"].tolist() == ["SELECT 1", ""]
    examples.columns["sql"][1] = None  # an empty cell of CSV is missing
    assert_same(examples, plain)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (
            RecordLayout(tree_path="plan"),
            "such as json or json.Plan, got plan; the columns are id, json, sql",
        ),
        (
            RecordLayout(tree_path="sql"),
            ":2: expected a tree as JSON in column 'sql', got \"SELECT 1\"; for a table with a",
        ),
        (
            RecordLayout(tree_path="json.plan"),
            ":2: expected the root under 'json.plan', got the keys Plan, ",
        ),
    ],
)
def test_paths_that_lead_nowhere(tmp_path: Path, layout: RecordLayout, message: str) -> None:
    path = tmp_path / "plans.csv"
    path.write_text('id,json,sql\n1,"{""Plan"": 1, ""Plans"": [{}]}",SELECT 1\n')
    with pytest.raises(TreeError) as caught:
        read(path, "rows", layout=layout)
    assert str(caught.value).startswith(f"{path}:")
    assert message in str(caught.value)
