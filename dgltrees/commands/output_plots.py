"""Plots of predictions by scikit-learn: confusion of classes, predicted against true numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import ConfusionMatrixDisplay, PredictionErrorDisplay, confusion_matrix

from dgltrees.commands.plots import new_figure, save_figure
from dgltrees.draw.strings import printable
from dgltrees.tasks.custom_trees.classes import ClassesTask
from dgltrees.tasks.custom_trees.numbers import NumbersTask
from dgltrees.tasks.task import Columns, Task
from dgltrees.trees import LabeledTrees

_MOST_CLASSES = 30  # in a matrix, the most frequent ones
_NUMBERS_SHOWN = 12  # most classes of a matrix with numbers in its cells
_HEAVY_TAIL = 20.0  # smallest ratio of maximum to median for logarithmic axes


def draw_outputs(folder: Path, task: Task, data: LabeledTrees, outputs: Columns) -> None:
    """Plot ``confusion.png`` or ``predicted.png`` in the folder of a run.

    There is no plot for binary targets and for ranks. Rows without a target are left out.
    """
    targets = task.targets(data)
    if isinstance(task, NumbersTask):
        predicted = np.stack([outputs[f"prediction_{k}"] for k in range(targets.shape[1])], 1)
        predicted_against_true(targets, predicted, data.target_names, folder / "predicted.png")
    elif isinstance(task, ClassesTask) and targets.ndim == 1:
        rows = task.labeled(data)
        true, predicted = targets[rows], outputs["prediction"][rows]
        confusion(true, predicted, data.targets.names, folder / "confusion.png")


def confusion(
    true: NDArray[np.int64], predicted: NDArray[np.int64], names: Sequence[str], path: Path
) -> None:
    """Plot the shares of the true class of each row, for the 30 most frequent classes."""
    frequent = np.argsort(-np.bincount(true, minlength=len(names)), kind="stable")
    shown = np.sort(frequent[:_MOST_CLASSES])
    figure = new_figure(figsize=(3.5 + 0.35 * len(shown), 2.5 + 0.35 * len(shown)))
    if figure is None:
        return
    shares = confusion_matrix(true, predicted, labels=np.arange(len(names)), normalize="true")
    labels = [printable(names[k], 20) for k in shown]
    ConfusionMatrixDisplay(shares[np.ix_(shown, shown)], display_labels=labels).plot(
        include_values=len(shown) <= _NUMBERS_SHOWN,
        cmap="Blues",
        values_format=".2f",
        xticks_rotation="vertical",
        ax=figure.subplots(),
        im_kw={"vmin": 0, "vmax": 1},
        text_kw={"fontsize": 8},
    )
    save_figure(figure, path)


def predicted_against_true(
    true: NDArray[Any], predicted: NDArray[Any], names: Sequence[str], path: Path
) -> None:
    """Plot predicted against true numbers ``(n, K)``, in one panel per target.

    Axes are logarithmic if all numbers are positive and some are far larger than most.
    """
    figure = new_figure(figsize=(4.5 * len(names), 4.2))
    if figure is None:
        return
    for k, axes in enumerate(figure.subplots(1, len(names), squeeze=False)[0]):
        known = ~np.isnan(true[:, k])
        if known.any():
            x, y = true[known, k], predicted[known, k]
            PredictionErrorDisplay.from_predictions(
                x, y, kind="actual_vs_predicted", random_state=0, ax=axes, scatter_kwargs={"s": 8}
            )
            both = np.concatenate([x, y])
            if both.min() > 0 and both.max() > _HEAVY_TAIL * np.median(both):
                axes.set(xscale="log", yscale="log")
        axes.set(title=printable(names[k]))
    save_figure(figure, path)
