import json
import re
from pathlib import Path
from typing import Any

import pytest

from dgltrees.draw import draw_file
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats import FORMATS, RecordLayout, guess_format
from tests.formats.table import SAMPLES
from tests.installed import installed_formats
from tests.trees.nested import write

LINES = {
    "lrt": (
        "<\t( not a )\t( b ( or c ) )",
        "example 0, tree 0 (target <)\nnot\n└─ a\n\nexample 0, tree 1 (target <)\nor\n├─ b\n└─ c",
    ),
    "conllu": (
        "# sent_id = 1\n1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_",
        "tree 0\n<root>\n└─ Go VERB VB root",
    ),
    "mrg": ("( (S (NN rain)\n  (VBZ falls)) )", "tree 0\nS\n├─ NN rain\n└─ VBZ falls"),
    "sst": ("(3 (2 so) (4 good))", "tree 0\n= 3\n├─ so  = 2\n└─ good  = 4"),
    "listops": ("5\t[SM 2 [MAX 3 1 ] ]", "tree 0\nSM  = 5\n├─ 2\n└─ MAX\n   ├─ 3\n   └─ 1"),
    "inex": ("2:17(5($) 6(7($)))", "tree 0\n17  = 2\n├─ 5\n└─ 6\n   └─ 7"),
    "boolsent": ("(1_OR 0 (1_AND 1 ) )", "tree 0\nOR  = 1\n├─ 0  = 0\n└─ AND  = 1\n   └─ 1  = 1"),
}
LINES = installed_formats(LINES)


DOCUMENTS = {
    "a.json": ('{"a": [1, null]}', "tree 0\nobject\n└─ a array\n   ├─ 1 number\n   └─ null"),
    "a.xml": ("<a><b>text</b><c/></a>", "tree 0\na\n├─ b text\n└─ c"),
    "a.py": (
        "x = 1\n",
        "tree 0\nModule\n└─ Assign body\n   ├─ Name x targets\n   └─ Constant 1 value",
    ),
}


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    """A file whose trees are the digits 0 to 9."""
    path = tmp_path / "digits.mrg"
    path.write_text("".join(f"(D {i})\n" for i in range(10)))
    return path


@pytest.mark.parametrize("name", LINES)
def test_formats_are_found_and_drawn(tmp_path: Path, name: str) -> None:
    line, text = LINES[name]
    path = tmp_path / "trees"
    path.write_text(f"\n{line}\n")
    assert guess_format(path) == name
    assert draw_file(path) == draw_file(path, format=name) == text


BRACKETS = {
    "( (S (NP (DT The) (NN film)) (. .)))": "mrg",
    "((A) ((fine) (film)))": "sst",
    "(2 (3 fine) (2 film))": "sst",
}


@pytest.mark.parametrize("line", [line for line, name in BRACKETS.items() if name in FORMATS])
def test_brackets_are_told_from_each_other(tmp_path: Path, line: str) -> None:
    (tmp_path / "trees").write_text(f"{line}\n")
    assert guess_format(tmp_path / "trees") == BRACKETS[line]


@pytest.mark.parametrize("name", SAMPLES)
def test_every_format_of_text_is_drawn(tmp_path: Path, name: str) -> None:
    sample = SAMPLES[name]
    drawing = draw_file(write(tmp_path, sample.text), format=name, trees=":")
    titles = re.findall(r"(?m)^(?:tree|example) (\d+)", drawing)
    assert {int(number) for number in titles} == set(range(sample.examples))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_are_one_tree(tmp_path: Path, name: str) -> None:
    document, text = DOCUMENTS[name]
    (tmp_path / name).write_text(document)
    assert draw_file(tmp_path / name) == text


def test_conll_x_without_comments_and_with_several_roots(tmp_path: Path) -> None:
    path = tmp_path / "trees.conll"
    path.write_text("".join(f"{i}\ta\t_\tX\tX\t_\t0\t_\t_\t_\n" for i in (1, 2)))
    assert guess_format(path) == "conllu"
    assert draw_file(path) == "tree 0\n<root>\n├─ a X X\n└─ a X X"
    assert draw_file(path, style="svg").startswith("<svg")


