"""A grid of settings and seeds, each point a run that can be gone on with."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dgltrees._files import replacing
from dgltrees.errors import ConfigError
from dgltrees.tasks.table import get_task
from dgltrees.training.processes import is_first_process
from dgltrees.training.run import prepare, train_seeds
from dgltrees.training.rundir import write_json
from dgltrees.training.settings import Settings

__all__ = ["Point", "combinations", "run_points", "table", "without_flags"]


@dataclass(frozen=True)
class Point:
    """One place of the grid: the name of its folder, and its settings."""

    name: str
    settings: Settings


def combinations(grid: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """Every combination of ``SETTING=VALUE,VALUE ...``: the parts of its name, and its flags.

    Raises:
        ConfigError: an entry has another form, or a setting or a value is there twice.
    """
    axes, seen = [], set()
    for entry in grid:
        setting, equals, values = entry.partition("=")
        if not equals or not all(values.split(",")):
            raise ConfigError(f"expected --grid SETTING=VALUE,VALUE, got {entry!r}")
        if setting in seen or len(set(values.split(","))) < len(values.split(",")):
            raise ConfigError(f"expected every setting and value of --grid once, got {entry!r} too")
        seen.add(setting)
        axes.append([(setting, value) for value in values.split(",")])
    return [
        (
            [f"{setting.rpartition('.')[2]}_{value}".replace("/", "_") for setting, value in point],
            [f"--{setting}={value}" for setting, value in point],
        )
        for point in itertools.product(*axes)
    ]


def without_flags(argv: Sequence[str], flags: Sequence[str]) -> list[str]:
    """``argv`` without these flags and their values."""
    kept: list[str] = []
    skipping = False
    for word in argv:
        if word.startswith("--"):
            skipping = word.partition("=")[0] in flags
        if not skipping:
            kept.append(word)
    return kept


def run_points(points: Sequence[Point], seeds: Sequence[int], out: Path) -> list[dict[str, Any]]:
    """Train every point with every seed in ``out/POINT/seed-N``; one row a point.

    The rows are also in ``out/table.json`` and, as :func:`table` shows them, ``out/table.txt``,
    rewritten after every point. All data are read and all models built before any is trained.

    Raises:
        ConfigError: two points have the same name, their tasks are measured differently, or a
            setting cannot be used.
    """
    names = [point.name for point in points]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"the grid has the point {name} twice; take one of them out")
    measures = dict.fromkeys(get_task(point.settings.task).measure for point in points)
    if len(measures) > 1:
        raise ConfigError(f"a sweep compares by one measure, got {' and '.join(measures)}")
    for point in points:  # the last one's mistakes are found before the first is trained
        if prepare(point.settings).splits.valid is None:
            raise ConfigError(
                "a sweep compares on validation examples; set data.keep_back or valid"
            )
    rows: list[dict[str, Any]] = []
    for point in points:
        summary = train_seeds(point.settings, out / point.name, seeds)
        task, counts = get_task(point.settings.task), summary["parameters"]
        rows.append(
            {
                "name": point.name,
                "group": task.kind(point.settings.model),
                "parameters": counts["table"] or counts["cell"],
                "cell_parameters": counts["cell"],
                "measure": task.measure,
                **{k: v for k, v in summary["valid"].items() if k in (task.measure, "majority")},
                **({"test": summary["test"][task.measure]} if "test" in summary else {}),
            }
        )
        if is_first_process():
            write_json(out / "table.json", rows)
            with replacing(out / "table.txt") as file:
                file.write(table(rows) + "\n")
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as text: name, parameters (the paper's count, the cell's), measure ± deviation.

    All measures are in per cent but perplexity.
    """
    width = max(len(row["name"]) for row in rows) + 2
    measure = rows[0]["measure"]
    title = f"{'':{width}}{'parameters':>12}{'(cell)':>12}  {measure:17}"
    lines = [title + ("majority" if "majority" in rows[0] else "")]
    scale = 1 if measure == "perplexity" else 100
    for row in rows:
        value = row[measure]
        cells = [f"{scale * value['mean']:6.2f} ± {scale * value['deviation']:5.2f}"]
        for name, title in (("majority", ""), ("test", "test ")):
            if name in row:
                cells.append(f"{title}{scale * row[name]['mean']:6.2f}")
        lines.append(
            f"{row['name']:{width}}{row['parameters']:>12,}{row['cell_parameters']:>12,}  "
            + "   ".join(cells)
        )
    return "\n".join(line.rstrip() for line in lines)
