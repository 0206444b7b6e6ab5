"""Whole runs: prepare one, train one or several."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from tqdm import tqdm

import dgltrees
from dgltrees._files import PathLike, checksum
from dgltrees.cells.aggregators.base import MAX_ENTRIES
from dgltrees.cells.compiled.kernels import available, compiled
from dgltrees.errors import ConfigError, TreeError, called
from dgltrees.settings.layers import Settings, TrainingSettings, flat
from dgltrees.tasks.files import data_files
from dgltrees.tasks.splits import (
    Splits,
    limit_of_children,
    load_examples,
    load_splits,
    most_children,
)
from dgltrees.tasks.task import Columns, Task
from dgltrees.training.device import (
    check_processes,
    is_first_process,
    make_fabric,
    name_torchrun,
    one_device,
    usable_cores,
)
from dgltrees.training.evaluation import run_model
from dgltrees.training.files import locked, write_json
from dgltrees.training.loggers import log_settings, make_logger
from dgltrees.training.loop import OnEpoch, Prepared, Trainer, print_epoch, shown_metrics
from dgltrees.training.optimizers import check_optimizer
from dgltrees.training.rundir import (
    RunDirectory,
    check_folder_of_runs,
    encoder_fingerprint,
    fingerprints,
)
from dgltrees.training.trained import TrainedModel
from dgltrees.trees import LabeledTrees

if TYPE_CHECKING:
    from lightning_fabric import Fabric

REPAYS = 2**22
"""Nodes times epochs from which compiling saves time: it takes about 10 s for a cell, and saves 1
to 7 microseconds per node and epoch, for any size of states. (Measured on one core with batches of
25 trees of 20 nodes and 64 of 60, child-sum, N-ary and GRU cells of size 8 to 256.)"""

LARGE_CELL = 2**19
"""Parameters of a cell from which two threads are faster than one: 1.1 to 1.8 times, and 0.7 to 1.4
times with 2^15. (Measured as above, on two cores.)"""

OnOutputs = Callable[[Path, Task, LabeledTrees, Columns], None]
"""Called with the folder of a run, its task, examples, and the model's outputs for them."""


Weights = Mapping[str, Tensor]
"""Parameters and buffers of a model by name."""