def test_python_in_the_encoding_it_declares(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes("# coding: latin-1\n'é'\n".encode("latin-1"))
    assert draw_file(tmp_path / "a.py").endswith("Constant 'é' value")


@pytest.mark.parametrize(
    ("trees", "numbers"),
    [("0:5", [0, 1, 2, 3, 4]), ("7", [7]), ("8:", [8, 9]), ("6, 1,1:3", [1, 2, 6]), (":2", [0, 1])],
)
def test_some_of_the_trees(digits: Path, trees: str, numbers: list[int]) -> None:
    assert re.findall(r"tree (\d)", draw_file(digits, trees=trees)) == [str(n) for n in numbers]
    assert draw_file(digits, trees=trees).endswith(f"\nD {numbers[-1]}")


def test_a_number_may_be_minus_one(tmp_path: Path) -> None:
    tree = {"op": "a", "children": [{"op": "b"}]}
    records = [json.dumps({"tree": tree, "target": y}) for y in (-1, 3)]
    (tmp_path / "numbers.jsonl").write_text("\n".join(records))
    assert re.findall("= .*", draw_file(tmp_path / "numbers.jsonl")) == ["= -1", "= 3"]


def test_the_file_is_read_no_further_than_needed(digits: Path) -> None:
    with open(digits, "a") as file:
        file.write("no tree\n")
    assert draw_file(digits, trees="1").endswith("\nD 1")
    with pytest.raises(TreeError, match=r"digits.mrg:11: "):
        draw_file(digits, trees=":")


def test_out_and_style(digits: Path, tmp_path: Path) -> None:
    path = tmp_path / "trees.mrg"
    path.write_text("(SM (D 2) (D 3))\n")
    for name, style, start in [
        ("a.svg", None, "<svg"),
        ("b.txt", None, "tree 0\nSM\n├─ D 2\n"),
        ("c.txt", "ascii", "tree 0\nSM\n|- D 2\n"),
    ]:
        text = draw_file(path, out=tmp_path / name, style=style)
        assert (tmp_path / name).read_text(encoding="utf-8").rstrip("\n") == text.rstrip("\n")
        assert text.startswith(start)
    assert draw_file(path, style="svg").startswith("<svg")
    assert "└─1─ D 3" in draw_file(path, positions="all")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"style": "png"}, "expected style to be one of text, ascii, svg, got 'png'"),
        ({"out": "x.png"}, "expected a path that ends in .svg or .txt, got 'x.png'"),
        ({"out": "x.txt", "style": "svg"}, "expected a path that ends in .svg for svg"),
        (
            {"format": "csv"},
            "expected format to be one of jsonl, nodes, arrow, rows, forest, folder, json-records",
        ),
        ({"trees": "a:b"}, "numbers and ranges such as 0:5 or 1,4,10:, got 'a:b'"),
        ({"trees": "-1"}, "numbers and ranges"),
        ({"trees": "0,3:1"}, "numbers and ranges"),
    ],
)
def test_errors_of_settings(digits: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        draw_file(digits, **arguments)


def test_errors_of_files(digits: Path, tmp_path: Path) -> None:
    with pytest.raises(TreeError, match=r"digits.mrg: expected trees from 0 to 9, got 12"):
        draw_file(digits, trees="0,12")
    with pytest.raises(TreeError, match="at most 3 nodes to draw as SVG, got 5"):
        draw_file(digits, style="svg", svg_limit=3)
    for source, message in [
        (b"#\n# \xff\n", "a.py:2: expected UTF-8 text, got the byte 0xff"),
        (b"#\n# coding: x\n", "a.py:2: expected Python source in .* declares, got: unknown enc"),
        (b"# coding: ascii\n\n\n'\xff'\n", "a.py:4: expected Python source in UTF-8 or the enc"),
        (b"a = 1\nb = '\0'\n", "a.py:2: tree 0: expected Python source, got: .*null byte"),
    ]:
        (tmp_path / "a.py").write_bytes(source)
        with pytest.raises(TreeError, match=message):
            draw_file(tmp_path / "a.py")
    prose = tmp_path / "prose.txt"
    prose.write_text("Once upon a time\n")
    with pytest.raises(TreeError, match=r"prose.txt: .* begins with 'Once upon a time'; if it is"):
        draw_file(prose)


def test_a_layout_says_where_the_trees_stand(tmp_path: Path) -> None:
    path = tmp_path / "plans.jsonl"
    path.write_text('{"plan": {"op": "join", "inputs": [{"op": "scan"}]}, "seconds": 3}\n')
    layout = RecordLayout(tree_path="plan", children_key="inputs")
    assert draw_file(path, layout=layout) == "tree 0\njoin\n└─ scan"
    with pytest.raises(ConfigError, match="fields of this format"):
        draw_file(path, layout=RecordLayout(depth="level"))
    records = [{"a": {"op": "x"}, "b": {"op": "y"}, "target": y} for y in (4.5, None)]
    path.write_text("\n".join(map(json.dumps, records)))
    drawn = draw_file(path, layout=RecordLayout(tree_path=("a", "b")))
    assert "example 0, tree 1 (target 4.5)\ny" in drawn
    assert "example 1, tree 0\nx" in drawn
