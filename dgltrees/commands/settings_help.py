"""Settings from the words of a command line, and the help about settings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from dgltrees.commands.arguments import Layer, check_once, split
from dgltrees.errors import ConfigError
from dgltrees.settings import Option, schema
from dgltrees.settings.catalog import preset_values
from dgltrees.settings.layers import SECTIONS, Settings, flat, layered, section_sources
from dgltrees.settings.tasks import get_task


def settings_of(preset: str, layer: Layer) -> Settings:
    """Return the settings of a preset, overridden by those of a command line.

    Arguments:
        preset: a preset's name, or the path of a YAML file.
        layer: the flags ``--data.…``, ``--model.…`` and ``--training.…`` without the dashes.

    Warns:
        UserWarning: settings of the preset have no effect any more, such as the rank with another
        aggregator.

    Raises:
        ConfigError: a setting has no effect, or its value is not allowed.
    """
    values = preset_values(preset)
    settings = Settings(layered(values, _layer_values(values["task"], layer)))
    unread = [
        f"{section}.{name}"
        for section in SECTIONS
        for name in flat(values.get(section, {}))
        if name not in settings.sections[section]
    ]
    if unread:
        warnings.warn(
            f"{', '.join(unread)} of the preset {settings.preset} has no effect with these "
            "settings",
            stacklevel=2,
        )
    return settings


def _layer_values(task: str, layer: Layer) -> dict[str, dict[str, Any]]:
    known = {name: schema(source) for name, source in section_sources(get_task(task)).items()}
    result: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    for flag, words in layer.items():
        section, dot, name = flag.partition(".")
        if not dot:
            full = [
                f"{part}.{each}"
                for part, options in known.items()
                for each in sorted(options)
                if each.rpartition(".")[2] == flag
            ]
            raise ConfigError(
                "expected a setting with its section, "
                f"{' or '.join(full) or 'such as training.epochs'}, got {flag!r}"
            )
        options = known[section]
        mapping = options.get(name.partition(".")[0])
        if name in options:
            check_once(options[name], flag, layer.repeated)
            result[section][name] = options[name].parse(words, flag)
        elif mapping is not None and mapping.takes(dict):  # an entry, such as data.features.NAME
            result[section][name] = Option(name, dict, {}, "").parse(words, flag)
        else:
            result[section][name] = words
    return result


def check_settings(arguments: Mapping[str, Any]) -> None:
    """Raise ConfigError if a command cannot have its settings; ignore warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for preset in arguments.get("presets") or [arguments["preset"]]:
            settings_of(preset, arguments["layer"])


def settings_tables(argv: Sequence[str]) -> dict[str, tuple[dict[str, Option], dict[str, Any]]]:
    """Return the settings with their values, for the help of a command.

    Arguments:
        argv: the command line: a preset, if there is one, and flags.

    Returns:
        The options and the values of each section; empty without a preset.
    """
    presets, flags, _ = split(argv)
    if not presets:
        return {}
    layer = Layer({k: v for k, v in flags.items() if k.split(".")[0] in SECTIONS})
    sections = settings_of(presets[0], layer).sections
    return {name: (dict(options.options), dict(options)) for name, options in sections.items()}
