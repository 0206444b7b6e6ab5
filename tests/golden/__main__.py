"""Compare the package with the records in ``tests/golden/records``: ``make golden``.

Computed numbers are equal to a relative 1e-4, all else is equal. With names of presets, these alone
are compared. ``--base COMMIT`` trains the presets with that commit too, on this machine, and
compares all bits of parameters and losses.
"""

import argparse
import difflib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from safetensors.torch import load_file
from torch import Tensor

from tests.golden import outputs
from tests.golden.presets import preset_names

ROOT = Path(__file__).parents[2]
RECORDS = Path(__file__).parent / "records"
BY_TASK = ("settings", "parameters")
"""Records in which a row that all presets of a task share is written once, below ``all``."""
COMPUTED = ("losses", "predictions", "commands")
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
Rows = dict[str, Any]


class _Dumper(yaml.SafeDumper):
    """Writes a text line by line, and a list in one line."""

    def represent_scalar(self, tag: str, value: Any, style: str | None = None) -> yaml.ScalarNode:
        return super().represent_scalar(tag, value, "|" if "\n" in str(value) else style)

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> Any:
        return super().represent_sequence(tag, sequence, flow_style=True)


def train(names: list[str], out: Path, root: Path, jobs: int) -> dict[str, Rows]:
    """Train presets with the package in ``root``; return what ``presets.py`` found, by name."""
    out.mkdir()
    env = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    script = [sys.executable, str(Path(__file__).with_name("presets.py")), str(out)]
    parts = [f"{job}/{jobs}" for job in range(jobs)]
    processes = [subprocess.Popen([*script, part, *names], env=env) for part in parts]
    if sum(each.wait() for each in processes):
        raise SystemExit(2)
    return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(out.glob("*.json"))}


def current(names: list[str], jobs: int) -> dict[str, Rows]:
    """Return the records of this state of the package, or the rows of some presets alone."""
    with tempfile.TemporaryDirectory() as folder:
        trained = train(names, Path(folder) / "now", ROOT, jobs)
    found: dict[str, Rows] = {
        kind: {name: row[kind] for name, row in trained.items()}
        for kind in ("settings", "parameters", "losses")
    }
    for name, row in found["losses"].items():
        found["losses"][name] = row if isinstance(row, str) else outputs.rounded(row)
    if not names:
        found |= {"help": outputs.helps(found["settings"]), "commands": outputs.outputs()}
        found |= {"predictions": outputs.predictions(), "names": outputs.public_names()}
    return found


def write(found: Mapping[str, Rows]) -> None:
    """Write the records."""
    RECORDS.mkdir(exist_ok=True)
    for kind, rows in found.items():
        if kind in BY_TASK:
            parts: dict[str, Rows] = {}
            for name, row in rows.items():
                parts.setdefault(found["settings"][name]["task"], {})[name] = row
            rows = {task: _shared(part) for task, part in parts.items()}
        text = yaml.dump(rows, Dumper=_Dumper, width=100, allow_unicode=True)
        (RECORDS / f"{kind}.yaml").write_text(text, encoding="utf-8")


def _shared(part: Rows) -> Rows:
    first, *others = part.values()
    both = {key: x for key, x in first.items() if all(row.get(key, ...) == x for row in others)}
    own = {name: {k: x for k, x in row.items() if k not in both} for name, row in part.items()}
    return {"all": both, **own}


def recorded(kind: str, names: list[str]) -> Rows:
    """Return a record, or its rows of some presets."""
    rows: Rows = yaml.load((RECORDS / f"{kind}.yaml").read_text("utf-8"), yaml.CSafeLoader)
    if kind in BY_TASK:
        parts = [(part.pop("all"), part) for part in rows.values()]
        rows = {name: {**shared, **row} for shared, part in parts for name, row in part.items()}
    return {name: row for name, row in rows.items() if name in names or not names}


def same(before: Any, now: Any) -> bool:
    """Return whether computed numbers are equal but for rounding, and all else is equal."""
    left, right = NUMBER.split(str(before)), NUMBER.split(str(now))
    return left[::2] == right[::2] and all(map(_close, left[1::2], right[1::2]))


def _close(one: str, two: str) -> bool:
    """Counts are equal; a number of four decimals or more may differ in the last one."""
    if one == two or not {".", "e"} & {*one, *two}:
        return one == two
    decimals = min(len(re.sub(r"e.*", "", text).partition(".")[2]) for text in (one, two))
    last = 1.01 * 10.0**-decimals if decimals > 3 else 1e-6
    return math.isclose(float(one), float(two), rel_tol=1e-4, abs_tol=last)


