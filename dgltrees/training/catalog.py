"""Presets: settings under a name, each a short YAML file that may build on another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dgltrees._files import check_is_file
from dgltrees._yaml import load_yaml
from dgltrees.errors import ConfigError, file_problem
from dgltrees.options import nearest
from dgltrees.training.settings import SECTIONS, Settings, layered

__all__ = ["describe", "load_preset", "paper_of", "preset_names", "preset_values"]

_FOLDER = Path(__file__).parent / "presets"


def preset_names() -> list[str]:
    """The names of all presets."""
    return sorted((path.stem for path in _FOLDER.glob("*.yaml")), key=_natural)


def describe(name: str) -> str:
    """The comment at the head of a preset, or of the preset it builds on."""
    for each in _with_bases(name):
        comment = [line[2:] for line in _text(each).splitlines() if line.startswith("# ")]
        if comment:
            return "\n".join(comment)
    return ""


def paper_of(name: str) -> str:
    """The table or figure that has a preset's row, as ``paper`` in its file or its base's says.

    Empty for a preset that is in no paper.
    """
    layers = (_own_values(each) for each in _with_bases(name))
    return next((values["paper"] or "" for values in layers if "paper" in values), "")


def _with_bases(name: str) -> Iterator[str]:
    """A preset, then the preset it builds on, and so on."""
    seen: set[str] = set()
    while name and name not in seen:
        yield name
        seen.add(name)
        name = _own_values(name).get("base", "")


def load_preset(name: str) -> Settings:
    """The settings of a preset; see :func:`preset_values`."""
    return Settings(preset_values(name))


def preset_values(name: str) -> dict[str, Any]:
    """The settings of a preset and its bases as nested mappings.

    Arguments:
        name: a preset's name, or the path of a YAML file in the same format, in which ``base``
            names the preset it builds on, and ``paper`` the table or figure that has its row; see
            :func:`~dgltrees.training.settings.layered`.

    Raises:
        ConfigError: there is no such preset or file, it is not a mapping, a setting is unknown, or
            it builds on itself.
    """
    layers: list[tuple[str, dict[str, Any]]] = []
    at, seen = name, [name]
    while at:
        try:
            values = _own_values(at)
        except ConfigError as error:
            raise error if at == name else ConfigError(f"{layers[-1][0]}: base: {error}") from None
        base, _ = values.pop("base", None), values.pop("paper", None)
        layers.append((at, values))
        at = base
        if at in seen:
            raise ConfigError(f"preset {name} builds on itself: {' -> '.join([*seen, at])}")
        seen.append(at)
    merged: dict[str, Any] = {}
    for layer_name, layer in reversed(layers):
        try:
            merged = layered(merged, layer)
        except ConfigError as error:
            raise ConfigError(f"preset {layer_name}: {error}") from None
    is_file = name.endswith((".yaml", ".yml"))
    merged["preset"] = merged.get("preset") or (Path(name).stem if is_file else name)
    return merged


def _own_values(name: str) -> dict[str, Any]:
    try:
        values = load_yaml(_text(name))
    except ValueError as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{name} is no file of settings: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"expected {name} to hold settings as a mapping, got {values!r:.60}")
    if not isinstance(values.get("base", ""), str):
        raise ConfigError(f"expected base in {name} to name a preset, got {values['base']!r}")
    if not isinstance(values.get("paper"), (str, type(None))):
        raise ConfigError(f"expected paper in {name} to be a text, got {values['paper']!r:.60}")
    for section in SECTIONS:
        if not isinstance(values.get(section, {}), Mapping):
            raise ConfigError(
                f"expected {section} in {name} to be a mapping of settings, got "
                f"{values[section]!r:.60}"
            )
    return values


def _text(name: str) -> str:
    is_file = name.endswith((".yaml", ".yml"))
    path = Path(name) if is_file else _FOLDER / f"{name}.yaml"
    if not is_file and name not in preset_names():
        near = nearest(name, preset_names(), "a file of settings ends in .yaml", number=3)
        raise ConfigError(f"no preset {name!r}; {near} (dgltrees presets lists all)")
    try:
        check_is_file(path)
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read the settings: {file_problem(error)}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"cannot read the settings: {path}:{line}: expected UTF-8 text, got the byte "
            f"0x{error.object[error.start]:02x}"
        ) from None


def _natural(name: str) -> list[tuple[str, int]]:
    """A sort key that puts ``c5`` before ``c10``: each part as letters and number."""
    parts = (re.fullmatch(r"(.*?)(\d*)", part) for part in name.split("-"))
    return [(match[1], int(match[2] or 0)) for match in parts if match]
