"""Losses over the number of training trees: ``python -m tests.benchmarks.custom_trees.curve``.

The trees of a smaller number are also in the larger ones. Test trees are those of the folds of the
benchmark; the part kept away is not used.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from dgltrees.commands.plots import new_figure, save_figure
from tests.benchmarks.custom_trees.__main__ import measure, new_parser, parse, read_lines
from tests.benchmarks.custom_trees.data import Rows, Task, load
from tests.benchmarks.custom_trees.report import Line, by_task, total

TASKS = ("imdb", "inex", "python_package")
SIZES = (40, 80, 160, 320, 640)
LOSSES = {"logs": "RMSE of logarithms", "numbers": "RMSE", "classes": "log loss"}
TITLES = {"default": "tree, default", "best": "tree, ensemble and blend", "chosen": "flat, chosen"}

Point = tuple[float, float, float]
"""The mean number of training trees, the mean loss over folds, and its standard error."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the curves, print them, and draw them if a file is named."""
    parser = new_parser("custom_trees.curve")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="numbers of trees")
    parser.add_argument("--plot", type=Path, help="the picture to write")
    options, out = parse(parser, arguments)
    if min(options.sizes) < 20:
        parser.error(f"expected --sizes of at least 20, got {min(options.sizes)}")
    for name in options.tasks or TASKS:
        task = load(name, options.data)
        for part, train, test in parts(task, sorted(set(options.sizes)), options.folds):
            for model in options.models:
                measure(out, task, part, model, train, test)
    lines = read_lines(out)
    for name, models in points(lines).items():
        for model, curve in models.items():
            for trees, loss, error in curve:
                print(f"{name:15} {model:12} {trees:6.0f} trees  {loss:.4f} ± {error:.4f}")
    if options.plot is not None:
        draw(lines, options.plot)


def parts(task: Task, sizes: Sequence[int], folds: int | None) -> Iterator[tuple[str, Rows, Rows]]:
    """Yield name, training and test examples of each number of trees, smallest first.

    A fold with fewer trees has them all; numbers after the first that the smallest fold does not
    reach are left out.
    """
    splits = list(task.splits())[:folds]
    smallest = min(len(train) for train, _ in splits)
    reached = sum(size < smallest for size in sizes)
    for size in sizes[: reached + 1]:
        for fold, (train, test) in enumerate(splits):
            order = np.random.default_rng(fold).permutation(train)
            yield f"{size} trees, fold {fold}", order[:size], test


def points(lines: Sequence[Line]) -> dict[str, dict[str, list[Point]]]:
    """Return the curve of each model by task; ``chosen`` is the chosen flat model."""
    curves: dict[str, dict[str, list[Point]]] = {}
    for task, _, models in by_task(lines):
        for model, found in models.items():
            sizes: dict[int, list[Line]] = {}
            for line in found:
                sizes.setdefault(int(line["part"].split()[0]), []).append(line)
            curves.setdefault(task, {})[model] = [_point(sizes[size]) for size in sorted(sizes)]
    return curves


def _point(lines: Sequence[Line]) -> Point:
    each = [total(line["kind"], np.array(line["losses"])) for line in lines]
    error = np.std(each, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else 0.0
    return float(np.mean([line["train"] for line in lines])), float(np.mean(each)), float(error)


def draw(lines: Sequence[Line], path: Path) -> None:
    """Draw a panel for each task: our models, and the chosen flat model."""
    curves, kinds = points(lines), {line["task"]: line["kind"] for line in lines}
    figure = new_figure(figsize=(4 * len(curves), 3.6))
    if figure is None:
        return
    for axes, (task, models) in zip(
        figure.subplots(1, len(curves), squeeze=False)[0], curves.items()
    ):
        for number, (model, title) in enumerate(TITLES.items()):
            if model in models:
                x, y, error = zip(*models[model])
                axes.errorbar(x, y, error, marker="o", capsize=3, label=title, color=f"C{number}")
        axes.set(xscale="log", xlabel="training trees", ylabel=LOSSES[kinds[task]], title=task)
        ticks = sorted({round(trees) for line in models.values() for trees, _, _ in line})
        axes.set_xticks(ticks, map(str, ticks))
        axes.minorticks_off()
    axes.legend()
    save_figure(figure, path)


if __name__ == "__main__":
    main()
