"""A grid of settings and seeds, each point a run that can be gone on with."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dgltrees._files import replacing
from dgltrees.errors import ConfigError
from dgltrees.tasks.task import Metric
from dgltrees.training.processes import is_first_process
from dgltrees.training.run import prepare, train_seeds
from dgltrees.training.rundir import write_json
from dgltrees.training.settings import Settings

__all__ = ["Point", "combinations", "run_points", "table"]


@dataclass(frozen=True)
class Point:
    """One place of the grid: the name of its folder, and its settings."""

    name: str
    settings: Settings


def combinations(grid: Sequence[str]) -> list[tuple[list[str], dict[str, list[str]]]]:
    """Every combination of ``SETTING=VALUE,VALUE ...``: the parts of its name, and its settings.

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
            {setting: [value] for setting, value in point},
        )
        for point in itertools.product(*axes)
    ]


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
    metrics = dict.fromkeys(point.settings.task.metrics[0].name for point in points)
    if len(metrics) > 1:
        raise ConfigError(f"a sweep compares by one metric, got {' and '.join(metrics)}")
    for point in points:  # the last one's mistakes are found before the first is trained
        if prepare(point.settings).splits.valid is None:
            raise ConfigError(
                "a sweep compares on validation examples; set data.valid_fraction or data.valid"
            )
    rows: list[dict[str, Any]] = []
    for point in points:
        summary = train_seeds(point.settings, out / point.name, seeds)
        task, counts = point.settings.task, summary["parameters"]
        name, valid = task.metrics[0].name, summary["valid"]
        rows.append(
            {
                "name": point.name,
                "group": task.display_name(point.settings.model),
                "parameters": counts["table"] or counts["cell"],
                "cell_parameters": counts["cell"],
                **{key: valid[key] for key in (name, "majority") if key in valid},
                **({"test": summary["test"][name]} if "test" in summary else {}),
            }
        )
        if is_first_process():
            write_json(out / "table.json", rows)
            with replacing(out / "table.txt") as file:
                file.write(table(rows, task.metrics[0]) + "\n")
    return rows


def table(rows: Sequence[dict[str, Any]], metric: Metric) -> str:
    """The rows as text: name, parameters (the paper's count, the cell's), metric ± deviation.

    Arguments:
        rows: as :func:`run_points` returns them.
        metric: the metric of the rows' task; values are shown times its ``scale``.
    """
    width = max(len(row["name"]) for row in rows) + 2
    title = f"{'':{width}}{'parameters':>12}{'(cell)':>12}  {metric.title:17}"
    lines = [title + ("majority" if "majority" in rows[0] else "")]
    for row in rows:
        mean, deviation = (metric.scale * row[metric.name][key] for key in ("mean", "deviation"))
        cells = [f"{mean:6.2f} ± {deviation:5.2f}"]
        for name, label in (("majority", ""), ("test", "test ")):
            if name in row:
                cells.append(f"{label}{metric.scale * row[name]['mean']:6.2f}")
        lines.append(
            f"{row['name']:{width}}{row['parameters']:>12,}{row['cell_parameters']:>12,}  "
            + "   ".join(cells)
        )
    return "\n".join(line.rstrip() for line in lines)
