"""The package as people get it: its source distribution, its start, folders that are read-only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import dgltrees
from tests.training.samples import CLASSIFY

PACKAGE = Path(dgltrees.__file__).parent
ROOT = PACKAGE.parent


def _python(
    *argv: str, cwd: Path = ROOT, environment: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *argv],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_source_distribution_has_all_that_the_tests_need(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    unwanted = shutil.ignore_patterns(".*", "build", "dist", "demo", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=unwanted)
    (copy / ".ci").mkdir()
    done = _python("setup.py", "-q", "sdist", cwd=copy)
    assert done.returncode == 0, done.stderr
    (archive,) = (copy / "dist").iterdir()
    with tarfile.open(archive) as file:
        packed = {name.partition("/")[2] for name in file.getnames()}
    rooms = ("dgltrees", "tests", "datasets", "notebooks")
    needed = [path for room in rooms for path in (copy / room).rglob("*") if path.is_file()]
    needed += [path for path in copy.iterdir() if path.is_file()]
    assert {str(path.relative_to(copy)) for path in needed} <= packed


@pytest.mark.parametrize(
    "code",
    [
        "import dgltrees; dir(dgltrees)",
        "from dgltrees.cli import main; main(['--help'])",
        "from dgltrees.cli import main; main(['--version'])",
    ],
)
def test_the_start_needs_no_torch(code: str) -> None:
    slow = "{'torch', 'dgl', 'numpy', 'numba', 'yaml'}"
    done = _python("-c", f"{code}; import sys; assert not {slow} & set(sys.modules)")
    assert done.returncode == 0, done.stderr


def test_without_a_folder_for_machine_code_cells_are_compiled_in_memory(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    # A file in place of a folder cannot be written to, by an administrator neither.
    (tmp_path / "home").touch()
    home = {name: str(tmp_path / "home") for name in ("HOME", "XDG_CACHE_HOME")}
    environment = {**os.environ, **home, "NUMBA_CACHE_DIR": ""}
    argv = ["-m", "dgltrees", "train", *CLASSIFY, "--training.epochs=1", "--training.compile"]
    argv += ["--training.accelerator=cpu", "--data.limit=20", "--out", str(tmp_path / "run")]
    done = _python(*argv, environment=environment)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "NUMBA_CACHE_DIR" in line]
    assert len(lines) == 1
    assert "compiled cells are not kept on disk" in lines[0]
    assert "compiling for this processor" in done.stderr
