"""The tests under other conditions: ``python -m tests.everywhere [ROW ...]``.

Each row is a fresh clone of the last commit, with other variables, users, folders or interpreters;
where a row of several conditions fails, try the test that failed under each.
A row that has passed at this commit is not repeated, so an interrupted matrix continues. Rows of
interpreters install what the tests need in an environment that is deleted afterwards.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.deletion import ROOT, install

RESULTS = ROOT / "build" / "everywhere.json"
STRANGER = 12345
"""The number of a user who is not root and owns nothing else."""
ORDER = "DGLTREES_TEST_ORDER"
"""The seed of a random order of the tests, which is a variable so that every worker has it."""


@dataclass(frozen=True)
class Row:
    """A condition under which the tests must pass."""

    about: str
    variables: Mapping[str, str] = field(default_factory=dict)
    tests: Sequence[str] = ("tests", "--ignore", "tests/papers")
    folder: str = "clone"
    busy: int = 0
    stranger: bool = False
    python: str = ""
    needs: str = ""


def _numpy_plain() -> str:
    """What numpy chooses by processor, all of it."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return " ".join(name for name in __cpu_dispatch__ if __cpu_features__.get(name))


PLAIN = {
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "NPY_DISABLE_CPU_FEATURES": _numpy_plain(),
    "NUMBA_CPU_NAME": "generic",
}
ALL = ("tests",)

ROWS = {
    "first": Row("all tests, as they are", tests=ALL),
    "plain": Row(
        "no instructions that only newer processors have, one thread, hash seed 0, random order 1, "
        "a path with a space and an umlaut, files of the user's in the clone",
        {**PLAIN, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", ORDER: "1"},
        folder="mit Lücke",
    ),
    "stranger": Row(
        "not root, a home that is read-only, umask 077, Nepal's time, locale C, AVX2, two threads, "
        "hash seed 1, random order 2",
        {
            "TZ": "Asia/Kathmandu",
            "LC_ALL": "C",
            "ATEN_CPU_CAPABILITY": "avx2",
            "OMP_NUM_THREADS": "2",
            "PYTHONHASHSEED": "1",
            ORDER: "2",
        },
        stranger=True,
        needs="AVX2",
    ),
    "avx512": Row("AVX-512", {"ATEN_CPU_CAPABILITY": "avx512"}, needs="AVX512"),
    "busy": Row("eight busy processes next to it", busy=8),
    "python3.10": Row("Python 3.10", python="python3.10"),
    "python3.13": Row("Python 3.13, which has no DGL", python="python3.13"),
    "last": Row("all tests, random order 3", {ORDER: "3"}, tests=ALL),
}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle the tests: files, and tests within a file, so that fixtures of a file are shared."""
    draw = random.Random(os.environ[ORDER])
    places = {name: draw.random() for name in sorted({item.location[0] for item in items})}
    draw.shuffle(items)
    items.sort(key=lambda item: places[item.location[0]])


def _clone(row: Row, temporary: Path) -> tuple[Path, Path]:
    """A clone of the last commit, and its interpreter."""
    folder = temporary / row.folder
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    if row.folder != "clone":
        for name in ("run", "data", ".venv.user"):
            (folder / name).mkdir()
            (folder / name / "file.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
        (folder / "predictions.jsonl").write_text('{"prediction": 1}\n', encoding="utf-8")
        (folder / "notes.log").write_text("notes\n", encoding="utf-8")
    if not row.python:
        return folder, install(folder)
    python = temporary / "venv" / "bin" / "python"
    subprocess.run([row.python, "-m", "venv", str(temporary / "venv")], check=True)
    constraint = str(folder / ".ci" / "constraints.txt")
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "-c", constraint, "-e", f"{folder}[test]"],
        check=True,
    )
    return folder, python


def run(row: Row) -> str:
    """The last line of pytest, and the names of tests that failed."""
    with tempfile.TemporaryDirectory() as name:
        temporary = Path(name)
        temporary.chmod(0o755)
        folder, python = _clone(row, temporary)
        command = [
            str(python),
            "-m",
            "pytest",
            "-q",
            "-n",
            "auto",
            "--dist",
            "loadfile",
            *row.tests,
        ]
        command += ["-p", "tests.everywhere"] if ORDER in row.variables else []
        variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | row.variables
        if row.stranger:
            home = temporary / "home"
            home.mkdir(mode=0o555)
            (temporary / "tmp").mkdir()
            for path in (folder, temporary / "tmp"):
                subprocess.run(["chown", "-R", f"{STRANGER}:{STRANGER}", str(path)], check=True)
            variables |= {"HOME": str(home), "TMPDIR": str(temporary / "tmp")}
            user = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups"]
            command = [*user, "sh", "-c", 'umask 077; exec "$@"', "sh", *command]
        busy = [
            subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(row.busy)
        ]
        try:
            done = subprocess.run(
                command, cwd=folder, env=variables, capture_output=True, text=True, check=False
            )
        finally:
            for process in busy:
                process.kill()
    (RESULTS.parent / "everywhere.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    lines = done.stdout.splitlines() or done.stderr.splitlines()
    failed = [line for line in lines if re.match("FAILED|ERROR", line)]
    return "\n".join([*failed, lines[-1] if lines else f"status {done.returncode}"])


def _missing(row: Row) -> str:
    """Why this machine cannot run a row, or nothing."""
    capability = torch.backends.cpu.get_cpu_capability()
    if row.needs and row.needs not in {capability, "AVX2" * (capability == "AVX512")}:
        return f"this processor has no {row.needs}"
    if row.python and not shutil.which(row.python):
        return f"there is no {row.python}"
    if row.stranger and os.geteuid():
        return "only root can become another user"
    return ""


def main() -> None:
    """Run the rows that are named, or all, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []])
    names = parser.parse_args().rows or [*ROWS]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    RESULTS.parent.mkdir(exist_ok=True)
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    print(f"numpy {np.__version__}, torch {torch.__version__}, commit {commit}")
    for name in names:
        row = ROWS[name]
        known = results.get(name, {})
        if known.get("commit") != commit or "failed" in known["result"]:
            begun = time.monotonic()
            result = _missing(row) or run(row)
            known = {"commit": commit, "result": result, "s": round(time.monotonic() - begun)}
            results[name] = known
            RESULTS.write_text(json.dumps(results, indent=1), encoding="utf-8")
        print(f"{name}: {row.about}\n    {known['s']} s: {known['result']}", flush=True)
    sys.exit(any("failed" in results[name]["result"] for name in names))


if __name__ == "__main__":
    main()
