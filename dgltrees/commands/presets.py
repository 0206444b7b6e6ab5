"""Commands about settings: presets, show."""

from __future__ import annotations

from dgltrees.training.catalog import describe, load_preset, preset_names

__all__ = ["presets", "show"]


def presets() -> None:
    """List the presets: name, task, model, sizes."""
    rows = []
    for name in preset_names():
        settings = load_preset(name)
        sizes = [f"c={settings.model['hidden_size']}"]
        if settings.model.get("rank") is not None:
            sizes.append(f"r={settings.model['rank']}")
        model = settings.task.display_name(settings.model)
        rows.append((name, settings.task.name, model, "  ".join(sizes)))
    widths = [max(map(len, column)) + 2 for column in zip(*rows)]
    for row in rows:
        print("".join(f"{cell:{width}}" for cell, width in zip(row, widths)).rstrip())


def show(preset: str) -> None:
    """Print the settings of a preset as YAML, ready to be edited: show PRESET.

    Arguments:
        preset: a preset's name, or a .yaml file of settings.
    """
    for line in describe(preset).splitlines():
        print(f"# {line}")
    print(load_preset(preset).to_yaml(), end="")
