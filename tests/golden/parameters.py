"""Names, shapes and initial values of every preset's parameters, with the preset's seed."""

from __future__ import annotations

from typing import Any

from dgltrees.training.catalog import preset_names, preset_values
from dgltrees.training.run import prepare
from dgltrees.training.settings import Settings, layered
from tests.golden.rows import sha
from tests.golden.samples import WITHOUT_DATA, values

LIMIT = 40


def record() -> dict[str, Any]:
    """A row for each preset: shapes and the beginning of a hash, by the names of parameters."""
    return {name: _parameters(name) for name in preset_names() if name != WITHOUT_DATA}


def _parameters(preset: str) -> dict[str, str]:
    settings = Settings(layered(preset_values(preset), values(preset, LIMIT)))
    model = prepare(settings).model
    return {
        name: f"{'x'.join(map(str, tensor.shape))} {sha(tensor)}"
        for name, tensor in model.state_dict().items()
    }
