"""Plots of runs: learning curves, and metrics against parameters.

They need matplotlib, the extra ``plots``. Without it, every function here writes one line to
standard error instead of a plot.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dgltrees._files import replacing
from dgltrees.errors import ConfigError
from dgltrees.tasks.task import Metric
from dgltrees.training.rundir import RunDirectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


NO_PICTURE = "no picture: it needs matplotlib, pip install 'dgltrees[plots]'"


def has_matplotlib() -> bool:
    """Return whether the extra ``plots`` is installed."""
    return find_spec("matplotlib") is not None


def learning_curve(
    runs: Sequence[Path], path: Path, metrics: Sequence[Metric], *, separate_losses: bool = False
) -> None:
    """Plot the losses and a validation metric per epoch, with one colour per run.

    Arguments:
        runs: run directories.
        path: the plot, written atomically; its suffix determines the format.
        metrics: the first metric that a run has on validation data is plotted, and the last value
            of its baseline as a dotted line.
        separate_losses: use separate scales for training and validation loss, because they are
            different quantities (only the training loss includes the loss of a policy).

    Raises:
        ConfigError: no run has an epoch.
    """
    histories = {run.name: RunDirectory(run).metrics() for run in runs}
    if not any(histories.values()):
        raise ConfigError(f"expected runs with at least one epoch, got {list(histories) or 'none'}")
    figure = new_figure(figsize=(9, 3.6))
    if figure is None:
        return
    names = {name for history in histories.values() for line in history for name in line}
    metric = next((each for each in metrics if f"valid_{each.name}" in names), None)
    panels = figure.subplots(
        1, 1 if metric is None else 2, squeeze=False, gridspec_kw={"wspace": 0.1}
    )[0]
    train_axes = valid_axes = panels[0]
    if separate_losses and "valid_loss" in names:
        valid_axes = train_axes.twinx()
        train_axes.set(ylabel="training loss (solid)")
        valid_axes.set(ylabel="validation loss (dashed)")
    else:
        train_axes.set(ylabel="loss (solid: training, dashed: validation)")
    for number, (run, history) in enumerate(histories.items()):
        color = f"C{number}"
        _plot(train_axes, history, "train_loss", color=color, label=run)
        _plot(
            valid_axes, history, "valid_loss", color=color, linestyle="--", markerfacecolor="none"
        )
    if metric is not None:
        _plot_metric(panels[1], histories, metric)
    panels[-1].legend()
    for axes in panels:
        axes.set(xlabel="epoch")
        axes.xaxis.get_major_locator().set_params(integer=True)
    save_figure(figure, path)


def metric_against_parameters(
    rows: Sequence[dict[str, Any]], metric: Metric, path: Path, of: str = "the cell"
) -> None:
    """Plot a metric against the number of parameters, on a logarithmic axis.

    Arguments:
        rows: the points, each with ``group`` (its line), ``parameters``, and under the name of the
            metric its ``mean`` and ``deviation``.
        metric: the metric.
        path: the plot, written atomically; its suffix determines the format.
        of: the parts whose parameters are counted, for the label of the axis.
    """
    figure = new_figure(figsize=(6, 4))
    if figure is None:
        return
    axes = figure.subplots()
    for group in dict.fromkeys(row["group"] for row in rows):
        line = [row for row in rows if row["group"] == group]
        points = sorted(line, key=lambda row: row["parameters"])
        axes.errorbar(
            [row["parameters"] for row in points],
            [row[metric.name]["mean"] for row in points],
            [row[metric.name]["deviation"] for row in points],
            marker="o",
            capsize=3,
            label=group,
        )
    axes.set(xscale="log", xlabel=f"parameters of {of}", ylabel=f"validation {metric.title}")
    axes.legend()
    save_figure(figure, path)


def new_figure(**options: Any) -> Figure | None:
    """Return a figure that needs no display and does not use pyplot; None without matplotlib."""
    if not has_matplotlib():
        print(NO_PICTURE, file=sys.stderr)
        return None
    from matplotlib.figure import Figure

    return Figure(layout="constrained", **options)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure atomically; the suffix of the path determines the format."""
    with replacing(path, "wb") as file:
        figure.savefig(file, format=path.suffix.lstrip(".") or "png", dpi=150)


def _plot(axes: Axes, history: Sequence[dict[str, Any]], name: str, **style: Any) -> None:
    """Plot ``name`` over the epochs that have it; for a single epoch, a point."""
    lines = [line for line in history if name in line]
    marker = "o" if len(lines) == 1 else ""
    epochs = [line["epoch"] for line in lines]
    axes.plot(epochs, [line[name] for line in lines], marker=marker, **style)


def _plot_metric(
    axes: Axes, histories: Mapping[str, Sequence[dict[str, Any]]], metric: Metric
) -> None:
    """Plot the curves of a metric, and dotted lines at the last value of its baseline."""
    label, baseline = f"validation {metric.title}", f"valid_{metric.baseline}"
    for number, (run, history) in enumerate(histories.items()):
        _plot(axes, history, f"valid_{metric.name}", color=f"C{number}", label=run)
        values = [line[baseline] for line in history if baseline in line]
        if values:
            axes.axhline(values[-1], color="0.5", linestyle=":", linewidth=1)
            label = f"validation {metric.title} (dotted: {Metric(metric.baseline).title})"
    axes.set(ylabel=label)
