"""The commands about data and settings: make, draw, presets, show."""

from __future__ import annotations

import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Sequence

from jsonargparse import ArgumentParser, DefaultHelpFormatter

from dgltrees.commands.flags import before_flags, parse_flags
from dgltrees.training.catalog import describe, load_preset, preset_names, preset_values
from dgltrees.training.settings import model_settings

__all__ = ["draw", "make", "presets", "show"]


def make(argv: Sequence[str]) -> None:
    """``make NAME --out DIR [--seed N ...]``: writes a synthetic data set."""
    from dgltrees.formats.synthetic import GENERATORS

    made = ArgumentParser(prog="dgltrees make NAME", exit_on_error=False)
    made.add_argument("name", choices=list(GENERATORS), help="what to make")
    names = before_flags(argv)
    if names and names[0] in GENERATORS:
        made.add_function_arguments(GENERATORS[names[0]], skip={"out"})
    made.add_argument("--out", type=str, help="the folder to write to", required=True)
    values = parse_flags(made, argv).as_dict()
    for path in GENERATORS[values.pop("name")](**values).values():
        print(path)


def presets(argv: Sequence[str]) -> None:
    """``presets``: one line a preset: name, task, model, sizes."""
    from dgltrees.tasks.table import get_task

    parse_flags(ArgumentParser(prog="dgltrees presets", exit_on_error=False), argv)
    for name in preset_names():
        values = preset_values(name)
        model = model_settings(values["model"])
        rank = "" if model.rank is None else f"  r={model.rank}"
        kind = get_task(values["task"]).kind(model)
        print(f"{name:32}{values['task']:12}{kind:30}c={model.hidden_size}{rank}")


def show(argv: Sequence[str]) -> None:
    """``show PRESET``: prints all settings of a preset as YAML, ready to be edited."""
    made = ArgumentParser(prog="dgltrees show", exit_on_error=False)
    made.add_argument("preset", type=str, help="a preset or a .yaml file")
    name = parse_flags(made, argv).preset
    for line in describe(name).splitlines():
        print(f"# {line}")
    print(load_preset(name).to_yaml(), end="")


def draw(argv: Sequence[str]) -> None:
    """``draw FILE [--trees 0:5] [--out FILE.svg]``: trees as SVG or text."""
    from dgltrees.draw.files import draw_file
    from dgltrees.formats import FORMATS

    formats = "\n".join(f"  {name:12}{form.description}" for name, form in FORMATS.items())
    made = ArgumentParser(
        prog="dgltrees draw",
        exit_on_error=False,
        epilog=f"Formats:\n{formats}",
        formatter_class=_HelpFormatter,
    )
    made.add_argument("path", type=str, help="a file of trees")
    made.add_function_arguments(draw_file, skip={"path"})
    values = parse_flags(made, argv).as_dict()
    if values["style"] is None and values["out"] is None and not _speaks_utf8():
        values["style"] = "ascii"
    drawing = draw_file(**values)
    if values["out"] is None:
        print(drawing)


class _HelpFormatter(DefaultHelpFormatter, RawDescriptionHelpFormatter):
    """Keeps the lines of an epilog."""


def _speaks_utf8() -> bool:
    return (sys.stdout.encoding or "ascii").lower().startswith("utf")
