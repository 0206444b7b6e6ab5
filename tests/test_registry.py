"""A package of somebody else adds one of each kind: a file and an entry point each."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoints
from pathlib import Path

import pytest
from safetensors.torch import load_file

from dgltrees.errors import ConfigError
from dgltrees.registry import Registry, missing_paper
from tests.training.samples import CLASSIFY

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / "howto" / name for name in ("write_cell.md", "extend.md")]
QUICK = ["--model.hidden_size=4", "--training.epochs=1", "--training.accelerator=cpu"]
OF_PAGES = {
    "cells": {"max": "small.max_rnn:MaxTreeRNN"},
    "aggregators": {"fading_sum": "small.fading_sum:FadingSum"},
    "tasks": {"balanced": "small.balanced:BALANCED"},
    "formats": {"parents": "small.parents:PARENTS"},
    "commands": {"count": "small.count:count"},
}
"""What the files of the pages on custom parts define."""
ENTRIES = {
    **OF_PAGES,
    "encoders": {"wide": "small.wide:WideSettings"},
    "presets": {"small": "small.presets:PRESETS"},
    "generators": {"ones": "small.ones:make_ones"},
}
FILES = {
    "presets.py": 'PRESETS = {"balanced": {"about": "Rare classes.", "task": "balanced"}}\n',
    "wide.py": '''
from dataclasses import dataclass
from dgltrees.models.sequence_encoder import BagEncoder
from dgltrees.settings import Count
from dgltrees.tasks.sequences import EncoderSettings

@dataclass(frozen=True)
class WideSettings(EncoderSettings):
    """A wide bag of nodes."""
    hidden_size: Count
    width: Count = 2
    """Size of a vector, as a multiple of hidden_size."""

    def __call__(self, inputs):
        return BagEncoder(inputs, self.width * self.hidden_size)
''',
    "ones.py": '''
from pathlib import Path
import torch

if torch.cuda.device_count() > 99:
    NAME = "many"
else:
    NAME = "one"

@torch.no_grad()
def make_ones(out: str, *, name: str = NAME) -> dict[str, Path]:
    """Write a tree of one node.

    Arguments:
        out: file to write.
        name: name of the node.
    """
    Path(out).write_text(f"{name}/-1\\n")
    return {"ones": Path(out)}
''',
}
BROKEN = {
    "cells": {"lstm": "broken.cells:LSTM", "gone": "broken.cells:Gone", "text": "json:dumps"},
    "formats": {"gone": "broken.formats:GONE"},
    "commands": {"gone": "broken.commands:gone"},
    "tasks": {"blind": "broken:BLIND"},
}
BROKEN_FILES = {
    "__init__.py": """
