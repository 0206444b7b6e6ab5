"""Commands about settings: presets, show."""

from __future__ import annotations

import warnings

from dgltrees._tables import aligned
from dgltrees.errors import ConfigError
from dgltrees.settings.catalog import describe, load_preset, paper_of, preset_names
from dgltrees.settings.source import reading_sources


def presets() -> None:
    """List the presets with task, model, size, rank, and the table of the paper."""
    rows = [("preset", "task", "model", "size", "rank", "paper")]
    with reading_sources():
        for name in preset_names():
            try:
                settings = load_preset(name)
            except ConfigError as error:
                warnings.warn(f"{error}; it is left out", stacklevel=2)
                continue
            model = settings.model
            rank = "" if model.get("rank") is None else str(model["rank"])
            display_name = settings.task.display_name(model)
            size = str(model["hidden_size"])
            rows.append((name, settings.task.name, display_name, size, rank, paper_of(name)))
    print("\n".join(aligned(rows)))


def show(preset: str) -> None:
    """Print the settings of a preset as YAML: show PRESET.

    Arguments:
        preset: name of a preset, or a .yaml file of settings.
    """
    with reading_sources():
        text = load_preset(preset).to_yaml()
    for line in (*describe(preset).splitlines(), *filter(None, [paper_of(preset)])):
        print(f"# {line}")
    print(text, end="")
