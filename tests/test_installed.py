"""The package as people get it: its source distribution, its start, folders that are read-only."""

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
FOLDERS = ("dgltrees", "tests", "datasets", "notebooks", "docs")
FILES = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"),
    *("setup.cfg", "setup.py", "MANIFEST.in", "Makefile", "ruff.toml"),
)
"""Those at the root of a checkout; others in it are the user's."""


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
    for name in FOLDERS:
        shutil.copytree(
            ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", ".*")
        )
    for name in FILES:
        shutil.copy(ROOT / name, copy)
    (copy / ".ci").mkdir()
    done = _python("setup.py", "-q", "sdist", cwd=copy)
    assert done.returncode == 0, done.stderr
    (archive,) = (copy / "dist").iterdir()
    with tarfile.open(archive) as file:
        packed = {name.partition("/")[2] for name in file.getnames()}
    needed = [
        str(path.relative_to(copy))
        for name in FOLDERS[:-1]
        for path in (copy / name).rglob("*")
        if path.is_file()
    ]
    assert {*needed, *FILES} <= packed


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


def without_torch(words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command where torch cannot be imported; ``folder`` gets a module in its place."""
    (folder / "torch.py").write_text("raise ImportError('no torch here')")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    return _python("-m", "dgltrees", *words.split(), environment=environment)


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ("presets", 0, "regress"),
        ("show regress", 0, "task: regress"),
        ("train regress --help", 0, "--model.hidden_size"),
        ("make-data --help", 0, "usage"),
        ("trian", 2, "did you mean train?"),
        ("train regres --out here", 2, "did you mean regress"),
        ("train regress --model.hiden 3 --out here", 2, "did you mean model.hidden_size"),
    ],
)
def test_helps_lists_and_wrong_names_need_no_torch(
    words: str, status: int, says: str, tmp_path: Path
) -> None:
    done = without_torch(words, tmp_path)
    assert done.returncode == status, done.stderr
    assert says in (done.stderr if status else done.stdout)
    assert "no torch here" not in done.stderr


def test_what_only_training_or_dgl_needs_is_imported_there(tmp_path: Path) -> None:
    trees = "from dgltrees import TreeRegressor; "
    trees += "trees = [{'a': n / 9, 'children': [{'a': 1.0}]} for n in range(30)]; "
    fit = "TreeRegressor(epochs=1, hidden_size=2).fit(trees, range(30)).save('model')"
    predict = "TreeRegressor.load('model').predict(trees)"
    code = (
        ("import dgltrees.estimators", "lightning_fabric torch._dynamo numba dgl matplotlib"),
        (trees + fit, "dgl matplotlib"),
        (trees + predict, "lightning_fabric torch._dynamo dgl"),
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for each, unused in code:
        check = f"import sys; print(*set('{unused} networkx'.split()) & set(sys.modules))"
        done = _python("-c", f"{each}; {check}", cwd=tmp_path, environment=environment)
        assert (done.returncode, done.stdout) == (0, "\n"), done.stderr


def test_without_a_folder_for_machine_code_cells_are_compiled_in_memory(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    # A file in place of a folder cannot be written to, by an administrator neither.
    (tmp_path / "home").touch()
    home = {name: str(tmp_path / "home") for name in ("HOME", "XDG_CACHE_HOME")}
    environment = {**os.environ, **home, "NUMBA_CACHE_DIR": ""}
    argv = ["-m", "dgltrees", "train", *CLASSIFY, "--training.epochs=1", "--training.compile"]
    argv += [
        "--training.accelerator=cpu",
        "--data.max_train_examples=20",
        "--training.batch_size=32",
    ]
    argv += ["--out", str(tmp_path / "run")]
    done = _python(*argv, environment=environment)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "NUMBA_CACHE_DIR" in line]
    assert len(lines) == 1
    assert "compiled cells are not kept on disk" in lines[0]
    assert "compiling for this processor" in done.stderr
