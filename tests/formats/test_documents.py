import codecs
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from dgltrees import ConfigError, TreeError, load, read
from dgltrees.formats import FORMATS, guess_format
from dgltrees.training.run import train
from tests.formats.table import SAMPLES
from tests.training.samples import quick
from tests.trees.nested import assert_same

SOURCE = """
class Tree:
    def size(self):
        return 1 + sum(map(len, self))

    async def wait(self):
        def inner(): pass
"""


def test_functions_of_files_and_folders(tmp_path: Path) -> None:
    form = FORMATS["python-functions"]
    for file, text in (("a/x.py", SOURCE), ("a/empty.py", ""), ("b/y.py", "def f(a): return a\n")):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
    one = form.read(tmp_path / "a" / "x.py")
    names = ["Tree.size", "Tree.wait", "Tree.wait.<locals>.inner"]
    assert one.columns["name"].tolist() == names
    assert one.columns["line"].tolist() == [3, 6, 7]
    labels = one.forest.vocabs["label"].decode(one.forest.columns["label"][one.forest.roots])
    assert labels == ["FunctionDef", "AsyncFunctionDef", "FunctionDef"]
    both = form.read(tmp_path, trees=2)
    assert both.columns["name"].tolist() == [*names, "f"]
    assert both.columns["label"].tolist() == ["a", "a", "a", "b"]
    assert both.columns["file"].tolist() == ["a/x.py"] * 3 + ["b/y.py"]
    files = {
        "train": str(tmp_path),
        "valid": str(tmp_path),
        "format": "python-functions",
        "min_freq": 1,
    }
    train(quick("classify", {**files, "target": "label", "features": ["field"]}), tmp_path / "run")
    run = load(tmp_path / "run")
    file = tmp_path / "a" / "x.py"
    for where in (tmp_path / "*" / "x.py", tmp_path, tmp_path / "[ab]"):
        lines = list(run.predict([where]))[:3]
        places = [(line["file"], line["name"], line["line"]) for line in lines]
        assert places == [(str(file), name, at) for name, at in zip(names, (3, 6, 7))]
    files["train"] = str(tmp_path / "[ab]")
    with pytest.raises(TreeError, match=r"x.py:3: tree 0: .* 'label' .*; name the folder above"):
        train(quick("classify", {**files, "target": "label"}), tmp_path / "none")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.svg", "<svg xmlns='http://www.w3.org/2000/svg'><g/></svg>"),
        ("a.rss", "\n<?xml-stylesheet href='a.css'?>\n<rss><g/></rss>"),
        ("a.sqlplan", '<?xml version="1.0" encoding="utf-16"?><ShowPlanXML><g/></ShowPlanXML>'),
        ("a", "<!DOCTYPE page>\n<page><g/></page>"),
        ("a.xml", "<p:a xmlns:p='x'><g/></p:a>"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_xml_is_known_by_its_first_bytes(
    tmp_path: Path, name: str, text: str, encoding: str, packed: Callable[[bytes], bytes]
) -> None:
    mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
    data = text.strip() if "?xml " in text else text
    (tmp_path / name).write_bytes(packed(mark + data.encode(encoding)))
    assert guess_format(tmp_path / name) == "xml"
    assert read(tmp_path / name).forest.parent.tolist() == [-1, 0]


@pytest.mark.parametrize("name", ["jsonl", "mrg", "conllu", "rows", "nodes", "json-records"])
def test_text_of_utf_16(tmp_path: Path, name: str) -> None:
    """PowerShell writes it."""
    form, text = FORMATS[name], SAMPLES[name].text.replace("add", "äöü")
    for file, encoding in (("a", "utf-8"), ("b", "utf-16")):
        (tmp_path / file).write_bytes(text.encode(encoding))
    assert_same(form.read(tmp_path / "b"), form.read(tmp_path / "a"))
    (tmp_path / "b").write_bytes(text.encode("utf-16") + b"x")
    with pytest.raises(TreeError, match="b: expected UTF-16 text, as its first bytes say, got: "):
        form.read(tmp_path / "b")


def test_sources_without_functions(tmp_path: Path) -> None:
    form = FORMATS["python-functions"]
    (tmp_path / "x.py").write_text("x = 1\n")
    for path in (tmp_path, tmp_path / "x.py"):
        with pytest.raises(TreeError, match="expected Python source with a function, got none"):
            form.read(path)
    (tmp_path / "x.py").write_text("def f(:\n")
    with pytest.raises(TreeError, match=r"x.py:1: expected Python source, got"):
        form.read(tmp_path)
    with pytest.raises(ConfigError, match="expected a file, got -; only these formats"):
        form.read("-")
