"""The guides to custom parts followed to the letter in a copy: one file and one row each."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from dgltrees.trees import Forest, Vocabulary
from tests.training.samples import PLANS, SAMPLES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / "howto" / name for name in ("write_cell.md", "extend.md")]
PROMISES = {
    "a cell": [
        *("dgltrees/cells/max_rnn.py", "dgltrees/cells/__init__.py"),
        *("tests/cells/table.py", "tests/cells/reference.py"),
    ],
    "an aggregator": [
        *("dgltrees/cells/aggregators/fading_sum.py", "dgltrees/cells/aggregators/__init__.py"),
        "tests/cells/reference.py",
    ],
    "a task": [
        *("dgltrees/tasks/custom_trees/balanced.py", "dgltrees/settings/tasks.py"),
        *("dgltrees/settings/presets.py", "tests/tasks/table.py"),
    ],
    "a format": [
        *("dgltrees/formats/parents.py", "dgltrees/formats/format.py"),
        "tests/formats/table.py",
    ],
    "a command": ["dgltrees/commands/count.py", "dgltrees/cli.py"],
}
"""The files that each asks for: new ones and those with a new row, of the package and of tests."""

TABLES = [
    *("tests/test_cli.py::test_wrong_settings_leave_nothing_behind", "tests/tasks/test_task.py"),
    "tests/tasks/test_laws.py",
    *("tests/settings/test_catalog.py", "tests/training/test_every_setting.py"),
    *("tests/cells/test_laws.py", "tests/cells/test_options.py", "tests/formats/test_format.py"),
    *("tests/cells/aggregators/test_dense.py", "tests/settings/test_resolve.py"),
]
"""The tests that walk the tables."""
ROWS = (
    "(max or fading or parents or balanced or table or every_task or test_wrong or a_preset_says)"
    " and not (a_chain or a_star)"
)
"""Of those the tests of the new rows, and those of whole tables."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and its tests with the files and rows of the pages."""
    folder = tmp_path_factory.mktemp("copy")
    for part in ("dgltrees", "tests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / part, folder / part, ignore=ignored)
    (folder / "datasets").symlink_to(ROOT / "datasets")
    for name in ("setup.cfg", "setup.py", "README.md"):
        shutil.copy(ROOT / name, folder)
    # papers are found by the entry points of the copy
    subprocess.run([sys.executable, "setup.py", "-q", "egg_info"], cwd=folder, check=True)
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    touched = []
    for path, body in re.findall(r"```python\n# (\S+/\S+)\n(.*?)```", text, re.DOTALL):
        assert not (folder / path).exists(), path
        (folder / path).write_text(body, encoding="utf-8")
        touched.append(path)
    for diffs in re.findall(r"```diff\n(.*?)```", text, re.DOTALL):
        for path, body in re.findall(r"--- (\S+)\n(.*?)(?=--- |\Z)", diffs, re.DOTALL):
            (folder / path).write_text(patched((folder / path).read_text(encoding="utf-8"), body))
            touched.append(path)
    assert sorted(touched) == sorted(file for files in PROMISES.values() for file in files)
    return folder


def patched(text: str, diff: str) -> str:
    """A text with the lines of a diff added, each below the line that stands above it there."""
    lines, at = text.splitlines(), -1
    for line in diff.splitlines():
        if line.startswith("+"):
            at += 1
            lines.insert(at, line[1:])
        else:
            at = lines.index(line[1:], at + 1)
    return "\n".join(lines) + "\n"


def test_the_tests_of_the_tables_pass_with_the_new_rows(copy: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-n", "0", *TABLES, "-k", ROWS],
        env={**os.environ, "PYTHONPATH": str(copy)},
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    for row in (
        *("test_equals_the_recursion[max-0.25]", "test_equals_the_recursion[lstm-fading_sum]"),
        *("test_it_learns[balanced]", "read_back[parents]"),
    ):
        assert f"{row} PASSED" in done.stdout


# Commands run one after the other in one process: torch takes seconds to import.
SERVER = """
import contextlib, io, json, sys
from dgltrees.cli import main
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(json.loads(line))
    print(json.dumps([status, out.getvalue(), err.getvalue()]), flush=True)
"""


class Result(NamedTuple):
    """Exit status, standard output and standard error of a command."""

    status: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture(scope="module")
def run(copy: Path) -> Iterator[Run]:
    """Runs commands of the copy."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        env={**os.environ, "PYTHONPATH": str(copy), "DGLTREES_DATA": str(SAMPLES)},
        cwd=copy,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def command(*argv: str) -> Result:
            assert server.stdin is not None
            assert server.stdout is not None
            print(json.dumps(argv), file=server.stdin, flush=True)
            return Result(*json.loads(server.stdout.readline()))

        yield command
        server.stdin.close()


_QUICK = ["--training.epochs=1", "--training.accelerator=cpu", "--data.max_train_examples=20"]
_SMALL = ["--model.hidden_size", "4", *_QUICK]


def words(preset: str) -> list[str]:
    """Words of a command line: a preset, and flags of its data."""
    found = [preset]
    for name, value in PLANS[preset].items():
        found += [f"--data.{name}", *(value if isinstance(value, list) else [str(value)])]
    return found


@pytest.mark.parametrize("preset", ["classify", "classify-nodes", "regress-pairs", "rank"])
def test_a_new_cell_trains_in_every_family_that_takes_it(
    run: Run, tmp_path: Path, preset: str
) -> None:
    trains_with_the_cell(run, words(preset), tmp_path)


def trains_with_the_cell(run: Run, argv: list[str], tmp_path: Path) -> None:
    """Train a preset with the new cell."""
    cell = ["--model.cell", "max", "--model.mean", "0.1"]
    done = run("train", *argv, *cell, *_SMALL, "--out", str(tmp_path / "run"))
    assert done.status == 0, done.err
    assert "\n  mean: 0.1\n" in (tmp_path / "run" / "config.yaml").read_text()


def test_a_new_aggregator_trains_and_refuses_values_out_of_range(run: Run, tmp_path: Path) -> None:
    cell = ["--model.cell", "lstm", "--model.aggregator", "fading_sum"]
    argv = ["train", *words("classify"), *cell, *_SMALL, "--out"]
    done = run(*argv, str(tmp_path / "run"), "--model.fade", "0.8")
    assert done.status == 0, done.err
    assert "\n  fade: 0.8\n" in (tmp_path / "run" / "config.yaml").read_text()
    assert "model.fade to be a number above 0, got 0" in run(*argv, "x", "--model.fade", "0").err


def test_the_help_has_the_new_cell_and_its_hyperparameter(run: Run) -> None:
    text = run("train", "classify", "--model.cell", "max", "--help").out
    assert "--model.mean\n      Weight lambda of the mean over the children" in text


def test_a_new_task_trains_and_reports_its_metric(run: Run, tmp_path: Path) -> None:
    labels, targets = Vocabulary("abc"), Vocabulary("xyz")
    forest = Forest.build(
        [-1, 0, 0] * 12,
        offsets=list(range(0, 37, 3)),
        columns={"label": [0, 1, 2] * 12, "target": [0, 1, 1, 2, 0, 1] * 6},
        vocabs={"label": labels, "target": targets},
    )
    forest.save(tmp_path / "trees")
    (tmp_path / "mine.yaml").write_text(f"task: balanced\ndata: {{train: {tmp_path}/trees}}\n")
    argv = ["train", str(tmp_path / "mine.yaml"), *_SMALL, "--out", str(tmp_path / "run")]
    done = run(*argv)
    assert done.status == 0, done.err
    assert 0 <= json.loads(done.out)["valid"]["balanced_accuracy"] <= 1
    assert "valid balanced accuracy" in done.err


def test_a_new_format_is_drawn_and_counted_by_a_new_command(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "two.parents"
    path.write_text("root/-1 left/0 right/0\nalone/-1\n")
    assert "left" in run("draw", str(path)).out
    assert run("count", str(path), "--least", "2").out == "1\n"
    assert "number of trees of a file" in run("--help").out
    path.write_text("root/-1 left/7\n")
    assert f"{path}:1: expected name/parent" in run("draw", str(path)).err
