"""The commands that train and that use what was trained."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from jsonargparse import ArgumentParser

from dgltrees._files import replacing
from dgltrees.commands.flags import before_flags, parse_flags
from dgltrees.commands.plots import metric_against_parameters, save_curve
from dgltrees.errors import ConfigError
from dgltrees.training.catalog import preset_values
from dgltrees.training.settings import parse, parser

__all__ = ["demo", "evaluate", "predict", "sweep", "train"]


def train(argv: Sequence[str]) -> None:
    """``train PRESET [--data.… --model.… --training.…] [--seeds N ...] --out DIR``."""
    presets = _presets(argv)
    made = settings_parser("train", presets)
    made.add_argument("--out", type=str, help="run directory; one that has begun is gone on with")
    made.add_argument("--seeds", type=int, nargs="+", help="train once a seed, in OUT/seed-N")
    settings, rest = parse(made, argv[len(presets) :])
    if len(presets) != 1:
        raise ConfigError("expected one preset or .yaml file; dgltrees presets lists the presets")
    out = _need_out(rest["out"])
    from dgltrees.tasks.table import get_task
    from dgltrees.training import processes, run

    if rest["seeds"]:
        result = run.train_seeds(settings, out, rest["seeds"])
    else:
        result = run.train(settings, out)
    if processes.is_first_process():
        model = settings.model
        save_curve(
            out,
            [get_task(settings.task).measure],
            baseline="majority",
            separate_losses=model.encoder == "rrnet" and model.policy.operations == "policy",
        )
        print(json.dumps(result))


def evaluate(argv: Sequence[str]) -> None:
    """``evaluate DIR --data.test FILE``: prints one JSON object.

    ``joint_loss`` is among it where ``decide`` has been run.
    """
    made = _run_parser("evaluate")
    files = "test files; else the run's own, or what it has kept back (data.test_part)"
    made.add_argument("--data.test", type=str, nargs="+", help=files)
    made.add_argument("--data.root", type=str, help="folder of the data sets")
    values = parse_flags(made, argv)
    from dgltrees.analyses import decisions
    from dgltrees.training import run

    where = {"test": values.data.test, "root": values.data.root}
    found = run.evaluate(values.run, **where)
    try:
        joint = decisions.joint_loss(values.run, **where)
    except ConfigError as error:  # decisions that cannot be used: the words' loss stands without
        warnings.warn(f"no joint_loss: {error}", stacklevel=1)
        joint = None
    print(json.dumps(found if joint is None else {**found, "joint_loss": joint}))


def predict(argv: Sequence[str]) -> None:
    """``predict DIR --input FILE [--out FILE]``: JSON lines."""
    made = _run_parser("predict")
    made.add_argument("--input", type=str, nargs="+", help="files of trees")
    made.add_argument("--out", type=str, help="file to write; else standard output")
    values = parse_flags(made, argv)
    if not values.input:
        raise ConfigError("expected --input FILE, the trees to predict, got none")
    from dgltrees.training import run

    lines = (json.dumps(found) for found in run.predict(values.run, values.input))
    if values.out is None:
        for line in lines:
            print(line)
        return
    with replacing(values.out) as file:
        file.writelines(line + "\n" for line in lines)


def sweep(argv: Sequence[str]) -> None:
    """``sweep PRESET [PRESET ...] --grid SETTING=VALUE,VALUE ... --seeds N ... --out DIR``."""
    presets = _presets(argv)
    made = settings_parser("sweep", presets)
    made.add_argument("--out", type=str, help="folder of the runs, the table and the plot")
    made.add_argument("--grid", type=str, nargs="+", default=[], help="SETTING=VALUE,VALUE ...")
    made.add_argument("--seeds", type=int, nargs="+", default=[0], help="seeds of every setting")
    _, rest = parse(made, argv[len(presets) :])
    out = Path(_need_out(rest["out"]))
    if not presets:
        raise ConfigError("expected a preset or .yaml file; dgltrees presets lists the presets")
    from dgltrees.commands import sweeps
    from dgltrees.training import processes

    flags = sweeps.without_flags(argv[len(presets) :], ("--out", "--grid", "--seeds"))
    points = []
    for preset in presets:
        for name, chosen in sweeps.combinations(rest["grid"]):
            settings, _ = parse(settings_parser("sweep", [preset]), [*flags, *chosen])
            points.append(sweeps.Point("-".join([settings.preset, *name]), settings))
    rows = sweeps.run_points(points, rest["seeds"], out)
    if not processes.is_first_process():
        return
    print(sweeps.table(rows))
    metric = rows[0]["measure"]
    metric_against_parameters(rows, metric, out / f"{metric}.png")


def demo(argv: Sequence[str]) -> None:
    """``demo --out DIR``: two ListOps models of equal size, compared."""
    made = ArgumentParser(prog="dgltrees demo", exit_on_error=False)
    made.add_argument("--out", type=str, default="demo", help="folder of the data and the runs")
    values = parse_flags(made, argv)
    from dgltrees.commands.demo import run_demo

    run_demo(Path(values.out))


def settings_parser(command: str, presets: Sequence[str]) -> ArgumentParser:
    """A parser of all settings; its defaults are the first preset's."""
    defaults = preset_values(presets[0]) if presets else None
    return parser(f"dgltrees {command} PRESET", defaults)


def _presets(argv: Sequence[str]) -> list[str]:
    """The presets, which come before the flags; none where help is asked for."""
    presets = before_flags(argv)
    if not presets and argv and not {"-h", "--help"} & set(argv):
        raise ConfigError(
            f"expected a preset or .yaml file, got {argv[0]}; the preset comes first, then the "
            "flags (dgltrees presets lists the presets)"
        )
    return presets


def _need_out(out: Optional[str]) -> str:
    if out is None:
        raise ConfigError("expected --out DIR, the folder to write to, got none")
    return out


def _run_parser(command: str) -> ArgumentParser:
    made = ArgumentParser(prog=f"dgltrees {command}", exit_on_error=False)
    made.add_argument("run", type=str, help="a run directory")
    return made
