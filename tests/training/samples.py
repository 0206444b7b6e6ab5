"""Small data sets for runs, and settings that make runs short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dgltrees.training.catalog import preset_values
from dgltrees.training.settings import Settings, layered

SAMPLES = Path(__file__).parents[2] / "datasets" / "samples"
SENTENCES = SAMPLES / "ud" / "sample.conllu"


_PLANS = {"train": "plans/train.jsonl", "tree": "plan", "children": "Plans", "min_count": 1}
_QUERIES = {**_PLANS, "train": "plans/queries/train.jsonl"}
_PAIRS = {"train": "sick/relatedness_train.jsonl", "tree": ["first", "second"], "min_count": 1}
PLANS: dict[str, dict[str, Any]] = {
    "classify": {**_PLANS, "target": "speed"},
    "classify-pairs": {**_PAIRS, "target": "entailment_label"},
    "regress-pairs": {**_PAIRS, "target": "relatedness_score"},
    "label": {**_PLANS, "target": "Node Type"},
    "regress": {**_PLANS, "target": "seconds"},
    "regress-nodes": {**_PLANS, "target": "Plan Rows"},
    "rank": {**_QUERIES, "target": "seconds", "group": "query", "best": "lowest"},
}
"""Settings of the data of tasks on one's own trees, by task."""


def quick(preset: str, data: dict[str, Any] | None = None, **training: Any) -> Settings:
    """The settings of a preset on the samples, one epoch of at most 40 examples."""
    layer = {
        "data": {"root": str(SAMPLES), "limit": 40, **(data or {})},
        "training": {"epochs": 1, "accelerator": "cpu", "threads": 1, **training},
    }
    return Settings(layered(preset_values(preset), layer))


def with_model(settings: Settings, **model: Any) -> Settings:
    """The same settings with another model."""
    return Settings(layered(settings.to_dict(), {"model": model}))