@contextlib.contextmanager
def _bounded_parameters() -> Iterator[None]:
    """Raise MemoryError for a parameter that is too large, before it is allocated."""

    def check(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        if parameter is not None and parameter.numel() > MAX_ENTRIES:
            raise MemoryError(
                f"{type(module).__name__}.{name} has {parameter.numel():,} entries, over the limit "
                f"of {MAX_ENTRIES:,} of memory for one parameter"
            )

    with register_module_parameter_registration_hook(check):
        yield


def prepare(settings: Settings) -> Prepared:
    """Read all data and build the model in its initial state; nothing is written."""
    check_optimizer(settings.training)
    return _prepare(settings, None, None)


def _prepare(settings: Settings, splits: Splits | None, start: Weights | None) -> Prepared:
    """Prepare a run as :func:`prepare`, from these examples and weights if there are any."""
    task = settings.task
    if splits is None:
        settings = settings.replace("data", **task.inferred_settings(settings.data))
    limit = limit_of_children(settings.model, task.max_children)
    splits = splits or load_splits(task, settings.data, limit)
    if settings.model.get("max_children", 0) is None:
        most = task.max_children or max(map(most_children, splits.all))
        settings = settings.replace("model", max_children=most)
    names, files, test = splits.train.schema, data_files(settings.data, "test"), splits.test
    if files:
        test = load_examples(task, settings.data, files, names, limit_of_children(settings.model))
    torch.manual_seed(settings.training.seed)
    try:
        with _bounded_parameters():
            model = task.build(settings.model, names)
    except (MemoryError, OverflowError, RuntimeError, TypeError) as error:
        what = f"{type(error).__name__}: {str(error).partition(chr(10))[0]:.200}"
        if not any(word in what.lower() for word in ("memory", "overflow")):
            raise
        name, value = max(settings.model.items(), key=lambda item: _largest(item[1]))
        raise ConfigError(
            f"expected a model that fits into memory, got a larger one with "
            f"{called(f'model.{name}')} {value!r}: {what}"
        ) from None
    task.init_from_data(model, settings.data, splits.train)
    if start is not None:
        model.load_state_dict(start)
    return Prepared(settings, splits, test, model)


def _largest(value: Any) -> int:
    """Return the largest integer of a setting; 0 without one."""
    members = value if isinstance(value, (list, tuple)) else [value]
    return max((each for each in members if isinstance(each, int)), default=0)


def train(
    settings: Settings,
    out: PathLike,
    splits: Splits | None = None,
    *,
    bar: bool | None = None,
    on_epoch: OnEpoch = print_epoch,
    on_outputs: OnOutputs | None = None,
    start: Weights | None = None,
) -> dict[str, Any]:
    """Train in the run directory ``out``, or resume the training there."""
    check_optimizer(settings.training)  # before anything is read or written
    check_processes(settings.task)
    logger = make_logger(settings.training.logger, Path(out))
    fabric, run = make_fabric(settings.training, logger=logger), RunDirectory(out)
    alone = fabric.world_size == 1 and fabric.device.type == "cuda" and not settings.task.stateful
    if alone and splits is None:  # those of an estimator have no command
        name_torchrun(torch.cuda.device_count())
    files = _fingerprints(settings, splits, start)
    run.check(settings, files)
    with locked(run.path) if fabric.is_global_zero else contextlib.nullcontext():
        run.check(settings, files)  # what another process did in the meantime
        try:
            *_, result = _train(
                settings, splits, fabric, run, files, bar, on_epoch, on_outputs, start
            )
            return result
        except (ConfigError, TreeError):
            if fabric.is_global_zero:
                run.clear()
            raise


def train_in_memory(
    settings: Settings,
    splits: Splits,
    *,
    bar: bool | None = None,
    on_epoch: OnEpoch = print_epoch,
    start: Weights | None = None,
) -> tuple[TrainedModel, list[dict[str, Any]], dict[str, Any]]:
    """Train without a run directory; nothing is written, and nothing can be resumed."""
    check_optimizer(settings.training)
    check_processes(settings.task)
    fabric, files = make_fabric(settings.training), _fingerprints(settings, splits)
    trainer, metadata, result = _train(
        settings, splits, fabric, None, files, bar, on_epoch, None, start
    )
    ready = trainer.ready
    trainer.load_best()
    # of several processes each predicts by itself, and Fabric is not for several threads
    device, schema = one_device(settings.training), splits.train.schema
    run = TrainedModel(ready.settings, schema, ready.model.eval(), device, metadata)
    return run, trainer.progress.history, result


def _fingerprints(
    settings: Settings, splits: Splits | None, start: Weights | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Return fingerprints of the data of a run, in files or in memory, which show changes."""
    files = {**fingerprints(settings), **encoder_fingerprint(settings)}
    if splits is not None:
        sums = splits.checksum()
        if start is not None:
            parts = (each.cpu().reshape(-1).view(torch.uint8).numpy() for each in start.values())
            sums = checksum([sums.encode(), *(part.tobytes() for part in parts)])
        files["train"] = [{"name": None, "sha256": sums}]
    return files


def compiles_run(settings: TrainingSettings, nodes: int, run: RunDirectory | None = None) -> bool:
    """Return whether all traversals of a run are compiled, or none.

    This depends only on the settings, the training data and whether numba is installed. It does not
    depend on timings, caches or previous runs. A resumed run keeps its decision.
    """
    if run is not None and run.started:
        began = run.metadata()["compiled"]
        if began and not available():
            raise ConfigError(
                f"{run.path} was started with numba, which is not available here; install it (pip "
                "install 'dgltrees[compile]'), or choose another directory"
            )
        return bool(began)
    if settings.compile and not available():
        raise ConfigError(
            f"missing numba for {called('training.compile')} true; install it (pip install "
            "'dgltrees[compile]'), or leave the setting out"
        )
    if settings.compile is not None:
        return settings.compile
    return available() and nodes * settings.epochs >= REPAYS


def _threads(
    settings: TrainingSettings, parameters: int, processes: int, run: RunDirectory | None
) -> int:
    """Set the number of threads of this process: the setting, or a number for the size of the cell.

    A resumed run gets the number that it began with.
    """
    cores = usable_cores()
    if run is not None and run.started:
        threads = int(run.metadata()["threads"])
        if settings.threads is None and threads > max(1, cores // processes):
            raise ConfigError(
                f"{run.path} was started with {threads} threads, but {cores} cores are usable "
                "here; resume it on a machine with more cores, or choose another directory"
            )
    elif settings.threads is not None:
        threads = settings.threads
    else:
        threads = min(2 if parameters >= LARGE_CELL else 1, max(1, cores // processes))
    torch.set_num_threads(threads)
    return threads


@torch.inference_mode(False)  # a caller may have switched gradients off
def _train(
    settings: Settings,
    splits: Splits | None,
    fabric: Fabric,
    run: RunDirectory | None,
    files: dict[str, Any],
    bar: bool | None,
    on_epoch: OnEpoch,
    on_outputs: OnOutputs | None,
    start: Weights | None,
) -> tuple[Trainer, dict[str, Any], dict[str, Any]]:
    """Train in a run directory that this process has locked, or in memory."""
    ready = _prepare(settings, splits, start)
    trainer = Trainer(ready, fabric, run, bar, on_epoch)
    learned, valid = ready.splits.train, ready.splits.valid
    parameters = ready.settings.task.parameters(ready.model)
    nodes = int(learned.sizes.sum())
    compiles = compiles_run(ready.settings.training, nodes, run)
    metadata = {
        "dgltrees": dgltrees.__version__,
        "files": files,
        "majority": trainer.majority,
        "parameters": parameters,
        "examples": {"train": len(learned), "valid": len(valid or ())},
        "compiled": compiles,
        "numba": available(),
        "threads": _threads(
            ready.settings.training, parameters["cell"] or 0, fabric.world_size, run
        ),
    }
    prints = bar is not False and fabric.is_global_zero
    if prints:
        how = "compiled" if compiles else "not compiled"
        text = f"{how} ({nodes:,} nodes, at most {ready.settings.training.epochs:,} epochs)"
        tqdm.write(f"dgltrees: {text}", file=sys.stderr)
    fabric.barrier()  # nobody writes before all have checked
    if run is not None and fabric.is_global_zero and not run.started:
        run.start(ready.settings, learned.schema, metadata)
    log_settings(fabric, flat(ready.settings.to_dict()))
    fabric.barrier()
    with compiled(compiles):
        trainer.fit()
        trainer.calibrate()
        result = _result(trainer, parameters, on_outputs)
    if run is not None and fabric.is_global_zero:
        run.write_values("result.json", result)
    if prints:
        tqdm.write(_last_line(ready.settings, result, run), file=sys.stderr)
    fabric.barrier()  # all end together, after what the first process alone does
    for logger in fabric.loggers:
        logger.finalize("success")
    return trainer, metadata, result


def _last_line(settings: Settings, result: dict[str, Any], run: RunDirectory | None) -> str:
    """Return the epoch that is kept, its metrics on test or validation examples, and the files."""
    part = "test" if "test" in result else "valid"
    metrics = ", ".join(shown_metrics(result.get(part, {}), settings, 3))
    kept = "kept, the last" if settings.training.keep == "last" else "the best"
    text = f"dgltrees: epoch {result['best_epoch']} is {kept}"
    text += f": {part} {metrics}" if metrics else ""
    if run is not None:
        text += f"; all results are in {run / 'result.json'}, those of each epoch in metrics.jsonl"
    return text


def _result(
    trainer: Trainer, parameters: dict[str, Any], on_outputs: OnOutputs | None
) -> dict[str, Any]:
    ready, fabric, progress = trainer.ready, trainer.fabric, trainer.progress
    task, splits, test = ready.settings.task, ready.splits, ready.test
    best = progress.history[progress.best_epoch - 1] if progress.history else {}
    of_epoch = {k.removeprefix("valid_"): v for k, v in best.items() if k.startswith("valid_")}
    valid = trainer.valid_report or of_epoch
    result = {"best_epoch": progress.best_epoch, "parameters": parameters}
    if valid:
        result["valid"] = valid
    if trainer.interrupted:
        result["interrupted"] = True
    last = splits.valid if test is None else test
    if last is not None and (test is not None or on_outputs is not None):
        trainer.load_best()
        outputs = run_model(ready.model, task, last, fabric)
        if test is not None:
            result["test"] = task.report(test, outputs, trainer.majority)
        if on_outputs is not None and trainer.run is not None and fabric.is_global_zero:
            on_outputs(trainer.run.path, task, last, outputs)
    if fabric.is_global_zero:
        baselines = task.baselines(ready.settings.data, splits, test)
        if baselines:
            result["baselines"] = baselines
    return result


def train_seeds(
    settings: Settings,
    out: PathLike,
    seeds: Sequence[int],
    *,
    on_outputs: OnOutputs | None = None,
) -> dict[str, Any]:
    """Train once per seed, in ``out/seed-N``, and summarise every metric over the runs.

    A seed determines initial parameters, order and dropout; all runs have the same data split.
    """
    if len(set(seeds)) < len(seeds):
        raise ConfigError(f"expected every seed once, got {' '.join(map(str, seeds))}")
    check_folder_of_runs(Path(out))
    runs = [settings.replace("training", seed=seed) for seed in seeds]
    results = []
    for each in runs:
        directory = Path(out) / f"seed-{each.training.seed}"
        if is_first_process():
            tqdm.write(f"{directory}:", file=sys.stderr)
        results.append(train(each, directory, on_outputs=on_outputs))
    summary: dict[str, Any] = {"seeds": list(seeds), "parameters": results[0]["parameters"]}
    for part in ("valid", "test"):
        if results[0].get(part):
            summary[part] = {
                name: _mean_and_deviation([r[part][name] for r in results])
                for name, value in results[0][part].items()
                if isinstance(value, float) and all(name in r[part] for r in results)
            }
    if is_first_process():
        write_json(Path(out) / "summary.json", summary)
        text = f"{Path(out) / 'summary.json'} has the means of {len(seeds)} seeds"
        tqdm.write(f"dgltrees: {text}", file=sys.stderr)
    return summary


def _mean_and_deviation(values: Sequence[float]) -> dict[str, float]:
    """Return the mean and the sample standard deviation, 0 for a single value."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {"mean": float(np.mean(values)), "deviation": deviation, "runs": len(values)}
