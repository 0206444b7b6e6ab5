"""Small data sets for runs, and settings that make runs short."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from dgltrees.training.catalog import preset_values
from dgltrees.training.settings import Settings, settings_from

SAMPLES = Path(__file__).parents[2] / "datasets" / "samples"
SENTENCES = SAMPLES / "ud" / "sample.conllu"


def quick(preset: str, data: dict[str, Any] | None = None, **training: Any) -> Settings:
    """The settings of a preset on the samples, one epoch of at most 40 examples."""
    values = preset_values(preset)
    values["data"] = {**values["data"], "root": str(SAMPLES), "limit": 40, **(data or {})}
    loop = {"epochs": 1, "accelerator": "cpu", "threads": 1, **training}
    values["training"] = {**values.get("training", {}), **loop}
    return settings_from(values)


def with_model(settings: Settings, **model: Any) -> Settings:
    """The same settings with another model."""
    return dataclasses.replace(settings, model=dataclasses.replace(settings.model, **model))
