"""Sweeps: grids of settings and seeds, which can be resumed and extended."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dgltrees._files import replacing
from dgltrees.errors import ConfigError
from dgltrees.settings.layers import Settings
from dgltrees.tasks.task import Metric
from dgltrees.training.device import is_first_process
from dgltrees.training.files import checking, write_json
from dgltrees.training.run import prepare, train_seeds
from dgltrees.training.rundir import check_folder_of_runs

Point = tuple[str, Settings]
"""One point of the grid: the name of its folder, and its settings."""


def combinations(grid: Sequence[str]) -> list[tuple[list[str], dict[str, list[str]]]]:
    """Return every combination of ``SETTING=VALUE,VALUE ...``, as parts of a name and settings.

    Raises:
        ConfigError: an entry has another form, or a setting or value occurs twice.
    """
    axes, seen = [], set()
    for entry in grid:
        setting, equals, values = entry.partition("=")
        if not equals or not all(values.split(",")):
            raise ConfigError(f"expected --grid SETTING=VALUE,VALUE, got {entry!r}")
        if setting in seen or len(set(values.split(","))) < len(values.split(",")):
            raise ConfigError(f"expected every setting and value of --grid once, got {entry!r}")
        seen.add(setting)
        axes.append([(setting, value) for value in values.split(",")])
    return [
        (
            [
                re.sub(r"[/\\]", "_", f"{setting.rpartition('.')[2]}_{value}")
                for setting, value in point
            ],
            {setting: [value] for setting, value in point},
        )
        for point in itertools.product(*axes)
    ]


@contextmanager
def at_point(name: str) -> Iterator[None]:
    """Add the name of a point to errors of its settings."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def run_points(
    points: Sequence[Point], seeds: Sequence[int] | None, out: Path
) -> list[dict[str, Any]]:
    """Train every point with every seed in ``out/POINT/seed-N``.

    Points are compared by :attr:`~dgltrees.settings.layers.Settings.compared`. Parameters are those
    of the cell.

    The rows are also written to ``out/table.json`` and, formatted by :func:`table`, to
    ``out/table.txt``, after every point, following those of earlier sweeps into this folder. All
    data are read and all models are built before any model is trained.

    Returns:
        The rows of the table, one per point.

    Raises:
        ConfigError: ``out`` contains something else, or points with another metric; two points have
            the same name, their tasks have different metrics, or a setting cannot be used.
    """
    check_folder_of_runs(out)
    names = [name for name, _ in points]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"expected different points in the grid, got {name} twice")
    metrics = list(dict.fromkeys(settings.compared for _, settings in points))
    if len(metrics) > 1:
        several = [metric.name for metric in metrics]
        raise ConfigError(
            f"expected one metric to compare by, got {' and '.join(several)}; set training.monitor"
        )
    counts = []
    for name, settings in points:  # the last one's mistakes are found before the first is trained
        with at_point(name):
            ready = prepare(settings)
        if ready.splits.valid is None:
            raise ConfigError("missing validation examples; set data.valid_fraction or data.valid")
        counts.append(ready.settings.task.parameters(ready.model)["cell"])
    rows = [row for row in _earlier_rows(out, metrics[0]) if row["name"] not in names]
    for (folder, settings), count in zip(points, counts):
        summary = train_seeds(settings, out / folder, seeds or [settings.training.seed])
        name, valid = metrics[0].name, summary["valid"]
        rows.append(
            {
                "name": folder,
                "group": settings.task.display_name(settings.model),
                "parameters": count,
                **{key: valid[key] for key in (name, metrics[0].baseline) if key in valid},
                **({"test": summary["test"][name]} if name in summary.get("test", {}) else {}),
            }
        )
        if is_first_process():
            write_json(out / "table.json", rows)
            with replacing(out / "table.txt") as file:
                file.write(table(rows, metrics[0]) + "\n")
    return rows


def _earlier_rows(out: Path, metric: Metric) -> list[dict[str, Any]]:
    path = out / "table.json"
    if not path.exists():
        return []
    with checking(path):
        rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        same = all(metric.name in row for row in rows)
    if not same:
        raise ConfigError(
            f"expected the points in {path} to be compared by {metric.name}, got others; use "
            "another --out"
        )
    return rows


def table(rows: Sequence[dict[str, Any]], metric: Metric) -> str:
    """Return the rows as text: name, parameters, metric ± deviation.

    Arguments:
        rows: the result of :func:`run_points`.
        metric: the metric of the rows; values are multiplied by its ``scale``.
    """
    width = max(len(row["name"]) for row in rows) + 2
    title = f"{'':{width}}  parameters  {metric.title:17}"
    lines = [title + (metric.baseline if metric.baseline in rows[0] else "")]
    for row in rows:
        mean, deviation = (metric.scale * row[metric.name][key] for key in ("mean", "deviation"))
        cells = [f"{mean:6.2f} ± {deviation:5.2f}"]
        for name, label in ((metric.baseline, ""), ("test", "test ")):
            if name in row:
                cells.append(f"{label}{metric.scale * row[name]['mean']:6.2f}")
        lines.append(f"{row['name']:{width}}{row['parameters']:>12,}  " + "   ".join(cells))
    return "\n".join(line.rstrip() for line in lines)
