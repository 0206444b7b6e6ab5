"""Names, shapes and initial values of every preset's parameters, with the preset's seed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from dgltrees.settings.catalog import preset_names, preset_values
from dgltrees.settings.layers import Settings, layered
from dgltrees.training.run import prepare
from tests.golden.help import FAMILIES
from tests.golden.rows import sha
from tests.golden.samples import WITHOUT_DATA, values

LIMIT = 40


def record() -> dict[str, Any]:
    """Two rows for each preset, by the names of parameters: shapes, and hashes of the values."""
    return _rows(name for name in preset_names() if name != WITHOUT_DATA)


def fast() -> dict[str, Any]:
    """The shapes in some presets; the last digits of initial values depend on the processor."""
    return {key: row for key, row in _rows(FAMILIES).items() if key.endswith(": shapes")}


def _rows(presets: Iterable[str]) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for name in presets:
        settings = Settings(layered(preset_values(name), values(name, LIMIT)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the samples have vectors of a few words
            state = prepare(settings).model.state_dict()
        rows[f"{name}: shapes"] = {key: "x".join(map(str, t.shape)) for key, t in state.items()}
        rows[f"{name}: values"] = {key: sha(tensor) for key, tensor in state.items()}
    return rows