def differences(before: Any, now: Any, computed: bool, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield what differs: a key, and the values."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted({*before, *now}):
            old, new = before.get(name, "missing"), now.get(name, "missing")
            yield from differences(old, new, computed, f"{key}, {name}")
    elif before != now and not (computed and same(before, now)):
        old, new = ("..." if isinstance(each, dict) else str(each) for each in (before, now))
        lines = [*difflib.ndiff(old.splitlines(), new.splitlines())]
        if len(lines) < 5:
            yield key, f"{old} -> {new}"
        else:
            lines = [line for line in lines if line[0] in "-+"]
            yield key, "\n    ".join(["", *lines[:10], *(["..."] if lines[10:] else [])])


def compare(kind: str, before: Rows, now: Rows) -> bool:
    """Print the differences of a record, equal ones of several presets once; return if any."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in sorted({*before, *now}):
        old, new = before.get(name, "missing"), now.get(name, "missing")
        for difference in differences(old, new, kind in COMPUTED):
            found.setdefault(difference, []).append(name)
    for (key, values), names in found.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        print(f"{kind} of {', '.join(names[:3])}{more}{key}: {values}")
    return bool(found)


def compare_base(commit: str, names: list[str], jobs: int) -> bool:
    """Train presets with two states of the package; return whether a bit differs."""
    worktree, different = ["git", "-C", str(ROOT), "worktree"], False
    with tempfile.TemporaryDirectory() as folder:
        base, sides = Path(folder) / "base", (Path(folder) / "before", Path(folder) / "now")
        subprocess.run([*worktree, "add", "-q", "--detach", str(base), commit], check=True)
        try:  # with its own entry points
            egg_info = [sys.executable, "setup.py", "-q", "egg_info"]
            subprocess.run(egg_info, cwd=base, check=True, stderr=subprocess.DEVNULL)
            before, now = train(names, sides[0], base, jobs), train(names, sides[1], ROOT, jobs)
        finally:
            subprocess.run([*worktree, "remove", "--force", str(base)], check=True)
        for name in sorted({*before, *now}):
            if name not in before or name not in now:
                found = [f"skipped, only {'now' if name in now else f'in {commit}'}"]
            elif isinstance(error := now[name]["losses"], str) and not before[name]["parameters"]:
                found = [f"skipped, cannot be trained: {error}"]
            else:
                found = list(_bits(before[name], now[name], [side / name for side in sides]))
                different |= bool(found)
            print(f"{name}: {'; '.join(found) or 'equal'}")
    return different


def _bits(before: Rows, now: Rows, runs: list[Path]) -> Iterator[str]:
    """Yield the differences of two runs."""
    if before["losses"] != now["losses"]:
        yield f"losses {before['losses']} -> {now['losses']}"
    if before["parameters"] != now["parameters"]:
        rows = [{*row["parameters"].items()} for row in (before, now)]
        yield f"parameters {sorted(rows[0] - rows[1])} -> {sorted(rows[1] - rows[0])}"
    elif before["parameters"]:
        old, new = (load_file(run / "weights.safetensors") for run in runs)
        if changed := [name for name in sorted(old) if _bytes(old[name]) != _bytes(new[name])]:
            yield f"values of {', '.join(changed)}"


def _bytes(tensor: Tensor) -> bytes:
    return bytes(tensor.numpy().tobytes())


def main() -> bool:
    """Compare or write; return whether something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("names", nargs="*", help="presets; default: all, and all other records")
    parser.add_argument("--write", action="store_true", help="write all records")
    parser.add_argument("--base", metavar="COMMIT", help="compare with a commit, bit by bit")
    parser.add_argument("--jobs", type=int, default=1, help="processes that train")
    asked = parser.parse_args()
    if unknown := {*asked.names} - {*preset_names()}:
        parser.error(f"expected presets, got {', '.join(unknown)}")
    if asked.base:
        return compare_base(asked.base, asked.names, asked.jobs)
    found = current([] if asked.write else asked.names, asked.jobs)
    if asked.write:
        write(found)
        return False
    changed = [compare(kind, recorded(kind, asked.names), rows) for kind, rows in found.items()]
    return any(changed)


if __name__ == "__main__":
    sys.exit(main())
