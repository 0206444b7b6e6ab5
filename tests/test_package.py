from __future__ import annotations

import ast
import importlib.util
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import dgltrees
from dgltrees._files import replacing

ROOT = Path(dgltrees.__file__).parent
ROOMS = [
    *("errors", "_files", "_json", "_dgl", "_progress", "_shortcuts", "_tables", "_collector"),
    *("registry", "settings"),
    *("trees", "trees.builders"),
    *("formats", "formats.synthetic", "draw", "traversal"),
    *("cells", "cells.aggregators", "cells.compiled"),
    *("models", "metrics", "tasks", "training", "estimators", "analyses"),
    *("commands", "cli", "papers"),
]
"""Every room imports from those before it, and from itself."""
TOGETHER = {
    ("cells", "cells.aggregators"): "a cell is a gate and an aggregator",
    ("cells", "cells.compiled"): "the package registers the compiled ways when it is imported",
}
"""Imports of a later room, and why."""


def room_of(module: str) -> str:
    """The room of a module without its package: ``"cells.compiled.plans.rows"``."""
    parts = module.split(".")
    names = (".".join(parts[:stop]) for stop in range(len(parts), 0, -1))
    return next((name for name in names if name in ROOMS), "")


def imports(path: Path) -> list[str]:
    """Modules, and names in them, but for those that only a type checker imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.If)]
    typing = {id(each) for n in nodes if ast.unparse(n.test) == "TYPE_CHECKING" for each in n.body}
    for node in ast.walk(tree):
        if id(node) in typing:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found


def test_one_module_imports_dgl() -> None:
    """The others may name its types for the type checker, or its functions in functions."""
    for path in ROOT.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top = [n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
        names = [a.name for n in top if isinstance(n, ast.Import) for a in n.names]
        names += [n.module or "" for n in top if isinstance(n, ast.ImportFrom)]
        if path.name != "_dgl.py":
            assert not [n for n in names if n.split(".")[0] == "dgl"], path


def test_builders_import_the_libraries_of_their_trees_when_they_are_called() -> None:
    always = {"__future__", "dgltrees", "numpy", "torch"}
    for path in (ROOT / "trees" / "builders").rglob("*.py"):
        top = ast.parse(path.read_text(encoding="utf-8")).body
        names = {a.name for n in top if isinstance(n, ast.Import) for a in n.names}
        names |= {n.module or "" for n in top if isinstance(n, ast.ImportFrom)}
        others = {name.split(".")[0] for name in names} - always
        for name in others:
            spec = importlib.util.find_spec(name)
            assert spec is not None
            assert "site-packages" not in (spec.origin or ""), path


def test_a_room_imports_only_from_rooms_before_it() -> None:
    backward = set()
    for path in ROOT.rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        here = room_of(module)
        if here in ("", "cli"):
            continue
        names = [name.partition(".")[2] for name in imports(path) if name.startswith("dgltrees.")]
        for there in {room_of(name) for name in names} - {""}:
            if ROOMS.index(there) > ROOMS.index(here) and (here, there) not in TOGETHER:
                backward.add((module, there))
    assert backward == set()


def test_a_broken_dgl_is_named_where_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "dgl").mkdir()
    (tmp_path / "dgl" / "__init__.py").write_text("raise OSError('no such library')")
    code = "from dgltrees import Forest; Forest.build([-1]).batch().graph"
    path = os.pathsep.join([str(tmp_path), str(ROOT.parent)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "TreeBatch.graph needs DGL, and importing it failed: OSError: no such" in done.stderr
    assert re.search(r"pip install ('dgl>=1.1.3,<2' packaging|dgl==2.1.0)", done.stderr)


def test_dgl_is_imported_without_its_graphbolt(tmp_path: Path) -> None:
    """Which is there for other versions of torch."""
    (tmp_path / "dgl" / "graphbolt").mkdir(parents=True)
    (tmp_path / "dgl" / "__init__.py").write_text("from . import graphbolt")
    (tmp_path / "dgl" / "function.py").touch()
    (tmp_path / "dgl" / "graphbolt" / "__init__.py").write_text("raise FileNotFoundError")
    code = "from dgltrees._dgl import dgl; print(dgl.graphbolt.__doc__)"
    path = os.pathsep.join([str(tmp_path), str(ROOT.parent)])
    environment = {**os.environ, "PYTHONPATH": path}
    argv = [sys.executable, "-c", code]
    assert subprocess.check_output(argv, env=environment, text=True) == "Empty.\n"


def test_files_are_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    with replacing(path) as file:
        file.write("first\n")
    with pytest.raises(RuntimeError), replacing(path) as file:
        file.write("second\n")
        raise RuntimeError
    assert path.read_bytes() == b"first\n"
    assert os.listdir(path.parent) == ["file.txt"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o444 == 0o444 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
