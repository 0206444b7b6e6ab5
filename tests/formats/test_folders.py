from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dgltrees import ConfigError, Forest, LabeledTrees, TreeError
from dgltrees.formats import FORMATS, RecordLayout, guess_format
from dgltrees.formats.lines import gather
from tests.trees.nested import assert_same, names_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of Python files and lines of JSON."""
    for name, text in {
        "b/one.py": "x = 1\n",
        "b/deep/two.py": "y\n",
        "a/plans.jsonl": '{"label": "p"}\n{"label": "q"}\n',
        "top.json": "[1]",
        "a/README": "no trees",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_labels_from_folders(folder: Path) -> None:
    assert guess_format(folder) == "folder"
    examples = FORMATS["folder"].read(folder)
    files = ["a/plans.jsonl", "a/plans.jsonl", "b/deep/two.py", "b/one.py", "top.json"]
    assert examples.columns["file"].tolist() == files
    assert examples.columns["label"].tolist() == ["a", "a", "b", "b", None]
    roots = [names_of(examples.forest, "label")[root] for root in examples.forest.roots]
    assert roots == ["p", "q", "Module", "Module", None]
    for trees in (1, 2, 3):
        chunks = list(FORMATS["folder"].chunks(folder, trees))
        assert max(map(len, chunks)) <= trees
        assert_same(gather(chunks), examples)


def test_a_file_has_labels_or_its_folder_gives_them(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    file = tmp_path / "a" / "plans.jsonl"
    file.write_text('{"tree": {}, "label": "own"}\n{"tree": {}}\n')
    layout = RecordLayout(tree_path="tree")
    for trees in (1, 2):  # a chunk without labels is no file without labels
        examples = gather(FORMATS["folder"].chunks(tmp_path, trees, layout))
        assert examples.columns["label"].tolist() == ["own", None]
    file.write_text('{"tree": {}}\n{"tree": {}, "label": "own"}\n')
    with pytest.raises(TreeError, match="plans.jsonl: expected labels in the first examples too"):
        list(FORMATS["folder"].chunks(tmp_path, 1, layout))


def test_saved_forests_in_folders_of_classes(tmp_path: Path) -> None:
    for label in "ab":
        Forest.build([-1, 0], columns={"x": [1, 2]}).save(tmp_path / label / "trees")
    examples = FORMATS["folder"].read(tmp_path)
    assert examples.columns["label"].tolist() == ["a", "b"]
    assert examples.forest.columns["x"].tolist() == [1, 2, 1, 2]


def test_attributes_of_xml_are_nodes_or_said(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text('<a><b c="3">x</b></a>')
    with pytest.warns(UserWarning, match="attributes of XML elements are ignored; set attribut"):
        assert FORMATS["folder"].read(tmp_path).forest.num_nodes == 2
    forest = FORMATS["folder"].read(tmp_path, layout=RecordLayout(attributes=True)).forest
    assert names_of(forest, "label") == ["a", "b", "@c"]
    assert names_of(forest, "value") == [None, "x", "3"]


def test_a_layout_is_read_by_the_files_that_have_it(tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "plans.jsonl").write_text('{"plan": {"x": 1, "Plans": [{"x": 2}]}}\n')
    (tmp_path / "one.jsonl").write_text('{"plan": {"x": 3}, "label": "own"}\n')
    (tmp_path / "table.csv").write_text("key,parent,x\n1,,4\n2,1,5\n")
    layout = RecordLayout(tree_path="plan", children_key="Plans", node_id="key")
    examples = FORMATS["folder"].read(tmp_path, layout=layout)
    assert examples.columns["label"].tolist() == ["good", "own", None]
    assert examples.forest.columns["x"].tolist() == [1, 2, 3, 4, 5]
    assert examples.forest.parent.tolist() == [-1, 0, -1, -1, 0]
    (tmp_path / "table.csv").unlink()
    with pytest.raises(ConfigError, match="got depth; leave it out"):
        FORMATS["folder"].read(tmp_path, layout=replace(layout, node_id=None, depth="d"))


def test_documents_are_records_if_most_of_them_have_trees(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.json").write_text('{"v": [1, {"x": 2}]}')
    (tmp_path / "plan.json").write_text('{"plan": {"kids": [{"kids": [{"x": 1}]}]}}')
    read = FORMATS["folder"].read(tmp_path)
    assert read.forest.sizes.tolist() == [5, 5, 5, 7]
    for number in range(2):
        (tmp_path / f"{number}.json").unlink()
    with pytest.raises(
        TreeError, match=r"2.json:1: expected the root under 'plan', got the keys v"
    ):
        FORMATS["folder"].read(tmp_path)
    (tmp_path / "one.json").write_text(
        f"[{{}}, {{}}, {{}}, {(tmp_path / 'plan.json').read_text()}]"
    )
    assert guess_format(tmp_path / "one.json") == "json-records"  # in one file they are records
    for text, name in (('[{"children": [{"x": 2}]}]', "json-records"), ('[{"v": [{}]}]', "json")):
        (tmp_path / "one.json").write_text(text)
        assert guess_format(tmp_path / "one.json") == name


def test_files_with_unlike_columns(folder: Path) -> None:
    (folder / "a/more.jsonl").write_text('{"label": 3}\n')
    with pytest.raises(TreeError) as caught:
        FORMATS["folder"].read(folder)
    assert "expected column 'label' to hold numbers, as in " in str(caught.value)
    assert str(caught.value).endswith(f"got names in {folder / 'a/plans.jsonl'}")


def test_a_folder_without_trees(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="a folder with files of trees, got one without any$"):
        FORMATS["folder"].read(tmp_path)
    for name in ("a/x.js", "b.md", "LICENSE"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("no trees")
    with pytest.raises(TreeError, match="one without any; its files end in .js, .md, LICENSE$"):
        FORMATS["folder"].read(tmp_path)


def test_files_without_a_known_suffix_are_read_if_no_file_has_one(tmp_path: Path) -> None:
    for name, text in {
        "a/one.svg": "<?xml version='1.0'?><svg><g/></svg>",
        "a/two.svg": "<!-- a note -->\n<svg/>",
        "b/LICENSE": "no tree",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    examples = FORMATS["folder"].read(tmp_path)
    assert examples.columns["file"].tolist() == ["a/one.svg", "a/two.svg"]
    (tmp_path / "b/plan.json").write_text("[1]")
    assert FORMATS["folder"].read(tmp_path).columns["file"].tolist() == ["b/plan.json"]


def test_saved_forests(tmp_path: Path) -> None:
    forest = Forest.build([-1, 0, -1], offsets=[0, 2, 3], columns={"x": [1, 2, 3]})
    form = FORMATS["forest"]
    assert form.write is not None
    form.write(LabeledTrees(forest), tmp_path)
    assert guess_format(tmp_path) == "forest"
    for trees in (1, 2, 100):
        chunks = list(form.chunks(tmp_path, trees))
        assert max(map(len, chunks)) <= trees
        assert_same(gather(chunks), LabeledTrees(forest))
    pairs = LabeledTrees(Forest.concat([forest, forest]), {"y": np.array(["a", None])}, arity=2)
    form.write(pairs, tmp_path / "b")
    again = form.read(tmp_path / "b")
    assert (again.arity, again.columns["y"].tolist()) == (2, ["a", None])
