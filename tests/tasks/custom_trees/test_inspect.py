"""What ``inspect`` says of trees, and that the command that it proposes trains."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees import ConfigError, Forest, TreeError, inspect_trees, load_plans
from dgltrees.cli import main
from dgltrees.draw.files import draw_file
from dgltrees.formats import FORMATS, RecordLayout, read
from dgltrees.tasks.custom_trees.numbers import REGRESS_NODES
from dgltrees.tasks.custom_trees.settings import CustomTreesData
from dgltrees.trees import LabeledTrees, Vocabulary
from dgltrees.trees.summary import equal_trees, summarize_column
from tests.training.samples import SAMPLES

PLANS = SAMPLES / "plans" / "train.jsonl"
NAMES = ["Node Type", "Plan Rows", "Plan Width", "speed", "Table"]
QUICK = "--training.epochs 1 --model.hidden_size 4 --model.embedding 4 --data.baselines false"


def test_plans_are_described() -> None:
    plans = inspect_trees(PLANS)
    assert (plans.form, plans.complete) == ("jsonl", True)
    assert plans.layout == RecordLayout(tree_path="plan", children_key="Plans")
    records = [json.loads(line) for line in PLANS.read_text().splitlines()]
    assert plans.shapes.trees == len(records)
    assert plans.shapes.size[0] == 1
    kinds = {each.name: each.kind for each in plans.columns}
    assert kinds["Node Type"] == kinds["Table"] == "category"
    table = next(each for each in plans.columns if each.name == "Table")
    assert table.count + table.missing == plans.shapes.nodes
    seconds = next(each for each in plans.tree_columns if each.name == "seconds")
    assert seconds.range is not None
    assert seconds.range[::2] == (
        min(r["seconds"] for r in records),
        max(r["seconds"] for r in records),
    )
    assert str(plans.shapes.nodes) in str(plans)
    assert "Seq Scan" in plans.drawing.text


def test_dictionaries_are_inspected_as_their_file() -> None:
    records = [json.loads(line) for line in PLANS.read_text().splitlines()]
    of_file, of_list = inspect_trees(PLANS), inspect_trees(records)
    assert of_list.shapes == of_file.shapes
    assert of_list.columns == of_file.columns
    assert (of_list.target, of_list.layout) == (of_file.target, of_file.layout)


def test_copies_and_groups_that_a_random_split_separates_are_named() -> None:
    records = [json.loads(line) for line in PLANS.read_text().splitlines()]
    assert not any("GroupKFold" in each for each in inspect_trees(records).warnings)
    (text,) = (each for each in inspect_trees(records + records[:9]).warnings if "copies" in each)
    assert text.startswith("9 of 69 trees are copies of others")
    forest = Forest.from_objects([r["plan"] for r in records], "Plans")
    equal = equal_trees(forest)
    assert len(set(equal.tolist())) == len(records)
    assert (equal_trees(Forest.concat([forest, forest])) == np.tile(equal, 2)).all()
    grouped = [{**record, "query_id": n // 6} for n, record in enumerate(records)]
    (text,) = inspect_trees(grouped, target="seconds").warnings
    assert "60 trees have 10 different values of 'query_id'" in text
    assert text.endswith("the values of this column as groups")
    assert not inspect_trees(grouped, target="seconds", group="query_id").warnings
    templates = forest.with_columns({**forest.columns, "template": forest.tree_of_node // 6})
    (text,) = inspect_trees(templates).warnings[-1:]  # a column of nodes, as in a node table
    assert "60 trees have 10 different values of 'template'" in text


def test_only_the_first_trees_are_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "plans.jsonl"
    path.write_text(PLANS.read_text() + '{"plan": {"Plan Rows": "many"}}\n')
    some = inspect_trees(path, trees=7)
    assert (some.shapes.trees, some.complete) == (7, False)
    assert "the first 7 trees" in str(some)


@pytest.mark.parametrize(
    ("file", "target", "task"),
    [
        ("plans/train.jsonl", "seconds", "regress"),
        ("plans/train.jsonl", "speed", "classify"),
        ("plans/train.jsonl", "Node Type", "classify-nodes"),
        ("plans/train.jsonl", "Plan Rows", "regress-nodes"),
        ("plans/queries/train.jsonl", "seconds", "rank"),
        ("sick/relatedness_train.jsonl", "entailment_label", "classify-pairs"),
        ("sick/relatedness_train.jsonl", "relatedness_score", "regress-pairs"),
    ],
)
def test_the_proposed_command_trains(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    file: str,
    target: str,
    task: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    places = ["--tree_path", "first", "second"] if task.endswith("pairs") else []
    places += ["--group", "query"] if task == "rank" else []
    assert main(["inspect", str(SAMPLES / file), "--target", target, *places]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    program, *words = shlex.split(line)
    assert (program, words[:2]) == ("dgltrees", ["train", task])
    assert main([*words, *QUICK.split()]) == 0
    assert (tmp_path / "runs" / Path(file).stem / "weights.safetensors").exists()


def test_times_are_proposed_without_what_is_measured_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before classes; columns nearly equal to the target are left out by either kind of list."""
    plans, seconds = load_plans(40, return_X_y=True)
    records = []
    for plan, each in zip(plans, seconds.tolist()):
        measured = {"Actual Rows": 3, "Actual Loops": 1, "cpu": 1000 * each}
        node = {**plan, **measured, "speed": "s" if each > 0.1 else "f"}
        times = {"Planning Time": 0.1, "Execution Time": each}
        records.append({"Plan": node, **times, "slow": str(each > 0.1), "ok": "yes"})
    (tmp_path / "plans.json").write_text("\n".join(json.dumps([r], indent=2) for r in records))
    monkeypatch.chdir(tmp_path)
    found = inspect_trees("plans.json")
    assert found.target == "Execution Time"
    assert any("leaves them out: Actual Rows, Actual Loops, cpu" in each for each in found.warnings)
    assert not any("'ok'" in each for each in found.warnings)
    words = shlex.split(found.command)[1:]
    target = ["--data.target", found.target, "--data.features", *NAMES]
    target += ["--model.log_target", "true"]
    assert words[:-2] == ["train", "regress", "--data.train", "plans.json", *target]
    slow = inspect_trees("plans.json", target="slow", features={"Table": "none"})
    assert "--data.features.speed none --data.features.Table none" in slow.command
    assert inspect_trees("plans.json", features=["cpu"]).command.count("cpu") == 1
    assert main([*words, *QUICK.split()]) == 0
    capsys.readouterr()
    assert main(["predict", "runs/plans", "--input", "plans.json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(records)


def test_times_of_children_are_measured_with_the_target() -> None:
    """By names with underscores, and by values, which are the target's at other nodes."""
    times, inner = np.arange(1, 91) * 0.37 % 7, np.arange(90) % 3 < 2
    columns = {
        "seconds": times,
        "of_child": np.where(inner, np.roll(times, -1), 0.0),
        "of_another_tree": np.where(inner, np.roll(times, -4), 0.0),
    }
    forest = Forest.build(np.tile([-1, 0, 1], 30), offsets=np.arange(31) * 3, columns=columns)
    counted = forest.with_columns({**columns, "actual_rows": np.arange(90) % 11})
    found = inspect_trees(counted, target="seconds")
    assert any(text.endswith("out: actual_rows, of_child") for text in found.warnings)
    settings = CustomTreesData(target="seconds")
    with pytest.warns(UserWarning, match="the columns of_child look measured with the target, so"):
        REGRESS_NODES.examples(LabeledTrees(forest), settings, None)


def test_a_folder_of_source_files_with_a_label_beside_and_in_the_trees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for i in range(6):
        for name, source in (("loops", f"for x in y:\n    x += {i}\n"), ("sums", f"x = y + {i}\n")):
            file = tmp_path / "code" / name / f"{i}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source)
    monkeypatch.chdir(tmp_path)
    code = inspect_trees("code")
    assert code.target == "label"
    assert "label" in {each.name for each in code.columns}
    words = shlex.split(code.command)[1:]
    assert words[:2] == ["train", "classify"]
    assert main([*words, *QUICK.split()]) == 0
    capsys.readouterr()
    assert main(["predict", "runs/code", "--input", "code/sums/0.py"]) == 0
    assert json.loads(capsys.readouterr().out)["prediction"] in ("loops", "sums")
    some = inspect_trees("code/*/*.py")
    assert (some.shapes.trees, some.target) == (12, None)
    assert "--data.train 'code/*/*.py'" in some.command
    assert any("--format python-functions" in warning for warning in some.warnings)
    with pytest.raises(ConfigError, match="expected path to name a file, found none at"):
        inspect_trees("code/*.txt")


@pytest.mark.parametrize(
    ("records", "layout"),
    [
        ([{"name": "a", "children": [{"name": "b"}]}], RecordLayout("children", "")),
        (
            [{"name": "a"}, {"name": "a", "kids": [{"name": "b"}]}],
            RecordLayout("kids", ""),
        ),
        (
            [{"a": {"b": {"n": 1, "kids": [{"n": 2}, None]}}, "c": [1]}],
            RecordLayout(tree_path="a.b", children_key="kids"),
        ),
        ([{"up": [{"y": [{}, {}]}], "x": [{"x": [{"x": [{}]}]}]}], RecordLayout("x", "")),
        (
            [{"time": 1, "operator": [{"children": [{"children": []}]}]}],
            RecordLayout(tree_path="operator", children_key="children"),
        ),
        (
            [{"Plan": {"Node Type": "Result"}, "Execution Time": 1}],
            RecordLayout(tree_path="Plan", children_key="Plans"),
        ),
        ([{"name": "a"}], RecordLayout("children", "")),
        ([{"n": "a"}] * 150 + [{"n": "a", "parts": [{"n": "b"}]}], RecordLayout("parts", "")),
    ],
)
def test_the_layout_is_guessed(tmp_path: Path, records: list[Any], layout: RecordLayout) -> None:
    """By inspect, read and draw; a field that is given stays."""
    path = tmp_path / "trees.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert FORMATS["jsonl"].complete_layout([path], RecordLayout()) == layout
    assert inspect_trees(path).layout == layout
    assert inspect_trees(records).layout == layout
    trees = read(path)
    assert repr(trees) == repr(read(path, layout=layout))
    for key in ("tree_path", "children_key"):
        some = replace(RecordLayout(), **{key: getattr(layout, key)})
        assert FORMATS["jsonl"].complete_layout([path], some) == layout
    document = tmp_path / "trees.json"
    document.write_text(json.dumps(records, indent=1))
    assert repr(read(document, "json-records")) == repr(trees)
    assert draw_file(document, format="json-records", trees="0") == draw_file(path, trees="0")


def test_the_layout_of_json_in_a_table_is_guessed(tmp_path: Path) -> None:
    path = tmp_path / "trees.csv"
    path.write_text(
        'id,json\n1,"[{""Plan"": {""Plans"": [{}]}, ""Time"": 3}]"\n2,"{""Plan"": {}}"\n'
    )
    layout = FORMATS["rows"].complete_layout([path], RecordLayout())
    assert layout == RecordLayout(tree_path="json.Plan", children_key="Plans")
    columns = inspect_trees(path, target="id").tree_columns
    assert [each.name for each in columns] == ["id", "json.Time"]


@pytest.mark.parametrize(
    ("values", "warning"),
    [
        (["a"] * 30, "the same name in all rows"),
        ([f"n{i}" for i in range(30)], "an identifier"),
        ([*map(str, range(29)), "none"], "look like numbers"),
        ([*map(str, range(15))] * 2, "numbers as text"),
        (np.full(30, 2.0), "is 2 in all rows"),
        (np.arange(30), "numbers its rows"),
        (np.array([1.0, np.inf]), "infinite"),
        (["a", "b"] * 15, None),
        (["1", "2"] * 15, None),
        (np.array([1.0, np.nan]), None),
        (np.array([[1.0, 2.0]] * 30), None),
    ],
)
def test_warnings_of_columns(values: Any, warning: str) -> None:
    warnings = summarize_column("x", np.asarray(values)).warnings
    assert (warning is None) == (not warnings)
    assert warning is None or any(warning in each for each in warnings)


def test_numbered_classes_are_proposed_and_missing_ones_named() -> None:
    trees = [{"tree": {"op": "a", "args": [{"op": "b"}]}, "label": f"{n % 12}"} for n in range(48)]
    some = [{**each, "more": "xyz"[n % 3]} if n % 2 else each for n, each in enumerate(trees)]
    assert inspect_trees(some).target == "label"  # training needs the target of each tree
    del trees[7]["label"]
    found = inspect_trees(trees)
    assert found.target == "label"
    assert found.warnings[0].startswith("1 of 48 examples have no target 'label'")
    assert "classify" in found.command


def test_an_id_of_trees_and_trees_without_edges_are_named(tmp_path: Path) -> None:
    names = Vocabulary([f"q{i}" for i in range(30)])
    forest = Forest.build(
        np.tile([-1, 0], 30),
        offsets=np.arange(31) * 2,
        columns={
            "query": np.repeat(np.arange(30), 2),
            "x": np.arange(60) % 7,
            "row": 3 * np.arange(60),
        },
        vocabs={"query": names},
    )
    found = inspect_trees(forest)
    texts = ("'query' is the same in all nodes of a tree", "'row' numbers the nodes", "no likely")
    for text in texts:
        assert any(text in each for each in found.warnings)
    assert " --data.features x " in found.command
    rows = forest.with_columns({"row": np.arange(60)})
    assert "--data.features" not in inspect_trees(rows).command
    table = tmp_path / "trees.csv"
    table.write_text("tree,node,parent,op,cost\n1,1,,a,3\n1,2,1,b,4\n2,3,,a,5\n2,4,3,b,6\n")
    assert inspect_trees(table).target is None
    repeated = forest.with_columns(
        {"x": np.arange(60) % 7, "cost": np.repeat(np.arange(30) ** 1.5, 2)}
    )
    for target in (None, "cost"):
        found = inspect_trees(repeated, target=target)
        assert (found.target, found.tree_columns[-1].count) == ("cost", 30)
        assert "train regress " in found.command
    dots = LabeledTrees(Forest.build([-1, -1], offsets=[0, 1, 2]), {"target": np.array([0.5, 1.5])})
    assert any("one node" in each for each in inspect_trees(dots).warnings)


def test_a_list_of_records_and_a_table_with_columns_of_its_own(tmp_path: Path) -> None:
    records = [
        {"id": i, "page": {"tag": "p", "kids": [{"tag": "b"}] * i}, "spam": i % 2} for i in (1, 2)
    ]
    (tmp_path / "pages.json").write_text(json.dumps(records))
    one = inspect_trees(tmp_path / "pages.json")
    assert one.shapes.trees == 1
    assert any("--format json-records" in warning for warning in one.warnings)
    many = inspect_trees(tmp_path / "pages.json", format="json-records")
    assert (many.shapes.trees, many.layout) == (
        2,
        RecordLayout(tree_path="page", children_key="kids"),
    )
    (tmp_path / "pages.json").write_text(json.dumps([[i] for i in range(100)]))
    assert len([*inspect_trees(tmp_path / "pages.json").lines()]) < 70
    table = tmp_path / "steps.csv"
    table.write_text("order,step,after,what\na,1,,x\na,2,1,y\nb,3,,x\n")
    layout = RecordLayout(tree_id="order", node_id="step", parent="after")
    steps = inspect_trees(table, layout=layout)
    assert (steps.form, steps.shapes.trees, steps.shapes.nodes) == ("nodes", 2, 3)
    with pytest.raises(TreeError, match="parents or depths as the layout's parent or depth"):
        inspect_trees(table)


def test_words_that_may_mean_missing_values_are_counted(tmp_path: Path) -> None:
    table = tmp_path / "trees.csv"
    table.write_text("tree,id,parent,land,x\nq1,1,,NA,NA\nq1,2,1,DE,1\nq2,1,,NA,2\nq2,2,1,null,3\n")
    (text,) = [each for each in inspect_trees(table).warnings if "--missing" in each]
    assert text.startswith("column 'land' has 'NA' (2), 'null' (1) as names; if they mean missing")
    assert text.endswith("use --missing NA null")
    layout = RecordLayout(missing=("NA", "null"))
    assert not [e for e in inspect_trees(table, layout=layout).warnings if "--missing" in e]


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(
        TreeError, match="a target 'second', got the columns seconds, .*; did you mean seconds"
    ):
        inspect_trees(PLANS, target="second")
    many = [{"label": 1, **{f"c{i}": i for i in range(30)}, "children": [{}]}]
    with pytest.raises(TreeError, match="columns label, c0, .*, c18 and 11 more; name one with"):
        inspect_trees(many, target="speed")
    with pytest.raises(ConfigError, match="expected format to be one of"):
        inspect_trees(PLANS, format="csv")
    with pytest.raises(TreeError, match="at least one tree"):
        inspect_trees(Forest.build([], offsets=[0]))
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(TreeError, match="expected trees, got the directory of a trained run"):
        inspect_trees(tmp_path)
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(TreeError, match="empty"):
        inspect_trees(empty)


def test_a_node_column_with_the_name_of_the_target_is_no_leak(tmp_path: Path) -> None:
    for package in ("a", "b"):
        (tmp_path / package).mkdir()
        text = "".join(f"def f{n}(x):\n    return x + {n}\n" for n in range(6))
        (tmp_path / package / "m.py").write_text(text, encoding="utf-8")
    shown = inspect_trees(tmp_path, format="python-functions", target="label")
    assert "--data.target label" in str(shown)
    assert "leaves them out" not in str(shown)
