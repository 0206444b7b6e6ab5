from __future__ import annotations

import json
import math

import pytest

from dgltrees.training.catalog import preset_names
from dgltrees.training.run import train
from tests.training.samples import quick

NAMES = preset_names()
LANGUAGE_MODELS = [name for name in NAMES if name.startswith("tree-lm")]
SENTENCES = {"train": "ud/sample.conllu", "valid": "ud/sample.conllu", "vectors": None}


@pytest.mark.parametrize("name", [n for n in NAMES if n not in (*LANGUAGE_MODELS, "parser")])
def test_every_preset_trains_on_a_sample(tmp_path, name):
    result = train(quick(name, batch_size=20), tmp_path / "run")
    line = json.loads((tmp_path / "run" / "metrics.jsonl").read_text())
    assert math.isfinite(line["train_loss"])
    assert 0 <= result["valid"]["accuracy"] <= 1
    assert 0 <= result["valid"]["majority"] <= 1


def test_the_parser_trains_on_a_sample(tmp_path):
    result = train(quick("parser", SENTENCES), tmp_path / "run")
    assert 0 <= result["valid"]["las"] <= result["valid"]["uas"] <= 1


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_every_language_model_trains_on_a_sample(tmp_path, name):
    result = train(quick(name, SENTENCES), tmp_path / "run")
    assert 1 < result["valid"]["perplexity"] < 1000
