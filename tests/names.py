"""Every public name with its signature, and the names that users type.

A name is public if a user imports it from one of the modules below. The list is
``docs/public_api.json``, in the groups of the reference; ``python -m tests.names`` writes its
signatures again, with new names below a last group, from which they are moved into the right one.
"""

import enum
import importlib
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dgltrees.cells import AGGREGATORS, CELLS
from dgltrees.cli import COMMANDS
from dgltrees.formats import FORMATS
from dgltrees.formats.synthetic import GENERATORS
from dgltrees.settings.catalog import preset_names
from dgltrees.settings.tasks import TASKS

FILE = Path(__file__).parents[1] / "docs" / "public_api.json"
MODULES = [
    *("", ".estimators", ".trees", ".trees.builders", ".formats", ".draw", ".traversal"),
    *(".cells.aggregators", ".cells", ".models", ".metrics", ".training", ".analyses"),
    *(".tasks", ".settings"),
]
"""The modules of public names; a name in several of them is called after the first."""
LISTS = {
    "commands": COMMANDS,
    "tasks": TASKS,
    "formats": FORMATS,
    "cells": CELLS,
    "aggregators": AGGREGATORS,
    "generators": GENERATORS,
}
NEW = "Without a group"
Text = str | list[str]


def public() -> dict[str, Any]:
    """The objects that can be imported, by the name that they have in the reference."""
    found: dict[tuple[str, int], str] = {}
    values = {}
    for module in MODULES:
        there = importlib.import_module(f"dgltrees{module}")
        for name in there.__all__:
            value = getattr(there, name)
            if not name.startswith("_") and (name, id(value)) not in found:
                full = found[name, id(value)] = f"dgltrees{module}.{name}"
                values[full] = value
    return values


def plain(text: str) -> str:
    """A text without paths of modules, and without addresses."""
    text = re.sub(r"<class '([^']*)'>", r"\1", text)
    text = re.sub(r"<(?:function|built-in method) (\S+) [^<>]*>", r"\1", text)
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    return re.sub(r"\bdgltrees\.(\w+\.)*(?=\w)", "", text)


def signature(value: Any) -> str:
    """The arguments and the result of something callable, or nothing."""
    try:
        return plain(str(inspect.signature(value)))
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
    if inspect.isroutine(value):
        return f"def {signature(value)}"
    return plain(f"{type(value).__name__} {value!r}")


def record() -> dict[str, Any]:
    """The groups on record with the names and signatures of now, and the names that users type."""
    before, now = json.loads(FILE.read_text(encoding="utf-8")), public()
    groups = {
        group: {
            "about": row["about"],
            "names": {name: described(now.pop(name)) for name in row["names"] if name in now},
        }
        for group, row in before["groups"].items()
        if group != NEW
    }
    if now:
        names = {name: described(value) for name, value in now.items()}
        groups[NEW] = {"about": "To be moved into one of the groups above.", "names": names}
    lists = {name: sorted(values) for name, values in LISTS.items()}
    return {"groups": groups, "lists": {"presets": sorted(preset_names()), **lists}}


def text(rows: Mapping[str, Any]) -> str:
    """The rows as JSON, a name on each line."""
    groups = []
    for group, row in rows["groups"].items():
        names = (f"{json.dumps(name)}: {json.dumps(row['names'][name])}" for name in row["names"])
        about = f'"about": {json.dumps(row["about"])}, "names": '
        groups.append(f"{json.dumps(group)}: {{{about}{{\n" + ",\n".join(names) + "\n}}")
    lists = (f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows["lists"].items())
    return (
        '{"groups": {\n'
        + ",\n\n".join(groups)
        + '\n},\n"lists": {\n'
        + ",\n".join(lists)
        + "\n}}\n"
    )


if __name__ == "__main__":
    FILE.write_text(text(record()), encoding="utf-8")
