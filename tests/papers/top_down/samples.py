"""Language models over the trees of the sample treebank."""

from __future__ import annotations

from typing import Any

from dgltrees.training.settings import Settings
from tests.training.samples import SENTENCES


def tree_lm_settings(model: dict[str, Any] | None = None, **sections: Any) -> Settings:
    """Three epochs of a small language model."""
    data = {"train": str(SENTENCES), "valid": str(SENTENCES), "lower": True}
    loop = {"optimizer": "sgd", "lr": 1.0, "clip": 5.0, "epochs": 3, "batch_size": 4}
    loop = {**loop, "monitor": "loss", "patience": None, "schedule": "halve", "bucket_by": "size"}
    return Settings(
        {
            "task": "tree-lm",
            "data": {**data, **sections.get("data", {})},
            "model": {"hidden_size": 8, "embedding": 4, **(model or {})},
            "training": {**loop, "accelerator": "cpu", **sections.get("training", {})},
        }
    )
