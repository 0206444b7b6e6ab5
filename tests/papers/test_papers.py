"""The papers as packages: the names that they register, and what they import."""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

import dgltrees.papers
from dgltrees.registry import PAPERS
from dgltrees.settings.catalog import preset_names
from dgltrees.settings.tasks import TASKS

FOLDERS = {
    folder: sorted(path.name for path in Path(folder).iterdir() if (path / "__init__.py").exists())
    for folder in (dgltrees.papers.__path__[0], str(Path(__file__).parent))
}
"""Those of the package and those of its tests, with the papers in each."""
INSTALLED = [paper for paper in PAPERS if find_spec(f"dgltrees.papers.{paper}") is not None]


def test_every_paper_has_its_names_and_tests() -> None:
    assert all(papers == sorted(INSTALLED) for papers in FOLDERS.values())


def test_names_of_papers_are_those_that_are_registered() -> None:
    starts = [start for words in PAPERS.values() for start in words.split()]
    assert len(starts) == len({*starts})
    if len(INSTALLED) == len(PAPERS):
        assert [name for name in starts if name not in {*TASKS, *preset_names()}] == []


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("paper", INSTALLED)
def test_no_paper_imports_another(folder: str, paper: str) -> None:
    others = {name for name in PAPERS if name != paper}
    for path in Path(folder, paper).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            parts = {part for name in names if ".papers." in name for part in name.split(".")}
            assert not parts & others, path
