from pathlib import Path

import pytest

from dgltrees import ConfigError, TreeError, load
from dgltrees.formats import FORMATS
from dgltrees.training.run import train
from tests.training.samples import quick

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