from dgltrees.tasks.custom_trees.classes import CLASSIFY
from dgltrees.tasks.task import Task
BLIND = Task("blind", CLASSIFY.data, CLASSIFY.model, {})
""",
    "cells.py": "raise RuntimeError('no such device')\n",
}


def install(folder: Path, name: str, entries: Mapping[str, Mapping[str, str]]) -> Path:
    """Write what an installer writes for a package; the folder of its modules."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = []
    for kind, rows in entries.items():
        lines += [f"[dgltrees.{kind}]", *(f"{key} = {place}" for key, place in rows.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    package = folder / name
    package.mkdir()
    (package / "__init__.py").write_text("")
    return package


COMMANDS = """
import contextlib, io, json, sys
from dgltrees.cli import main
for argv in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(argv)
    print(json.dumps([status, out.getvalue(), err.getvalue()]))
"""


def outputs(folder: Path, *commands: list[str]) -> list[tuple[int, str, str]]:
    """Status, output and errors of commands where the packages of a folder are installed."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(commands)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def test_a_package_adds_one_of_each(tmp_path: Path) -> None:
    package = install(tmp_path, "small", ENTRIES)
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    places = {place for rows in OF_PAGES.values() for place in rows.values()}
    for path, body in re.findall(r"```python\n# (\S+/\S+)\n(.*?)```", text, re.DOTALL):
        (package / Path(path).name).write_text(body, encoding="utf-8")
        places = {each for each in places if not each.startswith(f"small.{Path(path).stem}:")}
    assert not places
    for name, body in FILES.items():
        (package / name).write_text(body, encoding="utf-8")

    helped, presets, cell, rank, draw, ones, made, counted, trained = outputs(
        tmp_path,
        ["--help"],
        ["presets"],
        ["train", "balanced", "--model.cell", "max", "--model.mean", "0.1", "--help"],
        ["show", "balanced"],
        ["draw", "--help"],
        ["make-data", "ones", "--help"],
        ["make-data", "ones", "--out", "one.parents"],
        ["count", "one.parents"],
        ["train", *CLASSIFY, "--model.encoder=wide", "--model.width=3", *QUICK, "--out", "run"],
    )
    assert re.search(r"  count +Print the number of trees of a file: count FILE", helped[1])
    assert re.search(r"^balanced +balanced +child_sum", presets[1], re.MULTILINE)
    assert "--model.mean\n      Weight lambda of the mean over the children" in cell[1]
    assert rank[1].startswith("# Rare classes.\n")
    assert " parents" in draw[1]
    assert "default: one)" in ones[1]
    assert made[:2] == (0, "one.parents\n")
    assert counted[:2] == (0, "1\n")
    assert trained[0] == 0, trained[2]
    assert load_file(tmp_path / "run" / "weights.safetensors")["encoder.layer.bias"].shape == (12,)


def test_broken_entries_are_named_and_everything_else_works(tmp_path: Path) -> None:
    package = install(tmp_path, "broken", BROKEN)
    for name, body in BROKEN_FILES.items():
        (package / name).write_text(body)
    (tmp_path / "blind.yaml").write_text("task: blind\n")
    (tmp_path / "tree.json").write_text('{"a": 1}')
    train = ["train", "classify", "--help", "--model.cell"]
    helped, cell, text, unknown, blind, drawn, gone = outputs(
        tmp_path,
        ["--help"],
        [*train, "gone"],
        [*train, "text"],
        [*train, "lstn"],
        ["show", "blind.yaml"],
        ["draw", "tree.json"],
        ["gone"],
    )
    start = "the package broken announces"
    assert helped[0] == 0
    assert "  train  " in helped[1]
    assert f"{start} 'gone' in dgltrees.commands as broken.commands:gone" in helped[2]
    assert f"{start} 'gone' in dgltrees.cells as broken.cells:Gone, which cannot be used" in cell[2]
    assert "RuntimeError: no such device" in cell[2]
    assert f"{start} 'lstm' in dgltrees.cells (broken.cells:LSTM), a name that dgltrees has" in (
        "".join(each[2] for each in (cell, text, unknown))
    )
    assert "json:dumps, which cannot be used: it is not a subclass of BaseCell" in text[2]
    assert "expected model.cell to be one of" in unknown[2]
    assert f"{start} 'blind' in dgltrees.tasks as broken:BLIND" in blind[2]
    assert "it has no reader" in blind[2]
    assert drawn[0] == 0
    assert f"{start} 'gone' in dgltrees.formats" in drawn[2]
    assert gone[0] == 2
    assert all(
        line.startswith("dgltrees: ")
        for each in (helped, cell)
        for line in each[2].split("\n")
        if line
    )


def test_objects_are_added_and_removed_in_place() -> None:
    registry: Registry[object] = Registry("shapes", {"tree": "dgltrees.trees:Forest"})
    registry["mine"] = int
    assert list(registry) == ["tree", "mine"]
    del registry["tree"], registry["mine"]
    assert not registry
    with pytest.raises(KeyError):
        registry["tree"]
    registry["tree"] = str
    assert dict(registry.items()) == {"tree": str}
    with pytest.raises(KeyError):
        del registry["bush"]
    with pytest.raises(ConfigError, match="'tree' in dgltrees.shapes .* nothing has no docstring"):
        Registry("shapes", {"tree": "dgltrees.trees:nothing"}).summary("tree")


def test_names_of_papers_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(module: str) -> Path:
        raise ImportError(module)

    monkeypatch.setattr("dgltrees.registry.source_file", missing)
    assert (
        missing_paper("mee-lstm")
        == "the paper rrnet (dgltrees.papers.rrnet), which is not installed"
    )
    assert "nti" in missing_paper("sst-tree")
    assert missing_paper("regress") == missing_paper("meek") == ""


def test_a_paper_that_is_there_and_not_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dgltrees.registry.source_file", lambda module: tmp_path)
    monkeypatch.setattr("dgltrees.registry._all_entry_points", lambda: EntryPoints(()))
    assert "rrnet), which this installation does not announce; install" in missing_paper("mee-lstm")
    assert missing_paper("regress") == ""
