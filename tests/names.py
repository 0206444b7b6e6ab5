"""Every public name with its signature, whatever module it is in, and the names users type.

``python -m tests.names`` writes them to ``names.json``, with which a test compares them. Two
definitions of a name are numbered in the order of their texts.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import dgltrees
from dgltrees.cells import AGGREGATORS, CELLS
from dgltrees.cli import COMMANDS
from dgltrees.formats import FORMATS
from dgltrees.formats.synthetic import GENERATORS
from dgltrees.settings.catalog import preset_names
from dgltrees.settings.tasks import TASKS

FILE = Path(__file__).with_suffix(".json")
Text = str | list[str]


def plain(text: str) -> str:
    """A text without paths of modules, and without addresses."""
    text = re.sub(r"<class '([^']*)'>", r"\1", text)
    text = re.sub(r"<(?:function|built-in method) (\S+) [^<>]*>", r"\1", text)
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    return re.sub(r"\bdgltrees\.(\w+\.)*(?=\w)", "", text)


def signature(value: Any) -> str:
    """The arguments and the result of something callable, or nothing."""
    try:
        return plain(str(inspect.signature(getattr(value, "py_func", value))))
    except (TypeError, ValueError):
        return ""


def members(cls: type) -> Iterator[str]:
    """The public methods and properties of a class that a class of the package defines."""
    for name in sorted(vars(object).keys() ^ dir(cls)):
        owner = next((base for base in cls.__mro__ if name in vars(base)), object)
        if name.startswith("_") or not owner.__module__.startswith("dgltrees"):
            continue
        value = inspect.getattr_static(cls, name)
        kind = type(value).__name__
        if isinstance(value, (classmethod, staticmethod)):
            yield f"{kind} {name}{signature(value.__func__)}"
        elif inspect.isfunction(value):
            yield f"{name}{signature(value)}"
        elif isinstance(value, (property, str, int, float, tuple)) or kind == "cached_property":
            yield f"{name}: {kind}"


def described(value: Any) -> Text:
    """What a name is: its kind and signature, the members of a class, the keys of a table."""
    if isinstance(value, type):
        bases = ", ".join(base.__name__ for base in value.__bases__)
        if issubclass(value, enum.Enum):
            return [f"class({bases})", *(f"{each.name} = {each.value!r}" for each in value)]
        return [f"class({bases}){signature(value)}", *members(value)]
    if isinstance(value, Mapping):
        return [f"{type(value).__name__} of", *map(str, value)]
    if isinstance(value, (set, frozenset)):
        return [f"{type(value).__name__} of", *sorted(map(str, value))]
    if inspect.ismodule(value):
        return f"module {value.__name__}"
    if inspect.isroutine(value) or hasattr(value, "py_func"):
        return f"def {signature(value)}"
    return plain(f"{type(value).__name__} {value!r}")


def _is_own(name: str, value: Any, module: ModuleType) -> bool:
    """Whether a module defines a public name, and does not import it."""
    return not name.startswith("_") and getattr(value, "__module__", "") == module.__name__


def public() -> dict[str, Text]:
    """The names in ``__all__`` of packages, and those that a module defines without underscore."""
    found: dict[str, dict[int, Any]] = {}
    for module in pkgutil.walk_packages(dgltrees.__path__, "dgltrees."):
        if module.name.endswith("__main__"):
            continue
        there = importlib.import_module(module.name)
        own = [name for name, value in vars(there).items() if _is_own(name, value, there)]
        for name in getattr(there, "__all__", own):
            value = getattr(there, name)
            found.setdefault(name, {})[id(value)] = value
    rows: dict[str, Text] = {}
    for name, values in found.items():
        texts = sorted({str(text): text for text in map(described, values.values())}.items())
        for number, (_, text) in enumerate(texts, 1):
            rows[name if len(texts) == 1 else f"{name} {number} of {len(texts)}"] = text
    return rows


def record() -> dict[str, Any]:
    """A row for each name, and one for each list of names that users type."""
    lists = {
        "presets": preset_names(),
        "commands": COMMANDS,
        "tasks": TASKS,
        "formats": FORMATS,
        "cells": CELLS,
        "aggregators": AGGREGATORS,
        "generators": GENERATORS,
    }
    return {**public(), **{f"all {what}": sorted(names) for what, names in lists.items()}}


def text(rows: Mapping[str, Any]) -> str:
    """The rows as JSON, one on each line."""
    lines = (f"{json.dumps(name)}: {json.dumps(rows[name])}" for name in sorted(rows))
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text(record()), encoding="utf-8")
