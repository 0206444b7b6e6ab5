from __future__ import annotations

import ast
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import dgltrees
from dgltrees._files import replacing

ROOT = Path(dgltrees.__file__).parent
ROOMS = ["errors", "_files", "_dgl", "trees", "traversal", "cells", "models", "tasks", "training"]


def imports(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node in ast.walk(tree):
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


@pytest.mark.parametrize("room", ROOMS[3:])
def test_a_room_imports_only_from_rooms_before_it(room: str) -> None:
    allowed = {*ROOMS[: ROOMS.index(room) + 1]}
    for path in (ROOT / room).rglob("*.py"):
        used = {n.split(".")[1] for n in imports(path) if n.startswith("dgltrees.")}
        assert not used & {*ROOMS} - allowed, path


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
    assert "torch>=2.2,<2.14, dgl>=1.1.3,<2" in done.stderr


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
