"""Whole runs: train one or several, evaluate one, predict with one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

import torch
from lightning_fabric import Fabric
from torch import nn

import dgltrees
from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.metrics.accuracy import Outputs
from dgltrees.metrics.intervals import summarize
from dgltrees.tasks.files import data_files
from dgltrees.tasks.settings import Files
from dgltrees.tasks.splits import (
    Splits,
    load_examples,
    load_splits,
    most_children,
    vocabularies,
)
from dgltrees.tasks.table import get_task
from dgltrees.tasks.task import Task
from dgltrees.training.evaluation import run_model
from dgltrees.training.loop import Trainer
from dgltrees.training.optimizers import make_optimizer
from dgltrees.training.processes import is_first_process, make_fabric
from dgltrees.training.rundir import RunDirectory, fingerprints, reading, write_json
from dgltrees.training.settings import Settings
from dgltrees.trees import Examples

__all__ = [
    "Prepared",
    "evaluate",
    "load_run",
    "make_fabric",
    "predict",
    "prepare",
    "run_on_files",
    "train",
    "train_seeds",
]


@dataclass(frozen=True)
class Prepared:
    """What a run needs before it begins: settings with ``max_children`` found, data, model."""

    settings: Settings
    task: Task
    splits: Splits
    test: Optional[Examples]
    model: nn.Module


def prepare(settings: Settings) -> Prepared:
    """Read all data and build the model in its initial state; nothing is written.

    Raises:
        ConfigError: settings cannot be used.
        TreeError: data are not what the task reads.
    """
    task = get_task(settings.task)
    limit = settings.model.max_children or task.max_children if settings.model.bounded else None
    splits = load_splits(task, settings.data, limit)
    if settings.model.max_children is None and settings.model.bounded:
        most = limit or max(map(most_children, splits.all))
        settings = replace(settings, model=replace(settings.model, max_children=most))
    names, files, test = vocabularies(splits.train), data_files(settings.data, "test"), splits.test
    if files:
        test = load_examples(task, settings.data, files, names, settings.model.max_children)
    torch.manual_seed(settings.training.seed)
    model = task.build(settings.model, names)
    task.start(model, settings.data, splits.train)
    make_optimizer(settings.training, model.parameters())  # refuses what it cannot use
    return Prepared(settings, task, splits, test, model)


def train(settings: Settings, out: PathLike, *, bar: Optional[bool] = None) -> dict[str, Any]:
    """Train in the run directory ``out``, from where it stands.

    Arguments:
        settings: all settings.
        out: the run directory; one that has begun is gone on with.
        bar: whether to show a progress bar; without a choice, where there is a terminal.

    Returns:
        what ``result.json`` holds: the best epoch, its metrics on the validation examples, and
        on the test examples if the settings name any.

    Raises:
        ConfigError: settings cannot be used, or do not fit the run in ``out``.
        TreeError: data are not what the task reads.
    """
    fabric, run = make_fabric(settings.training), RunDirectory(out)
    files = fingerprints(settings)
    run.check(settings, files)
    ready = prepare(settings)
    task, splits, model = ready.task, ready.splits, ready.model
    majority, parameters = task.majority(splits.train), task.parameters(model)
    trainer = Trainer(task, splits, model, settings.training, fabric, run, majority, bar)
    fabric.barrier()  # nobody writes before all have checked
    if fabric.is_global_zero and not run.begun:
        about = {
            "dgltrees": dgltrees.__version__,
            "files": files,
            "majority": majority,
            "parameters": parameters,
            "examples": {"train": len(splits.train), "valid": len(splits.valid or ())},
        }
        run.begin(ready.settings, vocabularies(splits.train), about)
    fabric.barrier()
    progress = trainer.fit()
    valid = progress.history[progress.best_epoch - 1] if progress.history else {}
    result: dict[str, Any] = {"best_epoch": progress.best_epoch, "parameters": parameters}
    prefix = "valid_"
    result["valid"] = {k[len(prefix) :]: v for k, v in valid.items() if k.startswith(prefix)}
    if ready.test is not None:
        model.load_state_dict(run.weights())
        result["test"] = task.report(
            ready.test, run_model(model, task, ready.test, fabric), majority
        )
    if fabric.is_global_zero:
        write_json(run / "result.json", result)
    return result


def train_seeds(
    settings: Settings, out: PathLike, seeds: Sequence[int], *, bar: Optional[bool] = None
) -> dict[str, Any]:
    """Train once a seed, in ``out/seed-N``; the mean, deviation and interval of every metric.

    The seeds decide initial parameters, order and dropout; the split of the data stays.

    Raises:
        ConfigError: a seed is there twice, or as :func:`train`.
        TreeError: data are not what the task reads.
    """
    if len(set(seeds)) < len(seeds):
        raise ConfigError(f"expected every seed once, got {' '.join(map(str, seeds))}")
    loops = [replace(settings.training, seed=seed) for seed in seeds]
    results = [
        train(replace(settings, training=loop), Path(out) / f"seed-{loop.seed}", bar=bar)
        for loop in loops
    ]
    summary: dict[str, Any] = {"seeds": list(seeds), "parameters": results[0]["parameters"]}
    for part in ("valid", "test"):
        if results[0].get(part):
            summary[part] = {
                name: summarize([r[part][name] for r in results]).to_dict()
                for name, value in results[0][part].items()
                if isinstance(value, float)
            }
    if is_first_process():
        write_json(Path(out) / "summary.json", summary)
    return summary


def load_run(path: PathLike, fabric: Fabric) -> tuple[RunDirectory, Settings, Task, nn.Module]:
    """The run at ``path``, its settings, its task, and its model with the best epoch's weights.

    Raises:
        ConfigError: there is no run, one of another format version, it has no weights yet, or a
            file of it is damaged.
    """
    run = RunDirectory(path)
    run.about()
    settings = run.settings()
    task = get_task(settings.task)
    with reading(run / "vocabulary"):
        model = task.build(settings.model, run.vocabularies())
    fabric.setup_module(model)
    weights = run.weights()
    with reading(run / "weights.safetensors"):
        model.load_state_dict(weights)
    return run, settings, task, model


def evaluate(
    path: PathLike,
    *,
    test: Files = None,
    root: Optional[str] = None,
    fabric: Optional[Fabric] = None,
) -> dict[str, Any]:
    """The metrics of the run at ``path`` on test files, or on what it has kept back for testing.

    Arguments:
        path: the run directory.
        test: the files; without them the run's own, or the part ``data.test_part`` of its training
            files.
        root: the folder under which they lie; without it, the run's.
        fabric: device and processes; without it, one device as the run's settings say.

    Raises:
        ConfigError: there is no usable run, no test file is named and nothing kept back, or the
            training files, of which it was, have changed.
        TreeError: a test file is not what the task reads.
    """
    fabric = fabric or make_fabric(RunDirectory(path).one_device())
    run, settings, task, model = load_run(path, fabric)
    asked = replace(settings.data, test=test or settings.data.test, root=root or settings.data.root)
    files, most = data_files(asked, "test"), settings.model.max_children
    if files:
        data = load_examples(task, asked, files, run.vocabularies(), most)
    else:
        data = _kept_back(run, task, replace(settings, data=asked))
    return task.report(data, run_model(model, task, data, fabric), run.about()["majority"])


def _kept_back(run: RunDirectory, task: Task, settings: Settings) -> Examples:
    """The test examples that were kept back of the training files."""
    if not settings.data.test_part:
        raise ConfigError("expected test files, got none; give --data.test FILE")
    run.check(settings, fingerprints(settings))  # other files would be parted in another way
    test = load_splits(task, settings.data, settings.model.max_children).test
    if test is None:
        raise ConfigError(
            f"expected test examples, got none: {settings.data.test_part} of the training examples "
            "is less than one; give --data.test FILE"
        )
    return test


def run_on_files(path: PathLike, files: Sequence[PathLike]) -> tuple[Task, Examples, Outputs]:
    """The task of the run at ``path``, the examples of ``files``, and what it gives for them.

    Raises:
        ConfigError: there is no usable run.
        TreeError: a file is not what the task reads.
    """
    fabric = make_fabric(RunDirectory(path).one_device())
    run, settings, task, model = load_run(path, fabric)
    asked = replace(settings.data, test=[os.fspath(file) for file in files])
    paths = data_files(asked, "test", "--input")
    data = load_examples(task, asked, paths, run.vocabularies(), settings.model.max_children)
    return task, data, run_model(model, task, data, fabric)


def predict(path: PathLike, files: Sequence[PathLike]) -> Iterator[dict[str, Any]]:
    """Predictions of the run at ``path`` for all examples of ``files``, one at a time.

    What each holds, the task says; see :meth:`~dgltrees.tasks.task.Task.predictions`.

    Raises:
        ConfigError: there is no usable run.
        TreeError: a file is not what the task reads.
    """
    task, data, outputs = run_on_files(path, files)
    yield from task.predictions(data, outputs)
