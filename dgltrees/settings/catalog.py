"""Presets: named settings, which may extend one another."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import takewhile
from pathlib import Path
from typing import Any

from dgltrees import registry
from dgltrees._files import check_is_file
from dgltrees.errors import ConfigError, file_problem
from dgltrees.registry import Registry
from dgltrees.settings.layers import SECTIONS, Settings, layered
from dgltrees.settings.resolve import nearest
from dgltrees.settings.tasks import TASKS
from dgltrees.settings.values import load_yaml

Presets = Mapping[str, Mapping[str, Any]]


def _wrong(name: str, presets: Any) -> str:
    fits = isinstance(presets, Mapping) and all(
        isinstance(key, str) and isinstance(values, Mapping) for key, values in presets.items()
    )
    return "" if fits else "it is not a mapping of names to mappings of settings"


PRESETS: Registry[Presets] = Registry(
    "presets", {"core": "dgltrees.settings.presets:PRESETS"}, _wrong
)
"""The presets of the core, of each paper and of other packages."""


def preset_names() -> list[str]:
    """Return the names of all presets whose bases and tasks are installed."""
    presets = _presets()
    return sorted((name for name in presets if _is_complete(name, presets)), key=_natural)


def describe(name: str) -> str:
    """Return the description of a preset, or of the preset that it extends.

    The description of a YAML file is the comment at its beginning.
    """
    for each, _ in _with_bases(name):
        about = _head_comment(each) if _is_file(each) else _preset(each).get("about", "")
        if about:
            return str(about)
    return ""


def paper_of(name: str) -> str:
    """Return the table or figure of the paper that a preset reproduces, empty if there is none.

    It is the value of ``paper`` in the preset or in its base.
    """
    layers = (values for _, values in _with_bases(name))
    return next((values["paper"] or "" for values in layers if "paper" in values), "")


def _with_bases(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a preset with its own values, then the preset that it extends, each of them once."""
    seen: list[str] = []
    while name and name not in seen:
        try:
            values = _own_values(name)
        except ConfigError as error:
            if not seen:
                raise
            where = seen[-1] if _is_file(seen[-1]) else f"preset {seen[-1]}"
            raise ConfigError(f"{where}: base: {error}") from None
        seen.append(name)
        yield name, values
        base = values.get("base", "")
        name = os.path.normpath(Path(name).parent / base) if _is_file(base) else base


def load_preset(name: str) -> Settings:
    """Return the settings of a preset; see :func:`preset_values`."""
    return Settings(preset_values(name))


def preset_values(name: str) -> dict[str, Any]:
    """Return the settings of a preset and its bases as nested mappings."""
    layers = [*_with_bases(name)]
    if layers and (base := layers[-1][1].get("base")):
        names = [*(each for each, _ in layers), base]
        raise ConfigError(f"preset {name} extends itself: {' -> '.join(names)}")
    merged: dict[str, Any] = {}
    for layer_name, values in reversed(layers):
        layer = {key: values[key] for key in values if key not in ("base", "paper")}
        try:
            merged = layered(merged, layer)
        except ConfigError as error:
            raise ConfigError(f"preset {layer_name}: {error}") from None
    preset = merged.get("preset") or (Path(name).stem if _is_file(name) else name)
    if not isinstance(preset, str) or Path(preset).name != preset or preset == "..":
        raise ConfigError(
            f"expected preset in {name} to be a name without folders, got {preset!r:.60}"
        )
    merged["preset"] = preset
    return merged


def _presets() -> dict[str, Mapping[str, Any]]:
    """Return all presets by name; a second preset of the same name is ignored with a warning."""
    found: dict[str, Mapping[str, Any]] = {}
    holders: dict[str, str] = {}
    for holder, presets in PRESETS.items():
        for name, values in presets.items():
            if name in found:
                warnings.warn(
                    f"the preset {name!r} is in {PRESETS.origin(holders[name])} and in "
                    f"{PRESETS.origin(holder)}; the second one is ignored",
                    stacklevel=1,  # one place, so that it is seen once
                )
            else:
                found[name], holders[name] = values, holder
    return found


def _is_complete(name: str, presets: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether the bases of a preset and its task are installed."""
    tasks: list[Any] = []
    base: Any = name
    for _ in presets:  # as long as a chain can be
        if not base:
            break
        if not isinstance(base, str) or base not in presets:
            return False
        tasks += [presets[base]["task"]] if "task" in presets[base] else []
        base = presets[base].get("base", "")
    return bool(tasks) and all(task in list(TASKS) for task in tasks)


def _preset(name: str) -> Mapping[str, Any]:
    """Return a preset as its package defines it."""
    presets = _presets()
    if name in presets:
        return presets[name]
    missing = registry.missing_paper(name)
    if missing:
        raise ConfigError(f"preset {name!r} belongs to {missing}")
    near = nearest(name, preset_names(), "a file of settings ends in .yaml", number=3)
    raise ConfigError(f"no preset {name!r}; {near} (dgltrees presets lists all)")


def _own_values(name: str) -> dict[str, Any]:
    """Return the values of a preset or file, without those of its base."""
    values = _file_values(name) if _is_file(name) else deepcopy(dict(_preset(name)))
    if not _is_file(name):
        values.pop("about", None)
    if not isinstance(values.get("base", ""), str):
        raise ConfigError(f"expected base in {name} to name a preset, got {values['base']!r}")
    if not isinstance(values.get("task", ""), str):
        raise ConfigError(f"expected task in {name} to be a string, got {values['task']!r:.60}")
    if not isinstance(values.get("paper"), (str, type(None))):
        raise ConfigError(f"expected paper in {name} to be a string, got {values['paper']!r:.60}")
    for section in SECTIONS:
        if not isinstance(values.get(section, {}), Mapping):
            raise ConfigError(
                f"expected {section} in {name} to be a mapping of settings, got "
                f"{values[section]!r:.60}"
            )
    return values


def _is_file(name: str) -> bool:
    return name.endswith((".yaml", ".yml"))


def _file_values(path: str) -> dict[str, Any]:
    text = _text(path)
    try:
        values = load_yaml(text)
    except ValueError as error:
        raise ConfigError(f"{path} is not a file of settings: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"expected {path} to contain a mapping, got {values!r:.60}")
    return values


def _head_comment(path: str) -> str:
    lines = takewhile(lambda line: line.startswith("#"), _text(path).splitlines())
    return "\n".join(line[2:] for line in lines)


def _text(path: str) -> str:
    try:
        check_is_file(path)
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read the settings: {file_problem(error)}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"cannot read the settings: {path}:{line}: expected UTF-8 text, got the byte "
            f"0x{error.object[error.start]:02x}"
        ) from None


def _natural(name: str) -> list[tuple[str, int]]:
    """Return a sort key that orders ``c5`` before ``c10``: each part as letters and number."""
    parts = (re.fullmatch(r"(.*?)(\d*)", part) for part in name.split("-"))
    return [(match[1], int(match[2] or 0)) for match in parts if match]
