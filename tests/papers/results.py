"""Train the runs of ``datasets/results`` again.

``python -m tests.papers.results PRESET`` trains a small run of ``quick_checks.yaml``, or all
without a name, and compares the numbers; with ``--write`` the file gets the new ones.

``python -m tests.papers.results FILE/TABLE`` lists the runs of a table with their commands, and
``FILE/TABLE NUMBER`` trains one of them in ``runs``, or continues it, and prints both results.
"""

import argparse
import contextlib
import io
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dgltrees.cells.compiled.kernels import compiled
from dgltrees.cli import main
from docs.results_table import load

RESULTS = Path(__file__).parents[2] / "datasets" / "results"
QUICK_CHECKS = RESULTS / "quick_checks.yaml"
PRESET = re.compile(r"([a-z][\w-]*(?: --.*?)?)(?: \(.*)?$")
"""Matches the cell of a preset with flags, and a remark in brackets."""
TOLERANCE = 0.005
"""Relative difference of a number: rounding differs between machines and grows with every step."""


@dataclass(frozen=True)
class SmallRun:
    """A command, and the numbers of its result as text."""

    preset: str
    command: str
    numbers: dict[str, str]
    """By the keys of the result: ``valid.accuracy``."""

    def train(self) -> dict[str, float]:
        """Return the same numbers of a new run, in one thread, whose cells are not compiled.

        Compilation takes longer than the run, and compiled cells draw other dropout.

        Raises:
            SystemExit: the command failed.
        """
        _, *words = shlex.split(self.command)
        words = [word.replace("datasets/", f"{RESULTS.parent}/") for word in words]
        printed = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, compiled(False):
            with contextlib.redirect_stdout(printed):
                status = main([*words, "--training.threads=1", "--out", f"{folder}/run"])
            if status:
                raise SystemExit(status)
        result = json.loads(printed.getvalue())
        return {key: result[key.split(".")[0]][key.split(".")[1]] for key in self.numbers}


def small_runs() -> dict[str, SmallRun]:
    """Return the runs of the file by their presets."""
    table = yaml.load(QUICK_CHECKS.read_text("utf-8"), yaml.BaseLoader)["quick_checks"]
    return {
        row["preset"]: SmallRun(row.pop("preset"), row.pop("command"), row)
        for row in (dict(row) for row in table["rows"])
    }


def differs(old: str, new: float) -> bool:
    """Return whether two numbers differ by more than rounding."""
    return abs(new - float(old)) > TOLERANCE * abs(float(old))


def compare(presets: list[str], *, write: bool) -> bool:
    """Train runs again and print the old and new numbers; return whether all are equal."""
    runs = small_runs()
    equal = True
    for preset in presets or runs:
        if preset not in runs:
            raise SystemExit(f"expected one of {', '.join(runs)}, got {preset!r}")
        run = runs[preset]
        new = run.train()
        for key, old in run.numbers.items():
            note = "  differs" if differs(old, new[key]) else ""
            equal &= not note
            print(f"{preset}  {key}  file {old}  now {new[key]:.6g}{note}")
            if note and write:
                text = QUICK_CHECKS.read_text("utf-8")
                row = f"{run.command}, {key}: "
                text = text.replace(f"{row}{old}", f"{row}{new[key]:.6g}")
                QUICK_CHECKS.write_text(text, "utf-8")
    return equal or write


def commands(table: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, str], str]]:
    """Yield rows and their commands: their own, or the table's with cells instead of words."""
    found = [PRESET.match(row.get("preset", "")) for row in table["rows"]]
    presets = " ".join(match[1] for match in found if match)
    for row, match in zip(table["rows"], found):
        command = table.get("command", "dgltrees train PRESET --out RUN" if match else "")
        command = f"{row['command']} --out RUN" if "command" in row else command
        if match or "PRESET" not in command.split():
            cells = {"seed": "0", **row, "preset": match and match[1], "presets": presets}
            words = {name.upper(): cell for name, cell in cells.items()}
            yield row, re.sub(r"\b[A-Z]+\b", lambda m, words=words: words.get(m[0], m[0]), command)


def repeat(name: str, number: str | None) -> None:
    """List the runs of a table, or train the one with a number and print both results."""
    file, _, table = name.partition("/")
    names = [f"{p.stem}/{key}" for p in sorted(RESULTS.glob("*.yaml")) for key in load(p.stem)]
    if name not in names:
        raise SystemExit(f"expected one of {', '.join(names)}, got {name!r}")
    runs = [
        (row, re.sub(r"\bRUN\b", f"runs/{table}-{i}", command))
        for i, (row, command) in enumerate(commands(load(file)[table]), 1)
    ]
    if number is None:
        print(*(f"{i}  {command}" for i, (_, command) in enumerate(runs, 1)), sep="\n")
        return
    if number not in map(str, range(1, len(runs) + 1)):
        raise SystemExit(f"expected a number from 1 to {len(runs)}, got {number!r}")
    row, command = runs[int(number) - 1]
    print(f"file: {json.dumps(row)}\n{command}", flush=True)
    for line in command.split("; "):
        if status := main(shlex.split(line)[1:]):
            raise SystemExit(status)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true", help="write new numbers to the file")
    asked = parser.parse_args()
    if asked.names and "/" in asked.names[0]:
        repeat(asked.names[0], *asked.names[1:] or [None])
    else:
        sys.exit(not compare(asked.names, write=asked.write))
