"""A grid of settings and seeds, each point a run that can be gone on with."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dgltrees._files import replacing
from dgltrees.errors import ConfigError
from dgltrees.settings.layers import Settings
from dgltrees.tasks.task import Metric
from dgltrees.training.files import checking, write_json
from dgltrees.training.processes import is_first_process
from dgltrees.training.run import prepare, train_seeds
from dgltrees.training.rundir import check_folder_of_runs

ONE_AGGREGATION, THE_CELL = "one aggregation", "the cell"
"""What the parameters of a row are those of: one map as a paper's table counts it, or all."""


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

    Points are compared by :attr:`~dgltrees.settings.layers.Settings.compared`, and their
    parameters are counted alike: as in the paper's tables where these count all points, else those
    of the cell.

    The rows are also in ``out/table.json`` and, as :func:`table` shows them, ``out/table.txt``,
    rewritten after every point, behind those of earlier sweeps into this folder. All data are read
    and all models built before any is trained.

    Returns:
        the rows of the table.

    Raises:
        ConfigError: ``out`` holds something else, or points that are measured or counted
            differently; two points have the same name, their tasks are measured differently, or a
            setting cannot be used.
    """
    check_folder_of_runs(out)
    names = [point.name for point in points]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"the grid has the point {name} twice; take one of them out")
    metrics = list(dict.fromkeys(point.settings.compared for point in points))
    if len(metrics) > 1:
        several = [metric.name for metric in metrics]
        raise ConfigError(
            f"a sweep compares by one metric, got {' and '.join(several)}; set training.monitor"
        )
    counts = []
    for point in points:  # the last one's mistakes are found before the first is trained
        ready = prepare(point.settings)
        if ready.splits.valid is None:
            raise ConfigError(
                "a sweep compares on validation examples; set data.valid_fraction or data.valid"
            )
        counts.append(ready.task.parameters(ready.model))
    one_aggregation = all(count["aggregator"] is not None for count in counts)
    rows = _earlier_rows(out, metrics[0], ONE_AGGREGATION if one_aggregation else THE_CELL)
    rows = [row for row in rows if row["name"] not in names]
    for point, count in zip(points, counts):
        summary = train_seeds(point.settings, out / point.name, seeds)
        name, valid = metrics[0].name, summary["valid"]
        rows.append(
            {
                "name": point.name,
                "group": point.settings.task.display_name(point.settings.model),
                "parameters": count["aggregator" if one_aggregation else "cell"],
                "parameters_of": ONE_AGGREGATION if one_aggregation else THE_CELL,
                "cell_parameters": count["cell"],
                **{key: valid[key] for key in (name, metrics[0].baseline) if key in valid},
                **({"test": summary["test"][name]} if "test" in summary else {}),
            }
        )
        if is_first_process():
            write_json(out / "table.json", rows)
            with replacing(out / "table.txt") as file:
                file.write(table(rows, metrics[0]) + "\n")
    return rows


def _earlier_rows(out: Path, metric: Metric, counted: str) -> list[dict[str, Any]]:
    """The rows of the sweeps that are in a folder already."""
    path = out / "table.json"
    if not path.exists():
        return []
    with checking(path):
        rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        alike = all(metric.name in row and row["parameters_of"] == counted for row in rows)
    if not alike:
        raise ConfigError(
            f"{path} has points that are not compared by {metric.name} and the parameters of "
            f"{counted}, as these are; name another folder"
        )
    return rows


def table(rows: Sequence[dict[str, Any]], metric: Metric) -> str:
    """The rows as text: name, parameters, metric ± deviation.

    Where every row has the count of the paper's tables, it stands before that of the cell.

    Arguments:
        rows: as :func:`run_points` returns them.
        metric: the metric of the rows; values are shown times its ``scale``.
    """
    width = max(len(row["name"]) for row in rows) + 2
    counts = {"cell_parameters": "(cell)"}
    if rows[0]["parameters_of"] == ONE_AGGREGATION:
        counts = {"parameters": "parameters", **counts}
    else:
        counts["cell_parameters"] = "of the cell"
    title = f"{'':{width}}{''.join(f'{head:>12}' for head in counts.values())}  {metric.title:17}"
    lines = [title + (metric.baseline if metric.baseline in rows[0] else "")]
    for row in rows:
        mean, deviation = (metric.scale * row[metric.name][key] for key in ("mean", "deviation"))
        cells = [f"{mean:6.2f} ± {deviation:5.2f}"]
        for name, label in ((metric.baseline, ""), ("test", "test ")):
            if name in row:
                cells.append(f"{label}{metric.scale * row[name]['mean']:6.2f}")
        numbers = "".join(f"{row[count]:>12,}" for count in counts)
        lines.append(f"{row['name']:{width}}{numbers}  " + "   ".join(cells))
    return "\n".join(line.rstrip() for line in lines)
