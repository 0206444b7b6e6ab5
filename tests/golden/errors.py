"""Every text of an error or a warning of the package that the test suite meets.

The module is a plugin of pytest too (``-p tests.golden.errors``), which writes the texts of its
process into the folder ``GOLDEN_ERRORS`` names; :func:`record` runs the suite with it.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import currently_in_test_context

from dgltrees.errors import ConfigError, TreeError

ROOT = Path(__file__).parents[2]
_FOLDER = "GOLDEN_ERRORS"

_met: set[tuple[str, str]] = set()


def _meet(kind: str, text: str) -> None:
    """Note a text; drawn examples change with the source of their test, so their texts do not
    count."""
    if not currently_in_test_context():
        _met.add((kind, text))


def _noting(cls: type[Exception]) -> None:
    """Let a class of errors note the text of every error that is made."""
    make = cls.__init__

    @functools.wraps(make)
    def init(self: Exception, *args: Any, **options: Any) -> None:
        make(self, *args, **options)
        _meet(cls.__name__, str(self))

    setattr(cls, "__init__", init)  # noqa: B010 - mypy refuses to assign a method


def _warning(warn: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(warn)
    def noted(
        message: Any, category: Any = None, stacklevel: int = 1, *args: Any, **o: Any
    ) -> None:
        if sys._getframe(1).f_globals.get("__name__", "").startswith("dgltrees"):
            _meet("warning", str(message))
        warn(message, category, stacklevel + 1, *args, **o)

    return noted


def pytest_configure(config: pytest.Config) -> None:
    """Note texts, in the workers of xdist too."""
    if _FOLDER in os.environ:
        _noting(ConfigError)
        _noting(TreeError)
        warnings.warn = _warning(warnings.warn)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Write the texts of this process."""
    if _FOLDER in os.environ:
        path = Path(os.environ[_FOLDER], f"{os.getpid()}.json")
        path.write_text(json.dumps(sorted(_met)), encoding="utf-8")


def _plain(text: str, base: str) -> str:
    """The text without what differs from run to run: folders, addresses, checksums of files with
    these, processes and cores; of letters in a row, one."""
    text = re.sub(rf"{re.escape(base)}(/popen-gw\d+)?(/[^/\s'\":,]+)?", "<tmp>", text)
    text = re.sub(rf"{re.escape(tempfile.gettempdir())}/tmp\w+", "<tmp>", text)
    text = text.replace(str(ROOT), "<root>").replace(sys.prefix, "<python>")
    text = re.sub(r"0x[0-9a-f]{6,}", "0x", text)
    text = re.sub(r"SHA-256 was \w+…, is \w+…", "SHA-256 was #…, is #…", text)
    text = re.sub(r"process \d+ on [\w.-]+", "process # on #", text)
    text = re.sub(r"has \d+ cores", "has # cores", text)
    return re.sub(r"([^\s\\])\1{49,}", r"\1...", text)


def record(*options: str) -> dict[str, Any]:
    """The texts, each with what it belongs to, from a run of the suite in two processes."""
    with tempfile.TemporaryDirectory() as folder:
        base, notes = str(Path(folder, "base")), Path(folder, "notes")
        notes.mkdir()
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile"]
        command += ["-p", "tests.golden.errors", f"--basetemp={base}", "--ignore=tests/golden"]
        environment = {**os.environ, _FOLDER: str(notes), "PYTHONPATH": str(ROOT)}
        run = subprocess.run([*command, *options], cwd=ROOT, env=environment, stdout=sys.stderr)
        if run.returncode not in (0, 1):
            raise RuntimeError(f"pytest ends with {run.returncode}")
        kinds: dict[str, set[str]] = {}
        for path in notes.iterdir():
            for kind, text in json.loads(path.read_text(encoding="utf-8")):
                kinds.setdefault(_plain(text, base), set()).add(kind)
    return {text: ", ".join(sorted(kinds[text])) for text in sorted(kinds)}
