"""Every preset trains for an epoch on a sample of its data."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from dgltrees.training.catalog import load_preset, preset_names
from dgltrees.training.run import train
from dgltrees.training.rundir import RunDirectory
from dgltrees.training.settings import Settings
from tests.training.samples import PLANS, quick, with_model

SENTENCES = {"train": "ud/sample.conllu", "valid": "ud/sample.conllu"}


def _small(preset: str, folder: Path) -> Settings:
    """A preset on a sample; with vectors of a few words where it reads some."""
    settings = load_preset(preset)
    name = settings.task.name
    data: dict[str, Any] = SENTENCES if name in ("tree-lm", "parser") else PLANS.get(name, {})
    training: dict[str, Any] = {} if data else {"batch_size": 20}
    vectors = settings.sections["data"].get("vectors")
    if name == "tree-lm":
        data = {**data, "vectors": None}
    elif vectors:
        words = "".join(f"{word} {i} 1 1 1\n" for i, word in enumerate(("the", "A", "is", "good")))
        (folder / "vectors.txt").write_text(words, encoding="utf-8")
        data = {"vectors": str(folder / "vectors.txt")}
    if name == "ptb":
        data, training = {"window": 7}, {"batch_size": 10}
    small = quick(preset, data, **training)
    if name in ("snli", "wikiqa", "sst-phrases"):
        small = with_model(small, hidden_size=4, embedding=4, head=[8])
    return small


BOUNDS = {"perplexity": (1, 1000), "loss": (0, 10)}
"""Of metrics that are no part of one."""


@pytest.mark.filterwarnings("ignore:.*no vectors for")
# test_tree_shape.py has the preset whose data are states of another model
@pytest.mark.parametrize("preset", [name for name in preset_names() if name != "tree-shape"])
def test_a_preset_trains_on_a_sample(tmp_path: Path, preset: str) -> None:
    settings = _small(preset, tmp_path)
    valid = train(settings, tmp_path / "run")["valid"]
    (line,) = RunDirectory(tmp_path / "run").metrics()
    assert math.isfinite(line["train_loss"])
    metric = settings.task.metrics[0].name
    low, high = BOUNDS.get(metric, (0, 1))
    assert low <= valid[metric] <= high
