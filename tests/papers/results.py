"""Trains the small runs of `datasets/*.md` again, and compares with what the pages say.

``python -m tests.papers.results NAME`` takes one, or every one without a name. A run is a block of
a page: its name, a command, and a line for each number of its result.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dgltrees.cells.compiled.kernels import compiled
from dgltrees.cli import main

PAGES = Path(__file__).parents[2] / "datasets"
BLOCK = re.compile(r"(?ms)^```results (\S+)\n(.*?)\n((?:^[\w.]+ \S+\n)+)```$")
TOLERANCE = 0.005
"""Of a number, as a part of it: rounding differs between machines, and grows with every step."""


@dataclass(frozen=True)
class SmallRun:
    """A small run that a page describes."""

    name: str
    page: str
    command: str
    numbers: dict[str, float]
    """By the keys of the result: ``valid.accuracy``."""

    def train(self) -> dict[str, float]:
        """The same numbers of a new run, whose cells are not compiled: that takes longer than it.

        Compiled cells draw other dropout, so that results would differ.

        Raises:
            SystemExit: the command failed.
        """
        _, *words = shlex.split(self.command)
        words = [word.replace("datasets/", f"{PAGES}/") for word in words]
        printed = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, compiled(False):
            with contextlib.redirect_stdout(printed):
                status = main([*words, "--out", f"{folder}/run"])
            if status:
                raise SystemExit(status)
        result = json.loads(printed.getvalue())
        return {key: result[key.split(".")[0]][key.split(".")[1]] for key in self.numbers}


def small_runs() -> dict[str, SmallRun]:
    """The small runs of all pages, by their names."""
    runs = {}
    for page in sorted(PAGES.glob("*.md")):
        for name, command, lines in BLOCK.findall(page.read_text(encoding="utf-8")):
            pairs = (line.split() for line in lines.splitlines())
            numbers = {key: float(value) for key, value in pairs}
            runs[name] = SmallRun(name, page.name, command.replace("\\\n", ""), numbers)
    return runs


def differs(page: float, now: float) -> bool:
    """Whether a number is another one than the page's, beyond rounding."""
    return abs(now - page) > TOLERANCE * abs(page)


def compare(names: list[str]) -> bool:
    """Train runs again and print page and result; whether all are alike."""
    runs = small_runs()
    alike = True
    for name in names or runs:
        if name not in runs:
            raise SystemExit(f"no results {name!r}; the pages have {', '.join(runs)}")
        run, now = runs[name], runs[name].train()
        for key, number in run.numbers.items():
            note = "" if not differs(number, now[key]) else "  differs"
            alike &= not note
            print(f"{name}  {key}  page {number:.6g}  now {now[key]:.6g}{note}")
    return alike


if __name__ == "__main__":
    sys.exit(not compare(sys.argv[1:]))
