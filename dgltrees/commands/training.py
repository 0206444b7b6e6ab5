"""Commands that train: one run, several seeds, or a grid."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dgltrees.commands import plots, sweeps
from dgltrees.commands.arguments import Layer, resumable
from dgltrees.commands.output_plots import draw_outputs
from dgltrees.commands.settings_help import settings_of
from dgltrees.errors import ConfigError
from dgltrees.settings import Seed
from dgltrees.tasks.custom_trees.base import CustomTreesTask
from dgltrees.training import run
from dgltrees.training.device import is_first_process


@resumable
def train(preset: str, *, out: str, seeds: list[Seed] | None = None, layer: Layer) -> None:
    """Train a model: train PRESET --out DIR.

    Prints a line per epoch to standard error: the training loss and a validation metric, with ``*``
    at the best epoch so far. OUT/metrics.jsonl has all metrics of each epoch. OUT/result.json has
    the epoch whose weights are kept (``best_epoch``; with training.keep last, the last one), its
    metrics and the numbers of parameters; unless standard output is a terminal, it is printed there
    too. If matplotlib is installed, OUT also has plots: the learning curve, and for custom trees a
    confusion matrix, or a plot of predicted against true numbers. The same command resumes a
    stopped run. ``dgltrees train PRESET --help`` lists the settings of a preset.

    Arguments:
        preset: name of a preset (``dgltrees presets`` lists them), or a .yaml file of settings.
        out: the run directory; a run that was started there is resumed.
        seeds: train once per seed, in OUT/seed-N.
        layer: settings that override those of the preset.
    """
    _check_seeds(seeds, layer)
    settings = settings_of(preset, layer)
    draws = isinstance(settings.task, CustomTreesTask) and plots.has_matplotlib()
    on_outputs = draw_outputs if draws else None
    if seeds:
        result = run.train_seeds(settings, out, seeds, on_outputs=on_outputs)
    else:
        result = run.train(settings, out, on_outputs=on_outputs)
    if is_first_process():
        metrics = list(dict.fromkeys([settings.compared, *settings.task.metrics]))
        apart = settings.task.separate_losses(settings.model)
        folder = Path(out)
        runs = sorted(folder.glob("seed-*")) if seeds else [folder]
        plots.learning_curve(runs, folder / "curve.png", metrics, separate_losses=apart)
        if not sys.stdout.isatty():
            print(json.dumps(result))


@resumable
def sweep(
    presets: list[str],
    *,
    out: str,
    grid: list[str] | None = None,
    seeds: list[Seed] | None = None,
    layer: Layer,
) -> None:
    """Train a grid of settings and seeds: sweep PRESET --grid model.rank=3,5.

    Prints a table of means and standard deviations of the metric training.monitor, and plots it
    against the number of parameters of the cell. The same command resumes a stopped sweep. With
    other presets or settings in --grid, it adds their points to the table.

    Arguments:
        presets: one or several presets, or .yaml files of settings.
        out: folder of the runs, the table and the plot.
        grid: settings and their values, SETTING=VALUE,VALUE ...; every combination is trained.
        seeds: seeds of every point of the grid; by default 0.
        layer: settings that override those of the presets.
    """
    points = []
    for preset in presets:
        for name, chosen in sweeps.combinations(grid or []):
            _check_seeds(seeds, {**layer, **chosen})
            with sweeps.at_point("-".join([preset, *name])):
                settings = settings_of(preset, Layer({**layer, **chosen}, layer.repeated))
            points.append(("-".join([settings.preset, *name]), settings))
    folder = Path(out)
    rows = sweeps.run_points(points, seeds, folder)
    if is_first_process():
        metric = points[0][1].compared
        print(sweeps.table(rows, metric))
        picture = folder / f"{metric.name}.png"
        plots.metric_against_parameters(rows, metric, picture)
        files = [
            folder / "table.txt",
            folder / "table.json",
            *([picture] if picture.exists() else []),
        ]
        print(f"dgltrees: wrote {', '.join(map(str, files))}", file=sys.stderr)


def _check_seeds(seeds: list[int] | None, settings: Mapping[str, Any]) -> None:
    if seeds and "training.seed" in settings:
        raise ConfigError("expected --seeds or training.seed, got both; leave one of them out")
