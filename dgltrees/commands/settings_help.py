"""Settings from the words of a command line, and what a command's help says of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from dgltrees.commands.arguments import Layer, check_once
from dgltrees.errors import ConfigError
from dgltrees.options import Option, Options, names_below
from dgltrees.tasks.table import TASKS
from dgltrees.training.catalog import preset_values
from dgltrees.training.settings import (
    SECTIONS,
    Settings,
    flat,
    layered,
    readable_options,
    section_sources,
)

__all__ = ["settings_of", "settings_tables"]


def settings_of(preset: str, layer: Layer) -> Settings:
    """The settings of a preset with those of a command line above them.

    Arguments:
        preset: a preset's name, or the path of a YAML file.
        layer: the flags ``--data.…``, ``--model.…`` and ``--training.…`` without the dashes.

    Warns:
        UserWarning: what the preset sets is not read any more, such as the rank with another
            aggregator.

    Raises:
        ConfigError: a setting is not read, or its value is not one that it may have.
    """
    values = preset_values(preset)
    settings = Settings(layered(values, _layer_values(values, layer)))
    unread = [
        f"{section}.{name}"
        for section in SECTIONS
        for name in flat(values.get(section, {}))
        if name not in settings.sections[section]
    ]
    if unread:
        warnings.warn(
            f"{', '.join(unread)} of the preset {settings.preset} is not read with these settings",
            stacklevel=2,
        )
    return settings


def _layer_values(values: Mapping[str, Any], layer: Layer) -> dict[str, Any]:
    """The words of each flag as a value of its setting's type."""
    result: dict[str, Any] = {}
    options: Mapping[str, Option] = {}
    # Which settings are read depends on the values of others: those come first.
    for _ in range(len(layer) + 1):
        options = readable_options({**values, **_merged(values, result)})
        unparsed = [flag for flag in layer if flag not in _flags(result) and flag in options]
        if not unparsed:
            break
        for flag in unparsed:
            section, _, name = flag.partition(".")
            check_once(options[flag], flag, layer.repeated)
            value = options[flag].parse(layer[flag], flag)
            result.setdefault(section, {})[name] = value
    for flag in layer:
        section, dot, name = flag.partition(".")
        if not dot:
            sources = section_sources(TASKS[values["task"]])
            known = [
                f"{part}.{each}"
                for part, source in sources.items()
                for each in sorted(names_below(source, ""))
                if each.rpartition(".")[2] == section
            ]
            raise ConfigError(
                "expected a setting with its section before it, "
                f"{' or '.join(known) or 'such as training.epochs'}, got {flag!r}"
            )
        table = options.get(flag.rpartition(".")[0])
        if table is not None and table.takes(dict):  # an entry, such as data.columns.NAME
            entry = Option(name, dict, {}, "")
            result.setdefault(section, {})[name] = entry.parse(layer[flag], flag)
        elif flag not in _flags(result):
            result.setdefault(section, {})[name] = layer[flag]  # refused, with the reason
    return result


def _flags(result: Mapping[str, Mapping[str, Any]]) -> set[str]:
    return {f"{section}.{name}" for section, values in result.items() for name in values}


def _merged(values: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: {**values.get(name, {}), **layer.get(name, {})} for name in SECTIONS}


def settings_tables(words: Sequence[str]) -> dict[str, tuple[dict[str, Option], dict[str, Any]]]:
    """For the help of a command: each section's options that are read, with their values.

    Arguments:
        words: the command line: a preset, if there is one, and flags.
    """
    presets = [word for word in words if not word.startswith("--")][:1]
    if not presets or words[0].startswith("--"):
        return {}
    flags: dict[str, list[str]] = {}
    name = ""
    for word in words[1:]:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            flags[name] = [value] if equals else []
        elif name:
            flags[name].append(word)
    layer = Layer({k: v for k, v in flags.items() if k.split(".")[0] in SECTIONS})
    sections: Mapping[str, Options] = settings_of(presets[0], layer).sections
    tables = {name: (dict(options.options), dict(options)) for name, options in sections.items()}
    if not sections["data"].get("fine_tune"):  # the settings refuse it
        tables["training"][0].pop("pretrained_lr", None)
    return tables
