"""The command plot-aggregators: Figures 4 and 5 of the paper."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from dgltrees.commands.plots import metric_against_parameters
from dgltrees.errors import ConfigError
from dgltrees.training.files import checking
from dgltrees.training.rundir import RunDirectory

Lines = Literal["model", "rank", "hidden_size"]


def plot_aggregators(sweep: str, *, lines: Lines = "rank") -> None:
    """Plot a sweep against the parameters of one aggregation: plot-aggregators DIR --lines rank.

    Writes aggregators.png in the folder. Figures 4 and 5 of Castellana and Bacciu, "Generalising
    Recursive Neural Models by Tensor Decomposition" (2020), have the lines rank and hidden_size.

    Arguments:
        sweep: folder of a sweep over models with an aggregation.
        lines: lines of the plot: one for each model, or for models with a rank also one for each
            rank (from the smallest to the largest of a hidden size) or hidden_size.
    """
    folder = Path(sweep)
    table = folder / "table.json"
    if not table.is_file():
        raise ConfigError(f"expected a folder that dgltrees sweep wrote, got {sweep}")
    with checking(table):
        rows = json.loads(table.read_text(encoding="utf-8"))
        runs = [RunDirectory(min((folder / row["name"]).glob("seed-*"))) for row in rows]
    points = []
    for row, run in zip(rows, runs):
        model, count = run.settings().model, run.metadata()["parameters"]["aggregator"]
        if count is None:
            raise ConfigError(f"expected models with an aggregation, got one without in {run.path}")
        sizes = {name: model.get(name) for name in ("hidden_size", "rank")}
        points.append({**row, "parameters": count, **sizes})
    named = [{**point, "group": line_of(point, points, lines)} for point in points]
    metric, path = runs[0].settings().compared, folder / "aggregators.png"
    metric_against_parameters(named, metric, path, of="one aggregation")


def line_of(row: dict[str, Any], rows: Sequence[dict[str, Any]], lines: Lines) -> str:
    """Return the name of the line of a row; models without a rank have one line.

    Ranks are numbered for each model and hidden size, since each size has other ranks: 1 is the
    smallest one.
    """
    group, size, rank = (row[name] for name in ("group", "hidden_size", "rank"))
    if lines == "model" or rank is None:
        return str(group)
    if lines == "hidden_size":
        return f"{group}, hidden_size {size}"
    same = (other for other in rows if (other["group"], other["hidden_size"]) == (group, size))
    ranks = sorted({other["rank"] for other in same})
    return f"{group}, rank {ranks.index(rank) + 1} of {len(ranks)}"
