"""Losses and scores of predictions, and the tables of the benchmark."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from tests.benchmarks.custom_trees.data import Task

Line = dict[str, Any]
"""A result of the file: task, part, model, and scores."""
_LEAST = 1e-3
"""The smallest probability in the log loss, so that no single tree decides it."""
_RESAMPLES = 2000
_MEASURES = ("accuracy", "spearman", "median", "95 %")


def losses(task: Task, y: NDArray[Any], predicted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the loss of each example: squared error (of logs), or log loss."""
    if task.kind == "classes":
        p = predicted[np.arange(len(y)), np.searchsorted(np.unique(task.y), y)]
        return np.asarray(-np.log(np.clip(p, _LEAST, 1.0)))
    if task.kind == "logs":
        return np.asarray(np.square(np.log(y) - np.log(np.maximum(predicted, 1e-9))))
    return np.asarray(np.square(y - predicted))


def total(task_kind: str, each: NDArray[np.float64]) -> float:
    """Return what is compared: the log loss, or the root of the mean squared error."""
    return float(each.mean() if task_kind == "classes" else np.sqrt(each.mean()))


def scores(task: Task, y: NDArray[Any], predicted: NDArray[np.float64]) -> dict[str, float]:
    """Return the measures that users read, by name."""
    if task.kind == "classes":
        return {"accuracy": float((np.unique(task.y)[predicted.argmax(1)] == y).mean())}
    report = {"spearman": float(spearmanr(y, predicted).statistic)}
    if task.kind == "logs":
        factor = np.exp(np.sqrt(losses(task, y, predicted)))
        report |= {"median": float(np.median(factor)), "95 %": float(np.quantile(factor, 0.95))}
    return report


def table(lines: Sequence[Line]) -> str:
    """Return the results as a table: a row for each task, and one for each comparison."""
    rows = [("task", "part", "n", "model", "loss", "scores", "seconds")]
    for task, part, models in by_task(lines):
        for model, found in models.items():
            loss, seconds = f"{_mean_total(found):.4f}", f"{_mean(found, 'seconds'):.1f}"
            names = [name for name in _MEASURES if name in found[0]]
            means = " ".join(f"{name} {_mean(found, name):.3f}" for name in names)
            rows.append((task, part, str(len(found)), model, loss, means, seconds))
        for model in ("default", "best"):
            if model in models and "chosen" in models:
                gain, error = difference(models[model], models["chosen"])
                text = f"{100 * gain:+.1f} ± {100 * error:.1f} %"
                rows.append((task, part, "", f"{model} - chosen", text, "", ""))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in rows)


def rows(lines: Sequence[Line], part: str) -> Iterator[str]:
    """Yield the rows of a table of ``datasets/results``: losses of ``folds``, or of ``away``."""
    for task, found, models in by_task(lines):
        if found != part:
            continue
        each = {model: _mean_total(lines) for model, lines in models.items()}
        cells = {
            "task": task,
            "folds": len(models["chosen"]),
            "trees": models["chosen"][0]["train"],
        }
        cells |= {model: f"{value:.3f}" for model, value in each.items()}
        for model in ("default", "best"):
            if model in models:
                gain, error = difference(models[model], models["chosen"])
                cells[f"{model}_gain"] = f"'{100 * gain:+.1f} ± {100 * error:.1f}'"
                cells[f"{model}_seconds"] = f"{_mean(models[model], 'seconds'):.0f}"
        yield "- {" + ", ".join(f"{key}: {value}" for key, value in cells.items()) + "}"


def measures(lines: Sequence[Line], part: str) -> Iterator[str]:
    """Yield the rows of a table of the measures that users read."""
    for task, found, models in by_task(lines):
        if found == part:
            for name in _MEASURES:
                if name in models["chosen"][0]:
                    each = {model: f"{_mean(found, name):.3f}" for model, found in models.items()}
                    cells = ", ".join(f"{model}: {value}" for model, value in each.items())
                    yield f"- {{task: {task}, measure: {name}, {cells}}}"


def _mean(lines: Sequence[Line], name: str) -> float:
    return float(np.mean([line[name] for line in lines]))


def _mean_total(lines: Sequence[Line]) -> float:
    return float(np.mean([total(line["kind"], np.array(line["losses"])) for line in lines]))


def difference(ours: Sequence[Line], theirs: Sequence[Line]) -> tuple[float, float]:
    """Return the relative difference of two models' losses, and its standard error.

    Over folds the error is that of their mean; of the part kept away it is that of resampled trees,
    or of resampled groups where the task has groups.
    """
    kind = ours[0]["kind"]
    if ours[0]["part"] != "away":
        by_part = {line["part"]: line for line in theirs}
        each = np.array([_relative(kind, line, by_part[line["part"]]) for line in ours])
        spread = each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
        return float(each.mean()), float(spread)
    a, b = (np.array(lines[0]["losses"]) for lines in (ours, theirs))
    groups = np.array(ours[0].get("groups", np.arange(len(a))))
    rows = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    rng = np.random.default_rng(0)
    resampled = []
    for _ in range(_RESAMPLES):
        chosen = np.concatenate([rows[k] for k in rng.integers(0, len(rows), len(rows))])
        resampled.append(total(kind, a[chosen]) / total(kind, b[chosen]) - 1)
    return total(kind, a) / total(kind, b) - 1, float(np.std(resampled))


def _relative(kind: str, ours: Line, theirs: Line) -> float:
    a, b = (total(kind, np.array(line["losses"])) for line in (ours, theirs))
    return a / b - 1


def by_task(lines: Sequence[Line]) -> Iterator[tuple[str, str, dict[str, list[Line]]]]:
    """Yield the results of each task by model, of its folds and of the part kept away.

    ``chosen`` is in every part the flat model with the smallest loss on inner folds of training.
    """
    for task in dict.fromkeys(line["task"] for line in lines):
        for part in ("folds", "away"):
            of_task = [
                r for r in lines if r["task"] == task and (r["part"] == "away") == (part == "away")
            ]
            models: dict[str, list[Line]] = {}
            for line in of_task:
                models.setdefault(line["model"], []).append(line)
            for name in dict.fromkeys(line["part"] for line in of_task):
                flat = [line for line in of_task if line["part"] == name and "inner" in line]
                if flat:
                    models.setdefault("chosen", []).append(
                        min(flat, key=lambda r: float(r["inner"]))
                    )
            if models:
                yield task, part, models
