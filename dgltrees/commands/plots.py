"""Pictures of runs: learning curves, and accuracy, or another measure, against parameters."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dgltrees._files import replacing
from dgltrees.errors import ConfigError
from dgltrees.training.rundir import RunDirectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "NO_PICTURE",
    "accuracy_against_pads",
    "has_matplotlib",
    "learning_curve",
    "measure_against_parameters",
]

NO_PICTURE = "no picture: it needs matplotlib, pip install 'dgltrees[plots]'"


def has_matplotlib() -> bool:
    """Whether the extra ``plots`` is installed."""
    return find_spec("matplotlib") is not None


def _figure(**options: Any) -> Figure:
    """A figure that needs no display and leaves the user's pyplot alone."""
    if not has_matplotlib():
        raise ConfigError(NO_PICTURE)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained", **options)
    FigureCanvasAgg(figure)
    return figure


def _save(figure: Figure, path: Path) -> None:
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix.lstrip(".") or "png", dpi=150)
    with replacing(path, "wb") as file:
        file.write(picture.getvalue())


def learning_curve(runs: Sequence[Path], path: Path) -> None:
    """Loss and validation accuracy of every epoch of ``runs``, one colour a run.

    Perplexity stands in place of accuracy for language models, LAS or UAS for parsers, MAP where
    answers are ranked.

    Arguments:
        runs: run directories.
        path: the picture, written whole or not at all; its ending says the format.

    Raises:
        ConfigError: matplotlib is missing, or there is no run with an epoch.
    """
    lines = {run.name: RunDirectory(run).metrics() for run in runs}
    if not any(lines.values()):
        raise ConfigError(f"expected runs with at least one epoch, got {list(lines) or 'none'}")
    figure = _figure(figsize=(9, 3.6))
    losses, measures = figure.subplots(1, 2)
    every = [line for history in lines.values() for line in history]
    kinds = ("perplexity", "las", "uas", "map")
    shown = (kind for kind in kinds if any(f"valid_{kind}" in line for line in every))
    measure = next(shown, "accuracy")
    for number, (name, history) in enumerate(lines.items()):
        epochs, color = [line["epoch"] for line in history], f"C{number}"
        losses.plot(epochs, [line["train_loss"] for line in history], color=color, label=name)
        watched = [line for line in history if "valid_loss" in line]
        seen = [line["epoch"] for line in watched]
        losses.plot(seen, [line["valid_loss"] for line in watched], "--", color=color)
        values = [line[f"valid_{measure}"] for line in watched]
        measures.plot(seen, values, color=color, label=name)
        if watched and measure == "accuracy":
            majority = watched[-1]["valid_majority"]
            measures.axhline(majority, color="0.5", linestyle=":", linewidth=1)
    losses.set(xlabel="epoch", ylabel="loss (solid: training, dashed: validation)")
    dotted = " (dotted: majority class)" if measure == "accuracy" else ""
    measures.set(xlabel="epoch", ylabel=f"validation {measure}{dotted}")
    measures.legend()
    for axes in (losses, measures):
        axes.xaxis.get_major_locator().set_params(integer=True)
    _save(figure, path)


def measure_against_parameters(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """The tasks' measure over parameters on a logarithmic axis, as in the paper's Figures 4 and 5.

    Arguments:
        rows: what a sweep found: each with ``group`` (one line and colour each), ``parameters``,
            ``measure``, its name, and under that name its ``mean`` and ``deviation``.
        path: the picture, written whole or not at all; its ending says the format.

    Raises:
        ConfigError: matplotlib is missing.
    """
    figure = _figure(figsize=(6, 4))
    axes = figure.subplots()
    for group in dict.fromkeys(row["group"] for row in rows):
        chosen = sorted((r for r in rows if r["group"] == group), key=lambda r: r["parameters"])
        axes.errorbar(
            [row["parameters"] for row in chosen],
            [row[row["measure"]]["mean"] for row in chosen],
            [row[row["measure"]]["deviation"] for row in chosen],
            marker="o",
            capsize=3,
            label=group,
        )
    measure = rows[0]["measure"]
    what = "one aggregation" if measure == "accuracy" else "the recurrent part"
    axes.set(xscale="log", xlabel=f"parameters of {what}", ylabel=f"validation {measure}")
    axes.legend()
    _save(figure, path)


def accuracy_against_pads(models: Mapping[str, Sequence[dict[str, Any]]], path: Path) -> None:
    """Accuracy by the number of pads, a line a model: Figure 3 of the paper on NTI.

    Arguments:
        models: by their names, the rows of
            :func:`~dgltrees.analyses.padding.accuracy_by_padding`.
        path: the picture, written whole or not at all; its ending says the format.

    Raises:
        ConfigError: matplotlib is missing.
    """
    figure = _figure(figsize=(6, 4))
    axes = figure.subplots()
    for name, rows in models.items():
        pads = [row["pads"] for row in rows]
        accuracy = [row["accuracy"] for row in rows]
        axes.plot(pads, accuracy, marker="o", label=name, clip_on=False)  # marks at 1 stay whole
    axes.set(xlabel="pads, at least", ylabel="accuracy", ylim=(0, 1))
    axes.legend()
    _save(figure, path)
