"""What ``dgltrees presets`` and ``dgltrees show PRESET`` print, for every preset."""

from __future__ import annotations

from typing import Any

from dgltrees.settings.catalog import preset_names
from tests.golden.rows import run


def record() -> dict[str, Any]:
    """A row for the list, and one for each preset."""
    return {"presets": run(["presets"])} | {name: run(["show", name]) for name in preset_names()}


fast = record
