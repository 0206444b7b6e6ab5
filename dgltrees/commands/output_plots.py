"""Plots of predictions: confusion of classes or ranks, predicted against true numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.commands.plots import new_figure, save_figure
from dgltrees.draw.strings import printable
from dgltrees.metrics.ranks import rank_within
from dgltrees.tasks.custom_trees.classes import ClassesTask
from dgltrees.tasks.custom_trees.numbers import NumbersTask
from dgltrees.tasks.custom_trees.ranks import RankTask
from dgltrees.tasks.task import Columns, Task
from dgltrees.trees import LabeledTrees

_LAST_RANK = 10  # includes all higher ranks
_MOST_CLASSES = 30  # in a matrix, the most frequent ones
_HEAVY_TAIL = 20.0  # smallest ratio of maximum to median for logarithmic axes
_NUMBERS_SHOWN = 12  # most classes of a matrix with numbers in its cells


def draw_outputs(folder: Path, task: Task, data: LabeledTrees, outputs: Columns) -> None:
    """Plot ``confusion.png``, ``predicted.png`` or ``ranks.png`` in the folder of a run.

    There is no plot for binary targets.

    Arguments:
        folder: folder of the run.
        task: its task.
        data: examples with targets; rows without a target are ignored.
        outputs: the outputs of the model for them.
    """
    targets = task.targets(data)
    if isinstance(task, NumbersTask):
        predicted = np.stack([outputs[f"prediction_{k}"] for k in range(targets.shape[1])], 1)
        predicted_against_true(targets, predicted, data.target_names, folder / "predicted.png")
    elif isinstance(task, ClassesTask) and targets.ndim == 1:
        rows = task.labeled(data)
        true, predicted = targets[rows], outputs["prediction"][rows]
        confusion(true, predicted, data.targets.names, folder / "confusion.png")
    elif isinstance(task, RankTask):
        rows = task.labeled(data)
        groups = np.unique(task.groups(data)[rows], return_inverse=True)[1]
        ranks_within_groups(targets[rows], outputs["score"][rows], groups, folder / "ranks.png")


def ranks_within_groups(
    targets: NDArray[np.float64], scores: NDArray[np.float64], groups: NDArray[np.int64], path: Path
) -> None:
    """Plot the predicted ranks of trees within their groups against the true ranks.

    Trees with equal targets have the first of their ranks. Ranks from 10 are one category.

    Arguments:
        targets, scores: ``(n,)``, higher is better.
        groups: ``(n,)`` the group of each tree.
        path: the plot, written atomically; its suffix determines the format.
    """
    predicted = rank_within(scores, groups, -np.arange(len(scores)))
    true = rank_within(targets, groups, np.zeros(len(targets), np.int64))
    _, same = np.unique(np.stack([groups, targets], 1), axis=0, return_inverse=True)
    first = np.full(len(true), len(true))
    np.minimum.at(first, same.ravel(), true)
    most = min(_LAST_RANK, int(predicted.max()))
    names = [*map(str, range(1, most + 1))]
    names[-1] += "+" if predicted.max() > most else ""
    true, predicted = (np.minimum(rank, most) - 1 for rank in (first[same.ravel()], predicted))
    confusion(true, predicted, names, path, what="rank")


def confusion(
    true: NDArray[np.int64],
    predicted: NDArray[np.int64],
    names: Sequence[str],
    path: Path,
    *,
    what: str = "class",
) -> None:
    """Plot the confusion matrix of predicted classes.

    Cells are fractions of the true class of their row. At most 30 classes are shown, the most
    frequent ones.

    Arguments:
        true, predicted: ``(n,)`` classes.
        names: names of the classes.
        path: the plot, written atomically; its suffix determines the format.
        what: label of a class in the color scale.
    """
    counts = np.zeros((len(names), len(names)), np.int64)
    np.add.at(counts, (true, predicted), 1)
    frequent = np.argsort(-counts.sum(1), kind="stable")[:_MOST_CLASSES]
    shown = np.sort(frequent)
    totals = counts.sum(1)[shown]
    counts = counts[np.ix_(shown, shown)]
    shares = counts / np.maximum(totals, 1)[:, None]
    side = 2.5 + 0.35 * len(shown)
    figure = new_figure(figsize=(side + 1, side))
    if figure is None:
        return
    axes = figure.subplots()
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    labels = [printable(names[k], 20) for k in shown]
    axes.set_xticks(range(len(shown)), labels, rotation=90)
    axes.set_yticks(range(len(shown)), labels)
    axes.set(xlabel="predicted", ylabel="true")
    if len(shown) <= _NUMBERS_SHOWN:
        for (row, column), count in np.ndenumerate(counts):
            color = "white" if shares[row, column] > 0.5 else "black"
            axes.text(column, row, str(count), ha="center", va="center", color=color, fontsize=8)
    figure.colorbar(image, label=f"share of the true {what}")
    save_figure(figure, path)


def predicted_against_true(
    true: NDArray[Any], predicted: NDArray[Any], names: Sequence[str], path: Path
) -> None:
    """Plot predicted against true numbers, in one panel per target, with the diagonal.

    Axes are logarithmic if all numbers are positive and some are far larger than most.

    Arguments:
        true, predicted: ``(n, K)`` numbers; NaN for an unknown target.
        names: names of the K targets.
        path: the plot, written atomically; its suffix determines the format.
    """
    count = len(names)
    figure = new_figure(figsize=(4.5 * count, 4.2))
    if figure is None:
        return
    for k, axes in enumerate(figure.subplots(1, count, squeeze=False)[0]):
        known = ~np.isnan(true[:, k])
        x, y = true[known, k], predicted[known, k]
        axes.scatter(x, y, s=8, alpha=0.5, linewidths=0)
        if len(x):
            both = np.concatenate([x, y])
            ends = [float(both.min()), float(both.max())]
            axes.plot(ends, ends, color="0.5", linewidth=1)
            if both.min() > 0 and both.max() > _HEAVY_TAIL * np.median(both):
                axes.set(xscale="log", yscale="log")
        axes.set(xlabel=f"true {printable(names[k])}", ylabel=f"predicted {printable(names[k])}")
    save_figure(figure, path)
