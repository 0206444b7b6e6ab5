"""Train the small runs of ``datasets/results/quick_checks.yaml`` again, and compare the numbers.

``python -m tests.papers.results PRESET`` trains one, or all without a name; with ``--write`` the
file gets the new numbers.
"""

import argparse
import contextlib
import io
import json
import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from dgltrees.cells.compiled.kernels import compiled
from dgltrees.cli import main

RESULTS = Path(__file__).parents[2] / "datasets" / "results"
QUICK_CHECKS = RESULTS / "quick_checks.yaml"
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("presets", nargs="*")
    parser.add_argument("--write", action="store_true", help="write new numbers to the file")
    asked = parser.parse_args()
    sys.exit(not compare(asked.presets, write=asked.write))
